"""A language model made of clauses: which symbol comes next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.checks import check_choice, check_integer, check_number
from ..core.decoding import expect, expect_integer
from ..core.examples import Examples
from ..core.patches import PatchGrid
from ..core.randomness import Purpose, hash32, make_key, step_key
from ..estimator.machine_model import FittedMachine, digest
from ..files.machine_models import SavedMachineModel
from .base import TextModel
from .mixing import Mixture, Weights
from .next_symbols import Symbols, as_bits, asked, histories
from .ngrams import NGramModel
from .symbols import characters_of, check_texts, most_frequent, numbered, tokens_of

#: Symbols that every vocabulary has: the end of a text, and what is not in the vocabulary.
END, UNKNOWN = "\n", "\ufffd"
_END, _UNKNOWN = 0, 1  # their numbers
_SPLIT = {"character": characters_of, "word": tokens_of}
_MAX_CONTEXT, _MAX_BAG = 1000, 10_000
#: So that a weight takes one byte.
_MAX_WEIGHT = 127
_NO_SPACE_BEFORE = set(".,;:!?)'’%")


@dataclass(frozen=True)
class Learned:
    """What a language model knows beside its machine."""

    unit: str
    context: int
    bag: int
    prior: NGramModel
    weights: Weights

    @property
    def longest(self) -> int:
        """Symbols before a place that it looks at."""
        return max(self.context, self.bag, self.prior.order - 1)

    def rows(self, texts: Iterable[str], vocabulary: Sequence[str]) -> tuple[Symbols, Symbols]:
        """What comes before each symbol of texts, and the symbols."""
        return _rows(map(_SPLIT[self.unit], texts), vocabulary, self.longest)


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
    s : float, default=100.0
        Specificity.
    context : int, default=8
        Places before a symbol that are told apart.
    bag : int, default=0
        Symbols before it that are known without their places.
    order : int, default=3
        Symbols of the n-grams that are the beginning; 1: frequencies alone.
    ngram_bytes : int or None, default=None
        Most bytes of the n-gram model, as :attr:`nbytes_` counts them; the n-grams that tell
        least are left out. None: no limit.
    others : int, default=1
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
    >>> model = CoTMLanguageModel(n_clauses=30, epochs=8, random_state=0)
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
        s: float = 100.0,
        *,
        context: int = 8,
        bag: int = 0,
        order: int = 3,
        ngram_bytes: int | None = None,
        others: int = 1,
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
        self.ngram_bytes = ngram_bytes
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
        # 8.0 is a number of places, too
        context, bag, order = int(self.context), int(self.bag), int(self.order)
        longest = max(context, bag, order - 1)
        before, symbols = _rows(texts, vocabulary, longest)
        kept = max(1, round(len(symbols) * (1 - self.held_out)))
        if kept == len(symbols):
            raise ValueError(
                f"held_out={self.held_out} of {len(symbols)} symbols is none; pass more text"
            )
        names = ("unit", "context", "bag", "order", "ngram_bytes", "others", "held_out")
        data = digest([symbols, before[:, -1]], vocabulary, *(getattr(self, n) for n in names))
        bits = as_bits(before[:kept], len(vocabulary), context, bag)
        if resume:
            fitted = self._to_resume(data)
        else:
            history = before[:kept, longest - order + 1 :]
            prior = NGramModel.of(history, symbols[:kept], len(vocabulary), self.ngram_bytes)
            learned = Learned(self.unit, context, bag, prior, Weights())
            machine = self._start(bits.shape[1], len(vocabulary))
            fitted = FittedMachine(machine, data, extra=learned, vocabulary=vocabulary)
        machine, prior = fitted.machine, fitted.extra.prior
        targets = asked(prior, before[:kept], symbols[:kept], int(self.others), machine.seed_)
        examples = Examples(bits, PatchGrid.flat(bits.shape[1]))
        training = machine.prepare(examples, targets, np.ones(1))

        def finish(fitted: FittedMachine) -> FittedMachine:
            return _mixture(fitted).fitted_on(before[kept:], symbols[kept:], fitted)

        self._train(fitted, training, finish=finish)
        return self

    def _check(self) -> None:
        check_choice("unit", self.unit, ("character", "word"))
        check_integer("n_clauses", self.n_clauses, 1)
        check_integer("context", self.context, 1, _MAX_CONTEXT)
        check_integer("bag", self.bag, 0, _MAX_BAG)
        check_integer("order", self.order, 1, 6)
        if self.ngram_bytes is not None:
            check_integer("ngram_bytes", self.ngram_bytes, 1)
        check_integer("others", self.others, 1, 1000)
        check_integer("epochs", self.epochs, 1)
        check_integer("n_symbols", self.n_symbols, 3)
        check_integer("min_texts", self.min_texts, 1)
        check_number("held_out", self.held_out, 0.0, 0.9)

    def _more_options(self) -> dict[str, Any]:
        return {"max_weight": _MAX_WEIGHT}

    # What was learned ------------------------------------------------------------------

    @property
    def nbytes_(self) -> int:
        fitted = self._learned()
        state = fitted.machine.snapshot()
        literal = 2 if state.memory.shape[1] < 65536 else 4
        literals = int((state.memory >= 0).sum())
        clauses = literal * literals + 4 * len(state.memory) + state.weights.size
        return clauses + int(fitted.extra.prior.nbytes)

    @property
    def clauses_(self) -> list[str]:
        """Each clause in words: which symbol it asks for how many places before.

        In memory, as ``nbytes_`` counts it, a clause takes 2 bytes for each of these (4 where
        there are many bits), 4 for where they begin, and for each symbol a weight of one byte.
        Of the n-gram model an n-gram takes its last symbol (1 or 2 bytes) and one byte for its
        probability, a history 3 for where its n-grams begin and one for what it leaves to
        shorter ones.
        """
        fitted = self._learned()
        m, context = len(fitted.vocabulary), fitted.extra.context

        def said(bit: int) -> str:
            place, symbol = bit // m + 1, repr(fitted.vocabulary[bit % m])
            return f"among: {symbol}" if place > context else f"-{place}: {symbol}"

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
        before, symbols = fitted.extra.rows(check_texts(X), fitted.vocabulary)
        return float(np.exp(_mixture(fitted).surprise(before, symbols)))

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
        logs = _mixture(fitted).logs(_ending(_said(prompt, fitted), fitted))[0]
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
        mixture, said = _mixture(fitted), _said(prompt, fitted)
        key = make_key(step_key(seed, 0), Purpose.TEXT)
        for turn in range(length):
            logs = mixture.logs(_ending(said, fitted))[0]
            logs[_UNKNOWN] = -np.inf  # it has no text
            draw = float(hash32(key, turn)) / 2**32
            said.append(_taken(logs, temperature, draw))
            if said[-1] == _END:
                said.pop()
                break
        symbols = [fitted.vocabulary[number] for number in said]
        return "".join(symbols) if fitted.extra.unit == "character" else _as_text(symbols)

    # Files -----------------------------------------------------------------------------

    def _encode_extra(self, extra: Learned) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        said, arrays = extra.prior.encoded()
        read = {"unit": extra.unit, "context": extra.context, "bag": extra.bag}
        return {**said, **read, "weights": list(extra.weights)}, arrays

    @classmethod
    def _decode_extra(cls, saved: SavedMachineModel) -> Learned:
        said, m = saved.extra, len(saved.vocabulary)
        unit: Any = said.get("unit")
        weights = Weights.decoded(said.get("weights"))
        expect(isinstance(unit, str) and unit in _SPLIT, f"unit is {unit!r:.100}")
        context = expect_integer(said, "context", 1, _MAX_CONTEXT)
        bag = expect_integer(said, "bag", 0, _MAX_BAG)
        expect(saved.vocabulary[:2] == (END, UNKNOWN), "the vocabulary has no end of texts")
        spec = saved.machine.spec
        expect(spec.m == m, "there are not as many outputs as symbols")
        bits = (context + (bag > 0)) * m
        expect(spec.grid.n_features == bits, "there are not as many bits as symbols are read")
        prior = NGramModel.decoded(said, saved.arrays, m)
        return Learned(unit, context, bag, prior, weights)


def _rows(
    texts: Iterable[Sequence[str]], vocabulary: Sequence[str], length: int
) -> tuple[Symbols, Symbols]:
    """What comes before each symbol of texts, so many symbols, and the symbol."""
    numbers = numbered(([*text, END] for text in texts), vocabulary)
    known = [np.where(text < 0, _UNKNOWN, text) for text in numbers]
    return histories(known, length, len(vocabulary))


def _mixture(fitted: FittedMachine) -> Mixture:
    learned, machine, m = fitted.extra, fitted.machine, len(fitted.vocabulary)

    def votes(before: Symbols) -> NDArray[np.int64]:
        bits = as_bits(before, m, learned.context, learned.bag)
        return machine.votes(Examples(bits, machine.spec.grid))

    return Mixture(learned.prior, votes, machine.parameters.T, learned.weights)


def _said(prompt: str, fitted: FittedMachine) -> list[int]:
    """The symbols of a prompt."""
    if not isinstance(prompt, str):
        raise ValueError(f"prompt={prompt!r:.100} must be a text")
    symbols = _SPLIT[fitted.extra.unit](prompt)
    if fitted.extra.unit == "character" and prompt[-1:].isspace() and symbols:
        symbols.append(" ")
    numbers = numbered([symbols], fitted.vocabulary)[0]
    return [int(number) if number >= 0 else _UNKNOWN for number in numbers]


def _ending(said: list[int], fitted: FittedMachine) -> Symbols:
    """The last symbols as a row of what comes before."""
    length = fitted.extra.longest
    border = [len(fitted.vocabulary)] * length
    return np.array([(border + said)[-length:]], dtype=np.int32)


def _as_text(words: list[str]) -> str:
    text = ""
    for word in words:
        text += word if not text or word[0] in _NO_SPACE_BEFORE else f" {word}"
    return text


def _taken(logs: NDArray[np.float64], temperature: float, draw: float) -> int:
    """A symbol by its probability at a temperature."""
    if temperature == 0:
        return int(np.argmax(logs))
    shares = np.exp((logs - logs.max()) / temperature)
    sums = np.cumsum(shares)
    return int(np.searchsorted(sums, draw * sums[-1], side="right").clip(0, len(logs) - 1))
