"""What models of texts share beyond other machines."""

from __future__ import annotations

from typing import Any, cast

from ..backends import TrainingSet
from ..core.decoding import expect
from ..estimator.machine_model import MachineModel
from ..files.machine_models import SavedMachineModel


class TextModel(MachineModel):
    """Models of texts on one machine with an output for each word or character."""

    max_literals: int | None

    @property
    def vocabulary_(self) -> list[str]:
        """The words or characters, in the order of their outputs."""
        return list(self._learned().vocabulary)

    def _options(self) -> dict[str, Any]:
        always = {"forgetting": "sampled", "negations": False}
        return {"max_literals": self.max_literals, **always, **self._more_options()}

    def _more_options(self) -> dict[str, Any]:
        """Options of the machine that only some models of texts have."""
        return {}

    def _asked(self, training: TrainingSet) -> int:
        return len(cast(Any, training.targets).outputs)

    @classmethod
    def _restored(cls, saved: SavedMachineModel) -> Any:
        expect(len(saved.vocabulary) > 0, "vocabulary is empty")
        return super()._restored(saved)
