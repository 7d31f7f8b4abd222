// Clock of the engine, in milliseconds since 1970.
RETURN to_epoch_ms(current_timestamp()) AS milliseconds
