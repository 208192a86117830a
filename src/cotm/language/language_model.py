"""A language model made of clauses: which symbol comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.checks import check_choice, check_integer, check_number
from ..core.decoding import expect
from ..core.examples import Examples
from ..core.patches import PatchGrid
from ..core.randomness import Purpose, hash32, make_key, step_key
from ..estimator.machine_model import FittedMachine, digest
from ..files.machine_models import SavedMachineModel
from .base import TextModel
from .mixing import Mixture, Weights
from .next_symbols import Symbols, as_bits, asked, histories
from .ngrams import NGrams
from .symbols import characters_of, check_texts, most_frequent, numbered, tokens_of

#: Symbols that every vocabulary has: the end of a text, and what is not in the vocabulary.
END, UNKNOWN = "\n", "\ufffd"
_SPLIT = {"character": characters_of, "word": tokens_of}
_NO_SPACE_BEFORE = set(".,;:!?)'’%")


@dataclass(frozen=True)
class Learned:
    """What a language model knows beside its machine."""

    prior: NGrams
    weights: Weights


class CoTMLanguageModel(TextModel):
    """A language model of words or characters whose clauses can be read.

    Every symbol is an output of one machine with shared clauses. The symbols before a place are
    bits: one for each symbol at each of the nearest places, and one for each among the last
    ``bag``. A small n-gram model is the beginning: at each place the machine is asked about the
    symbol that came, with target 1, and about a few that the n-gram model draws, with target 0,
    so it learns what the n-gram model does not know. Probabilities are in proportion to
    p(n-gram model)^a exp(b votes / T), with a and b fitted on the end of the texts, which is kept
    out of training.

    Parameters
    ----------
    unit : {"character", "word"}, default="character"
        What the symbols are. Words are taken with punctuation marks, all in lower case.
    n_clauses : int, default=500
        Clauses.
    T : int or None, default=None
        Voting margin; None: as many as clauses.
    s : float, default=50.0
        Specificity.
    context : int, default=8
        Places before a symbol that are told apart.
    bag : int, default=0
        Symbols before it that are known without their places.
    order : int, default=2
        Symbols of the n-grams that are the beginning; 1: frequencies alone.
    others : int, default=4
        Symbols that the n-gram model draws at each place.
    epochs : int, default=3
        Passes over the texts.
    max_literals : int or None, default=6
        Most conditions of a clause.
    n_symbols : int, default=10000
        Most words or characters; those in the most texts are taken.
    min_texts : int, default=1
        In how many texts a symbol must occur.
    held_out : float, default=0.05
        Share of the texts, at the end, on which the probabilities are fitted.
    backend, n_jobs, verbose, random_state
        As for :class:`cotm.CoTMClassifier`.

    Attributes
    ----------
    vocabulary_ : list of str
        The symbols.
    nbytes_ : int
        What the model takes in memory, as plain tables: see :meth:`clauses_`.

    Examples
    --------
    >>> model = CoTMLanguageModel(n_clauses=30, epochs=2, random_state=0)
    >>> model = model.fit(["the cat sat on the mat. "] * 20)
    >>> model.generate(10, "the c", temperature=0.0)
    'the cat sat on '
    """

    _kind: ClassVar[str] = "CoTMLanguageModel"

    def __init__(
        self,
        unit: str = "character",
        n_clauses: int = 500,
        T: int | None = None,
        s: float = 50.0,
        *,
        context: int = 8,
        bag: int = 0,
        order: int = 2,
        others: int = 4,
        epochs: int = 3,
        max_literals: int | None = 6,
        n_symbols: int = 10_000,
        min_texts: int = 1,
        held_out: float = 0.05,
        backend: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | None = None,
    ) -> None:
        self.unit = unit
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.context = context
        self.bag = bag
        self.order = order
        self.others = others
        self.epochs = epochs
        self.max_literals = max_literals
        self.n_symbols = n_symbols
        self.min_texts = min_texts
        self.held_out = held_out
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # Training ------------------------------------------------------------------------

    def fit(self, X: Sequence[str], y: Any = None, *, resume: bool = False) -> CoTMLanguageModel:
        """Learn what comes next.

        Parameters
        ----------
        X : sequence of str
            Texts.
        y : ignored
        resume : bool, default=False
            Go on with the training that there is until it has ``epochs`` epochs, on the same
            texts: the result is that of a training without a break.

        Returns
        -------
        self
        """
        self._check()
        texts = [_SPLIT[self.unit](text) for text in check_texts(X)]
        known = most_frequent(texts, max(1, self.n_symbols - 2), self.min_texts)
        vocabulary = (END, UNKNOWN, *(s for s in known if s not in (END, UNKNOWN)))
        before, symbols = self._rows(texts, vocabulary, self._longest)
        kept = max(1, round(len(symbols) * (1 - self.held_out)))
        if kept == len(symbols):
            raise ValueError(
                f"held_out={self.held_out} of {len(symbols)} symbols is none; pass more text"
            )
        settings = (vocabulary, self.context, self.bag, self.order, self.others, self.held_out)
        data = digest([symbols, before[:, -1]], *settings)
        bits = as_bits(before[:kept], len(vocabulary), self.context, self.bag)
        if resume:
            fitted = self._to_resume(data)
        else:
            prior = NGrams.of(
                before[:kept, before.shape[1] - int(self.order) + 1 :],
                symbols[:kept],
                len(vocabulary),
            )
            machine = self._start(bits.shape[1], len(vocabulary))
            learned = Learned(prior, Weights())
            fitted = FittedMachine(machine, data, extra=learned, vocabulary=vocabulary)
        machine, prior = fitted.machine, fitted.extra.prior
        targets = asked(prior, before[:kept], symbols[:kept], int(self.others), machine.seed_)
        examples = Examples(bits, PatchGrid.flat(bits.shape[1]))
        training = machine.prepare(examples, targets, np.ones(1))

        def finish(fitted: FittedMachine) -> FittedMachine:
            return self._mixture(fitted).fitted_on(before[kept:], symbols[kept:], fitted)

        self._train(fitted, training, finish=finish)
        return self

    def _check(self) -> None:
        check_choice("unit", self.unit, ("character", "word"))
        check_integer("n_clauses", self.n_clauses, 1)
        check_integer("context", self.context, 1, 1000)
        check_integer("bag", self.bag, 0, 10_000)
        check_integer("order", self.order, 1, 6)
        check_integer("others", self.others, 1, 1000)
        check_integer("epochs", self.epochs, 1)
        check_integer("n_symbols", self.n_symbols, 3)
        check_integer("min_texts", self.min_texts, 1)
        check_number("held_out", self.held_out, 0.0, 0.9)

    @property
    def _longest(self) -> int:
        return int(max(self.context, self.bag, self.order - 1))

    def _rows(
        self, texts: list[list[str]], vocabulary: Sequence[str], length: int
    ) -> tuple[Symbols, Symbols]:
        numbers = numbered(([*text, END] for text in texts), vocabulary)
        unknown = vocabulary.index(UNKNOWN)
        return histories([np.where(t < 0, unknown, t) for t in numbers], length, len(vocabulary))

    # What was learned ------------------------------------------------------------------

    @property
    def nbytes_(self) -> int:
        fitted = self._learned()
        state = fitted.machine.snapshot()
        literal = 2 if state.memory.shape[1] < 65536 else 4
        largest = int(np.abs(state.weights).max())
        weight = 1 if largest < 128 else 2 if largest < 32768 else 4
        literals = int((state.memory >= 0).sum())
        clauses = literal * literals + 4 * len(state.memory) + weight * state.weights.size
        return clauses + int(fitted.extra.prior.nbytes)

    @property
    def clauses_(self) -> list[str]:
        """Each clause in words: which symbol it asks for how many places before.

        In memory, as ``nbytes_`` counts it, a clause takes 2 bytes for each of these (4 where
        there are many bits), 4 for where they begin, and for each symbol a weight of 1, 2 or 4
        bytes, as the largest one needs; the n-gram model takes what its table does.
        """
        fitted = self._learned()
        m = len(fitted.vocabulary)

        def said(bit: int) -> str:
            place, symbol = bit // m + 1, repr(fitted.vocabulary[bit % m])
            return f"among: {symbol}" if place > self.context else f"-{place}: {symbol}"

        included = fitted.machine.memory_[:, : fitted.machine.spec.grid.n_features] >= 0
        return [" & ".join(said(int(bit)) for bit in np.flatnonzero(row)) for row in included]

    def perplexity(self, X: Sequence[str]) -> float:
        """How many symbols, on average, the model hesitates between: 2 to the bits per symbol.

        Parameters
        ----------
        X : sequence of str
            Texts that it has not learned from.

        Returns
        -------
        float
        """
        fitted = self._learned()
        texts = [_SPLIT[self.unit](text) for text in check_texts(X)]
        before, symbols = self._rows(texts, fitted.vocabulary, self._longest)
        return float(np.exp(self._mixture(fitted).surprise(before, symbols)))

    def next(self, prompt: str = "", n: int = 10) -> list[tuple[str, float]]:
        """The symbols that are most likely to follow, with their probabilities.

        Parameters
        ----------
        prompt : str, default=""
            What comes before; "" is the beginning of a text.
        n : int, default=10
            How many.

        Returns
        -------
        list of (str, float)
        """
        fitted = self._learned()
        logs = self._mixture(fitted).logs(self._ending(self._said(prompt)))[0]
        order = np.argsort(-logs, kind="stable")[: check_integer("n", n, 1)]
        return [(fitted.vocabulary[k], float(np.exp(logs[k]))) for k in order]

    def generate(
        self, length: int = 200, prompt: str = "", *, temperature: float = 1.0, seed: int = 0
    ) -> str:
        """Go on with a text.

        Parameters
        ----------
        length : int, default=200
            Most symbols that are added; less where the text ends.
        prompt : str, default=""
            How it begins.
        temperature : float, default=1.0
            1: symbols come with their probabilities; below, likely ones come more often, up to 0,
            where the most likely one always comes.
        seed : int, default=0
            The same seed gives the same text.

        Returns
        -------
        str
            The prompt, as the model reads it, and what follows.
        """
        length, seed = check_integer("length", length, 0), check_integer("seed", seed, 0)
        temperature = check_number("temperature", temperature, 0.0)
        fitted = self._learned()
        mixture, said = self._mixture(fitted), self._said(prompt)
        key = make_key(step_key(seed, 0), Purpose.TEXT)
        end, unknown = (fitted.vocabulary.index(symbol) for symbol in (END, UNKNOWN))
        for turn in range(length):
            logs = mixture.logs(self._ending(said))[0]
            logs[unknown] = -np.inf  # it has no text
            draw = float(hash32(key, turn)) / 2**32
            said.append(_taken(logs, temperature, draw))
            if said[-1] == end:
                said.pop()
                break
        return self._as_text([fitted.vocabulary[number] for number in said])

    def _said(self, prompt: str) -> list[int]:
        if not isinstance(prompt, str):
            raise ValueError(f"prompt={prompt!r:.100} must be a text")
        fitted = self._learned()
        symbols = _SPLIT[self.unit](prompt)
        if self.unit == "character" and prompt[-1:].isspace() and symbols:
            symbols.append(" ")
        numbers = numbered([symbols], fitted.vocabulary)[0]
        return np.where(numbers < 0, fitted.vocabulary.index(UNKNOWN), numbers).tolist()

    def _ending(self, said: list[int]) -> Symbols:
        """The last symbols as a row of what comes before."""
        border = [len(self._learned().vocabulary)] * self._longest
        return np.array([(border + said)[-self._longest :]], dtype=np.int32)

    def _as_text(self, symbols: list[str]) -> str:
        if self.unit == "character":
            return "".join(symbols)
        text = ""
        for symbol in symbols:
            text += symbol if not text or symbol[0] in _NO_SPACE_BEFORE else f" {symbol}"
        return text

    def _mixture(self, fitted: FittedMachine) -> Mixture:
        learned = fitted.extra
        n_symbols = len(fitted.vocabulary)

        def votes(before: Symbols) -> NDArray[np.int64]:
            bits = as_bits(before, n_symbols, self.context, self.bag)
            return fitted.machine.votes(Examples(bits, fitted.machine.spec.grid))

        return Mixture(learned.prior, votes, fitted.machine.parameters.T, learned.weights)

    # Files -----------------------------------------------------------------------------

    def _encode_extra(self, extra: Learned) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        said, arrays = extra.prior.encoded()
        return {**said, "weights": list(extra.weights)}, arrays

    @classmethod
    def _decode_extra(cls, saved: SavedMachineModel) -> Learned:
        parameters, m = saved.parameters, len(saved.vocabulary)
        for symbol in (END, UNKNOWN):
            expect(symbol in saved.vocabulary, f"the vocabulary has no {symbol!r}")
        expect(saved.machine.spec.m == m, "there are not as many outputs as symbols")
        places = int(parameters["context"]) + (int(parameters["bag"]) > 0)
        expect(
            saved.machine.spec.grid.n_features == m * places,
            f"context={parameters['context']} and bag={parameters['bag']} do not fit its bits",
        )
        prior = NGrams.decoded(saved.extra, saved.arrays, m)
        expect(prior.order == parameters["order"], f"its n-grams have {prior.order} symbols")
        return Learned(prior, Weights.decoded(saved.extra.get("weights")))


def _taken(logs: NDArray[np.float64], temperature: float, draw: float) -> int:
    """A symbol by its probability at a temperature."""
    if temperature == 0:
        return int(np.argmax(logs))
    shares = np.exp((logs - logs.max()) / temperature)
    sums = np.cumsum(shares)
    return int(np.searchsorted(sums, draw * sums[-1], side="right").clip(0, len(logs) - 1))
