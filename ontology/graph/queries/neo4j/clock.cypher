// Clock of the engine, in milliseconds since 1970.
RETURN datetime().epochMillis AS milliseconds
