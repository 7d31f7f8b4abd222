"""A Celery application that also knows units that compute nothing: `celery -A` this module."""

from ontology.settings import Settings
from tests.benchmarks.simulation import NOTHING
from workers.app import make_app
from workers.kinds import register

register(NOTHING)
app = make_app(Settings.from_env())
