"""The text of an error in the ledger says whether the program has a defect."""

import pytest

from labelgrove.ontology import errors
from labelgrove.ontology.errors import GroveError, InputError, MissingExtraError
from labelgrove.workers.ledger.failures import error_text, is_defect


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
def test_whatever_is_not_raised_on_purpose_is_a_defect(error):
    text = error_text(error)
    assert is_defect(text)
    assert f"{type(error).__name__}: {error}" in text


OWN = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, GroveError)]


@pytest.mark.parametrize("kind", OWN)
def test_our_errors_are_kept_as_they_are_and_are_not_defects(kind):
    error = kind("locus: metric is 'x'; choose auto, tree or graph")
    assert error_text(error) == str(error)
    assert not is_defect(error_text(error))


def test_an_error_of_two_kinds_is_ours():
    for error in (InputError("observed: 'ash' is not a label"), MissingExtraError("torch is not installed")):
        assert isinstance(error, ValueError | ImportError)
        assert not is_defect(error_text(error))
