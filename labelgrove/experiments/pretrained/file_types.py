"""Test the file type detector magika on its tree of content types."""

from __future__ import annotations

from collections.abc import Mapping

from labelgrove.datasets.ownfiles import Files
from labelgrove.datasets.pretrained.filetypes import detected, file_type_space, find_files
from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.experiments.experiment import Claim
from labelgrove.experiments.pretrained.onmodels import OnPretrainedModels, Settings
from labelgrove.ontology.errors import InputError

__all__ = ["EXPERIMENT", "FileTypes"]


class FileTypes(OnPretrainedModels):
    """Detect the types of the files of this machine, some of which the detector does not know."""

    claim = Claim(
        name="file-types",
        sentence="The Fréchet mean of a file type detector is nearer to the true type than argmax, however "
        "many types it knows",
        source="steps in the tree of content types",
        inputs="files that packages installed on this machine, 9 of each content type that has as many; the "
        "true type is that of the ending of the name. Magika's own tree of content types",
    )
    kind = "types"
    model = "magika"

    def packages(self, settings: Settings) -> Mapping[str, str]:
        """Return the packages of the model and of the library that runs it."""
        for name in settings.models:
            if name != "magika":
                raise InputError(f"models: {name!r} is not known; the only one is magika")
        return {"magika": "models", "onnxruntime": "models"}

    def installed_data(self, files: Files | None) -> Mapping[str, str]:
        """Return the digest of the files of this machine."""
        return {"the files of this machine": find_files().sha256}

    def outputs(self, settings: Settings) -> Mapping[str, PretrainedModel]:
        """Return the outputs of the detector for these files."""
        return {name: detected(find_files(), file_type_space()) for name in settings.models}


EXPERIMENT = FileTypes()
