"""Where trainings of a search are done, and which of them go where."""

from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec
from cotm.tuning import places
from cotm.tuning.places import Slot, slots_for

SPEC = Spec(n=500, m=10, T=150, q=8192, N=64, seed=1, grid=PatchGrid(28, 28, 1, 10, 10))
EPOCHS = {"old": 12, "new": 2, "longest": 30}


def test_fast_slots_take_the_longest_work_and_slow_ones_the_shortest():
    due = [*EPOCHS]
    assert Slot("native").choose(due, EPOCHS.get) == "old"
    assert Slot("auto", "longest").choose(due, EPOCHS.get) == "longest"
    assert Slot("native", "shortest").choose(due, EPOCHS.get) == "new"


def test_beside_a_gpu_are_the_processors_that_its_trainings_leave(monkeypatch):
    monkeypatch.setattr(places, "available_processors", lambda: 16)
    monkeypatch.setattr(places, "backends_for", lambda *given, **more: ["cuda", "native"])
    slots = slots_for("auto", None, SPEC, 20_000)
    assert slots == [Slot("auto", "longest")] * 8 + [Slot("native", "shortest")] * 8
    monkeypatch.setattr(places, "available_processors", lambda: 2)
    assert slots_for("auto", None, SPEC, 20_000)[8:] == [Slot("native", "shortest")]
    assert len(slots_for("auto", 6, SPEC, 20_000)) == 6


def test_without_a_gpu_all_processors_take_what_is_most_urgent(monkeypatch):
    monkeypatch.setattr(places, "available_processors", lambda: 4)
    monkeypatch.setattr(places, "backends_for", lambda *given, **more: ["native"])
    assert slots_for("auto", None, SPEC, 20_000) == [Slot("auto")] * 4
