"""Fixtures of the fault tests."""

from __future__ import annotations

import pytest

from tests.conftest import wipe_neo4j
from tests.services import Neo4jServer


@pytest.fixture
def mortal_neo4j(neo4j_server: Neo4jServer) -> Neo4jServer:
    """An empty Neo4j that the test may kill and start again."""
    neo4j_server.start()
    wipe_neo4j(neo4j_server.url)
    return neo4j_server
