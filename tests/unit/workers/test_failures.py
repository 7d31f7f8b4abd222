"""The text of an error in the ledger says whether the request caused it."""

import pytest

from labelgrove.ontology import errors
from labelgrove.ontology.errors import GroveError
from labelgrove.workers.ledger.failures import defect_text, is_of_request, lost_worker_text, spent_text

OWN = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, GroveError)]


class Unusual(Exception):
    pass


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("a"),
        KeyError("oak"),
        ValueError(""),
        StopIteration(1),
        Unusual("why"),
        Exception("x"),
    ],
    ids=repr,
)
def test_the_text_of_a_defect_names_its_class(error):
    text = defect_text(error)
    assert f"{type(error).__name__}: {error}" in text
    assert not is_of_request(text)


@pytest.mark.parametrize("kind", OWN)
def test_an_error_raised_on_purpose_is_about_the_request(kind):
    assert is_of_request(str(kind("locus: metric is 'x'; choose auto, tree or graph")))


def test_lost_workers_and_faults_in_every_attempt_are_not():
    assert not is_of_request(lost_worker_text(4))
    assert not is_of_request(spent_text("artifact store s3://b: access denied; check the rights", 4, 4))
