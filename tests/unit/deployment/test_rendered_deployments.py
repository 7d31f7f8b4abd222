"""deploy/kubernetes and deploy/systemd are what docker-compose.yml renders to."""

import pytest

from tests.deployment import kubernetes, systemd


@pytest.mark.parametrize("renderer", [kubernetes, systemd])
def test_the_files_are_up_to_date(renderer):
    found = {path.name: path.read_text(encoding="utf-8") for path in renderer.FOLDER.iterdir()}
    assert found == renderer.files(), "run: python -m tests.deployment"
