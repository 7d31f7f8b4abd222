"""Test language identifiers on the tree of languages and families."""

from __future__ import annotations

from collections.abc import Mapping

from labelgrove.datasets.pretrained.languages import IDENTIFIERS, identified, language_space
from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.experiments.experiment import Claim
from labelgrove.experiments.pretrained.onmodels import OnPretrainedModels, Settings
from labelgrove.ontology.errors import InputError

__all__ = ["EXPERIMENT", "Languages"]


class Languages(OnPretrainedModels):
    """Identify the languages of short texts, some of which the identifier does not know."""

    claim = Claim(
        name="languages",
        sentence="The Fréchet mean of a language identifier is nearer to the true language than argmax, "
        "however many languages it knows",
        source="steps in the tree of languages and families",
        inputs="names of emoji from CLDR 48.2, 40 texts in each of 116 languages; tree of 5,910 languages "
        "and families, from CLDR as well",
    )
    kind = "languages"
    model = "py3langid"

    def packages(self, settings: Settings) -> Mapping[str, str]:
        """Return the package and the extra of each identifier; raise `InputError` for an unknown one."""
        for name in settings.models:
            if name not in IDENTIFIERS:
                raise InputError(f"models: {name!r} is not known; choose among {', '.join(IDENTIFIERS)}")
        return {IDENTIFIERS[name]: "lingua" if name == "lingua" else "models" for name in settings.models}

    def outputs(self, settings: Settings) -> Mapping[str, PretrainedModel]:
        """Return the outputs of each identifier for all texts."""
        space = language_space()
        return {name: identified(name, space) for name in settings.models}


EXPERIMENT = Languages()
