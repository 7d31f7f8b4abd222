"""The environment of Alembic: the only module that imports all tables together.

`ontology.sql.database.upgrade` runs it on a connection whose transaction is already open; `grove db upgrade`
is the command that calls it.
"""

from alembic import context

from labelgrove.ontology.sql import catalog, tokens  # noqa: F401 - registers their tables
from labelgrove.ontology.sql.database import metadata
from labelgrove.workers.ledger import ledger  # noqa: F401 - registers its tables

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
