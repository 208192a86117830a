"""Changing a fitted model by hand: rules dropped, added, pinned and given other votes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.state import Snapshot, voters
from ..model.bounds import limits_for, within
from ..model.constraints import Constraints, Violation
from ..model.edits import Edit, Edits, Rows, changed_rows, rows_of, with_rows
from ..model.fitted import Fitted
from ..rules import Rule, feature_descriptions, literals_of, rules

if TYPE_CHECKING:
    from typing_extensions import Self


class Editing:
    """The methods by which a fitted model is changed by hand.

    Every change is in ``edits_``, and in the file. What it does not name keeps its bits.
    """

    if TYPE_CHECKING:
        constraints: Constraints | None

        def _now(self) -> Fitted: ...
        def _still(self) -> Any: ...
        def _alone(self) -> Any: ...
        def _with(self, fitted: Fitted) -> Any: ...

    @property
    def edits_(self) -> tuple[Edit, ...]:
        """What was changed by hand since training began, in order."""
        return self._now().edits.log

    def check(self) -> list[Violation]:
        """Look for clauses that violate ``constraints``.

        Returns
        -------
        list of cotm.model.constraints.Violation
            Empty where there are none. After training there are none; there may be where
            ``constraints`` were set since.
        """
        fitted = self._still()._now()
        return limits_for(fitted, self.constraints).violations(fitted.machine.snapshot())

    def drop_rule(self, rule: Rule | int) -> Self:
        """Take a rule away: its clauses lose their literals and votes, in all states that vote.

        Training that goes on may use the clauses anew.

        Parameters
        ----------
        rule : Rule or int
            A rule of :meth:`rules`, or the number of a clause.
        """

        def change(rule: Rule, rows: Rows, fitted: Fitted) -> Rows:
            spec = fitted.machine.spec
            memory = np.where(rows.memory >= 0, np.int8(-1), rows.memory)
            # In the machines where each output owns its clauses, votes keep their signs.
            weights = np.zeros_like(rows.weights) if spec.sharing else np.sign(rows.weights)
            return Rows(rows.clauses, memory, weights.astype(np.int32))

        return self._change_rule("drop", rule, change)

    def set_votes(self, rule: Rule | int, votes: Mapping[Any, int]) -> Self:
        """Give a rule other votes; labels that are not named keep theirs.

        Parameters
        ----------
        rule : Rule or int
            A rule of :meth:`rules`, or the number of a clause.
        votes : dict of label to int
            The sum of what its clauses give, as in ``rule.weights``; they share it evenly.
        """

        def change(rule: Rule, rows: Rows, fitted: Fitted) -> Rows:
            weights = rows.weights.copy()
            for output, total in _votes_by_output(votes, fitted).items():
                weights[:, output] = _shared_evenly(total, len(weights))
            return Rows(rows.clauses, rows.memory, weights)

        return self._change_rule("votes", rule, change, lambda: f"; {_said(votes)}")

    def pin_rule(self, rule: Rule | int, *, votes: bool = False) -> Self:
        """Let a rule's literals be as they are, while training goes on.

        During a pass they may move; when it is over they are back. Votes go on being learned.

        Parameters
        ----------
        rule : Rule or int
            A rule of :meth:`rules`, or the number of a clause; one of its clauses must be of the
            current state.
        votes : bool, default=False
            Whether its votes stay, too.
        """
        with self._alone():
            fitted = self._now()
            found = self._found(rule, fitted)
            own = self._current(found, fitted)
            if not own:
                raise ValueError(
                    "the rule is of earlier states only, which training does not change; add it "
                    "with add_rule, and pin that"
                )
            edits = fitted.edits
            held = {*edits.held, *own} if votes else {*edits.held} - {*own}
            pinned = tuple(sorted({*edits.pinned, *own}))
            self._publish("pin", str(found), fitted, pinned=pinned, held=tuple(sorted(held)))
        return self

    def unpin_rule(self, rule: Rule | int) -> Self:
        """Let training change a rule again.

        Parameters
        ----------
        rule : Rule or int
            A rule of :meth:`rules`, or the number of a clause.
        """
        with self._alone():
            fitted = self._now()
            found = self._found(rule, fitted)
            own, edits = {*self._current(found, fitted)}, fitted.edits
            if not own & {*edits.pinned}:
                raise ValueError(f"the rule {str(found)!r:.200} is not pinned")
            pinned = tuple(c for c in edits.pinned if c not in own)
            held = tuple(c for c in edits.held if c not in own)
            self._publish("unpin", str(found), fitted, pinned=pinned, held=held)
        return self

    def add_rule(self, conditions: str, votes: Mapping[Any, int], *, pin: bool = False) -> Rule:
        """Add a rule, in the place of a clause that says nothing or else least.

        Parameters
        ----------
        conditions : str
            As rules write them: ``"petal length (cm) > 2.45 and site != north"``. Numbers must be
            thresholds of the model.
        votes : dict of label to int
            What the rule gives to each label; with ``average`` all states together.
        pin : bool, default=False
            Keep its literals as they are while training goes on.

        Returns
        -------
        Rule
            The rule, with those that accepted the same before.
        """
        with self._alone():
            fitted = self._now()
            described = self._with(fitted)
            features = feature_descriptions(described)
            literals = literals_of(conditions, features, fitted.reader.names or ())
            parameters, spec = fitted.machine.parameters, fitted.machine.spec
            if parameters.max_literals is not None and len(literals) > parameters.max_literals:
                raise ValueError(
                    f"{conditions!r:.200} takes {len(literals)} literals, but max_literals="
                    f"{parameters.max_literals}"
                )
            by_output = _votes_by_output(votes, fitted)
            if not any(by_output.values()):
                raise ValueError(f"votes={dict(votes)!r:.200} are all 0, so the rule says nothing")
            state = fitted.machine.snapshot()
            clauses = _free_clauses(state, fitted, by_output)
            memory = np.full((len(clauses), spec.grid.n_literals), -1, dtype=np.int8)
            memory[:, literals] = 0
            memory[-1, literals] = spec.top  # as firmly as can be, in the state that goes on
            weights = np.zeros((len(clauses), spec.m), dtype=np.int32)
            for output, total in by_output.items():
                weights[:, output] = _shared_evenly(total, len(clauses))
            edits = fitted.edits
            own = clauses[-1] - len(state.earlier) * spec.n
            pinned = tuple(sorted({*edits.pinned, int(own)})) if pin else edits.pinned
            text = f"if {conditions.removeprefix('if ')}: {_said(votes)}"
            rows = Rows(clauses, memory, weights)
            self._publish("add", text, fitted, rows, pinned=pinned)
            return self._found(int(clauses[-1]), self._now())

    def constrain(self, constraints: Constraints | None) -> Self:
        """Set ``constraints``, and bring what was learned within them at once.

        Parameters
        ----------
        constraints : Constraints or None
            As the parameter; they hold while training goes on.
        """
        with self._alone():
            before, fitted = self.constraints, self._now()
            self.constraints = constraints
            try:
                whole = fitted.machine
                state = whole.snapshot()
                fitted = within(fitted, constraints)
                after = fitted.machine.snapshot()
                rows = rows_of(after, changed_rows(state, after))
                fitted = replace(fitted, machine=whole)
                self._publish("constrain", repr(constraints), fitted, rows, constraints=before)
            except BaseException:
                self.constraints = before
                raise
        return self

    def forbid(self, column: str | int, label: Any) -> Self:
        """Let a column not count for a label from now on; see :class:`cotm.Constraints`."""
        now = self.constraints or Constraints()
        forbid = {name: [*labels] for name, labels in (now.forbid or {}).items()}
        forbid.setdefault(column, [])
        if label not in forbid[column]:
            forbid[column].append(label)
        return self.constrain(Constraints(monotone=now.monotone, forbid=forbid))

    def undo(self) -> Self:
        """Take back the last change by hand, to the bit.

        Raises
        ------
        ValueError
            If there is none, or if training has gone on since.
        """
        with self._alone():
            fitted = self._now()
            if not fitted.edits.log:
                raise ValueError("nothing was changed by hand")
            *log, last = fitted.edits.log
            if last.step != fitted.machine.step_:
                raise ValueError(
                    f"training has gone on since the last change by hand ({last.kind}: "
                    f"{last.text!r:.200}), and what it has learned cannot be told apart; "
                    "load a file from before"
                )
            state = with_rows(fitted.machine.snapshot(), last.before)
            in_effect = fitted.edits.constraints
            if last.kind == "constrain":
                in_effect = copy.deepcopy(last.constraints)
            edits = Edits(tuple(log), last.pinned, last.held, in_effect)
            machine = fitted.machine.with_state(state)
            self._fitted = replace(fitted, machine=machine, edits=edits)
            if last.kind == "constrain":
                self.constraints = last.constraints
        return self

    # How it is done --------------------------------------------------------------------

    def _found(self, rule: Rule | int, fitted: Fitted) -> Rule:
        """The rule as the model has it now."""
        number = rule.clause if isinstance(rule, Rule) else rule
        for known in rules(self._with(fitted)):
            if number in known.clauses:
                same = isinstance(rule, Rule) and known.clauses == rule.clauses
                if not isinstance(rule, Rule) or (same and known.weights == rule.weights):
                    return known
                break
        what = f"clause {rule}" if not isinstance(rule, Rule) else f"the rule {str(rule)!r:.200}"
        raise ValueError(f"{what} is no rule of this model as it is now; see rules()")

    def _current(self, rule: Rule, fitted: Fitted) -> list[int]:
        """The numbers that its clauses have in the current state."""
        first = (fitted.machine.n_states_ - 1) * fitted.machine.spec.n
        return [clause - first for clause in rule.clauses if clause >= first]

    def _change_rule(
        self,
        kind: str,
        rule: Rule | int,
        change: Callable[[Rule, Rows, Fitted], Rows],
        more: Callable[[], str] = str,
    ) -> Self:
        with self._alone():
            fitted = self._now()
            found = self._found(rule, fitted)
            own = {*self._current(found, fitted)}
            fast = {*fitted.edits.pinned} if kind == "drop" else {*fitted.edits.held}
            if own & fast:
                raise ValueError(f"the rule {str(found)!r:.200} is pinned; unpin it first")
            clauses = np.array(found.clauses, dtype=np.int64)
            rows = change(found, rows_of(fitted.machine.snapshot(), clauses), fitted)
            self._publish(kind, f"{found}{more()}", fitted, rows)
        return self

    def _publish(
        self,
        kind: str,
        text: str,
        fitted: Fitted,
        rows: Rows | None = None,
        *,
        pinned: tuple[int, ...] | None = None,
        held: tuple[int, ...] | None = None,
        constraints: Constraints | None = None,
    ) -> None:
        """Let everybody see the change, at once."""
        machine, edits = fitted.machine, fitted.edits
        if fitted.progress.best is not None:
            raise ValueError(
                "early stopping has not ended this training, and may go back to a state that "
                "knows nothing of changes; finish it with fit(resume=True)"
            )
        state = machine.snapshot()
        if rows is None:
            rows = rows_of(state, np.zeros(0, dtype=np.int64))
        before = rows_of(state, rows.clauses)
        after = with_rows(state, rows)
        mark = rows_of(after, rows.clauses).mark()
        edit = Edit(kind, text, state.step, before, mark, edits.pinned, edits.held, constraints)
        now = Edits(
            (*edits.log, edit),
            edits.pinned if pinned is None else pinned,
            edits.held if held is None else held,
            edits.constraints,
        )
        changed = replace(fitted, machine=machine.with_state(after), edits=now)
        wrong = limits_for(changed, now.constraints).violations(after)
        if wrong:
            raise ValueError(
                f"{kind} {text!r:.200} violates the constraints: {wrong[0].kind}, column "
                f"{wrong[0].column!r}, label {wrong[0].label!r}"
            )
        self._fitted = changed


def _votes_by_output(votes: Mapping[Any, int], fitted: Fitted) -> dict[int, int]:
    """Votes by the number of the output, checked."""
    labels, machine = fitted.classes.tolist(), fitted.machine
    if not machine.spec.learn_weights:
        raise ValueError("the votes of a plain Tsetlin machine are 1 and -1, and cannot be set")
    largest = int(machine.spec.clip_weights(np.array([2**31 - 1], dtype=np.int32))[0])
    found = {}
    for label, value in votes.items():
        if label not in labels:
            raise ValueError(f"votes name the label {label!r:.200}; there are {labels!r:.200}")
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"votes[{label!r:.200}]={value!r:.200} must be a whole number")
        if abs(int(value)) > largest:
            raise ValueError(
                f"votes[{label!r:.200}]={value} is more than a weight can be, {largest}"
            )
        found[labels.index(label)] = int(value)
    return found


def _shared_evenly(total: int, count: int) -> NDArray[np.int32]:
    """A number in so many whole parts that differ by 1 at the most."""
    ends = [total * k // count for k in range(count + 1)]
    return np.diff(ends).astype(np.int32)


def _free_clauses(
    state: Snapshot, fitted: Fitted, by_output: Mapping[int, int]
) -> NDArray[np.int64]:
    """A clause of each state that can be replaced: one that says nothing, or else least."""
    spec = fitted.machine.spec
    allowed = np.ones(spec.n, dtype=bool)
    if not spec.sharing:
        outputs = [output for output, votes in by_output.items() if votes]
        if len(outputs) != 1:
            raise ValueError("every clause votes for one label here; name one label in votes")
        allowed = spec.owners() == outputs[0]
    memory, weights = voters(state)
    sizes = np.abs(weights.astype(np.int64)).sum(axis=1) * (memory >= 0).any(axis=1)
    found = []
    for first in range(0, len(memory), spec.n):
        free = allowed.copy()
        if first == len(memory) - spec.n:
            free[[*fitted.edits.pinned]] = False
        if not free.any():
            raise ValueError("there is no clause left to replace: all of them are pinned")
        part = np.where(free, sizes[first : first + spec.n], np.iinfo(np.int64).max)
        found.append(first + int(np.argmin(part)))
    return np.array(found, dtype=np.int64)


def _said(votes: Mapping[Any, int]) -> str:
    return ", ".join(f"{label} {value:+d}" for label, value in votes.items())
