"""A Celery application that also knows units that compute nothing: `celery -A` this module."""

from labelgrove.ontology.settings import Settings
from labelgrove.workers.app import make_app
from labelgrove.workers.kinds import register
from tests.benchmarks.simulation import NOTHING

register(NOTHING)
app = make_app(Settings.from_env())
