"""Embeddings and language models on IMDb's reviews, beside what else learns from the same text.

Usage: python benchmarks/language.py embedding [--words 10000] [--backend cuda] [--lists FOLDER]
       python benchmarks/language.py models [--unit word] [--validation]

``embedding`` times an embedding by the processor's time and the clock, and shows the neighbours of
a dozen words. With a folder of ``wordsim353.tsv`` and ``simlex999.txt``, as gensim's wheel has them
in ``gensim/test/test_data``, it gives Spearman's rho with what people say, in halves: the first is
what settings may be chosen by. PPMI, alone and with an SVD, and word2vec where gensim is installed
learn from the same text. ``models`` gives perplexity and bytes of language models and of n-gram
models that are cut to as many. Reviews come from COTM_DATA; ``--validation`` measures on training
reviews that no model has seen, to choose settings by.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from common import commit
from numpy.typing import NDArray

import cotm
from cotm.datasets import load_imdb
from cotm.experiments.report import processor_name
from cotm.language.language_model import END, UNKNOWN
from cotm.language.ngrams import NGramModel
from cotm.language.similar import directions
from cotm.language.symbols import numbered, words_of

SHOWN = ["terrible", "great", "actor", "killed", "paris", "father", "music", "comedy"]
SHOWN += ["dog", "money", "vampire", "boring"]
LISTS = ("wordsim353.tsv", "simlex999.txt")
#: Settings of language models: what they are called, and how they differ from the defaults.
MODELS: dict[str, dict[str, dict[str, Any]]] = {
    "character": {
        "250 clauses, n-grams cut to 25 kB": {"n_clauses": 250, "ngram_bytes": 25_000},
        "500 clauses": {},
        "1,500 clauses": {"n_clauses": 1500, "T": 500},
        "500 clauses, order 4": {"order": 4},
        "500 clauses, order 5": {"order": 5},
    },
    "word": {
        "150 clauses, n-grams cut to 300 kB": {
            "n_clauses": 150,
            "ngram_bytes": 300_000,
            "context": 4,
            "bag": 20,
            "s": 200.0,
        },
    },
}


def spent() -> float:
    """Seconds of all processors so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# Embeddings --------------------------------------------------------------------------


def rho(vocabulary: Sequence[str], vectors: NDArray[Any], folder: Path) -> str:
    """Spearman's correlation with what people say, for the halves of both lists."""
    from scipy.stats import spearmanr

    numbers = {word: number for number, word in enumerate(vocabulary)}
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(length > 0, length, 1.0)
    cells = []
    for name in LISTS:
        lines = (folder / name).read_text("utf-8").splitlines()
        said = [line.split("\t") for line in lines if not line.startswith("#")]
        pairs = [(a.lower(), b.lower(), float(c)) for a, b, c in said if a.lower() != b.lower()]
        for half in (pairs[::2], pairs[1::2]):
            known = [p for p in half if p[0] in numbers and p[1] in numbers]
            ours = [float(unit[numbers[a]] @ unit[numbers[b]]) for a, b, _ in known]
            cells.append(f"{spearmanr(ours, [p[2] for p in known])[0]:.2f} ({len(known)})")
    return " | ".join(cells)


def near_counts(texts: list[NDArray[np.int32]], m: int, window: int) -> scipy.sparse.csr_array:
    """How often each word stands near each other one."""
    border = np.full(window, -1, dtype=np.int32)
    stream = np.concatenate([part for text in texts for part in (text, border)])
    found = scipy.sparse.csr_array((m, m))
    for step in range(1, window + 1):
        one, other = stream[:-step], stream[step:]
        both = (one >= 0) & (other >= 0)
        entries = np.ones(both.sum(), np.float32), (one[both], other[both])
        found = found + scipy.sparse.coo_array(entries, shape=(m, m)).tocsr()
    return (found + found.T).tocsr()


def ppmi(counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Positive pointwise mutual information, contexts to the power of 0.75."""
    all_, m = counts.tocoo(), counts.shape[0]
    rows = np.bincount(all_.row, all_.data, m)
    columns = np.bincount(all_.col, all_.data, m) ** 0.75
    value = np.log(all_.data / rows[all_.row] / (columns / columns.sum())[all_.col])
    kept = value > 0
    return scipy.sparse.csr_array(
        (value[kept], (all_.row[kept], all_.col[kept])), shape=counts.shape
    )


def others(texts: list[str], model: cotm.CoTMEmbedding, folder: Path) -> None:
    """A line for each other way to make vectors of the same words from the same text."""
    from sklearn.decomposition import TruncatedSVD

    words, m = model.vocabulary_, len(model.vocabulary_)
    began = time.process_time()
    found = ppmi(near_counts(numbered(map(words_of, texts), words), m, model.window or 5))
    read = sorted({words.index(word) for clause in model.clauses_ for word in clause})
    near = found[:, read].toarray()
    print(f"| PPMI, the {len(read)} words of clauses | {rho(words, near, folder)} |")
    reduced = TruncatedSVD(300, n_iter=2, random_state=0).fit(found)
    vectors = reduced.transform(found) / np.sqrt(reduced.singular_values_)
    seconds = time.process_time() - began
    print(f"| PPMI with SVD, 300 | {rho(words, vectors, folder)} | {seconds:.0f} s", flush=True)
    if importlib.util.find_spec("gensim") is None:
        print("gensim is not installed, so word2vec was left out")
        return
    from gensim.models import Word2Vec

    began = time.process_time()
    said = [words_of(text) for text in texts]
    learned = Word2Vec(said, workers=1, seed=0)
    vectors = np.array([learned.wv[w] if w in learned.wv else np.zeros(100) for w in words])
    seconds = time.process_time() - began
    print(f"| word2vec, 100 | {rho(words, vectors, folder)} | {seconds:.0f} s", flush=True)


def embedding(options: argparse.Namespace) -> None:
    texts = load_imdb()[0][: options.reviews]
    if options.model:
        model = cotm.load(options.model)
    else:
        began, clock = spent(), time.perf_counter()
        model = cotm.CoTMEmbedding(
            options.words,
            epochs=options.epochs,
            random_state=0,
            backend=options.backend,
            n_jobs=options.jobs,
            verbose=options.verbose,
        ).fit(texts)
        took, clock = spent() - began, time.perf_counter() - clock
        epochs = ", ".join(f"{record['seconds']:.1f}" for record in model.history_)
        print(f"{len(model.vocabulary_):,} words of {len(texts):,} reviews: {took:.0f} s of "
              f"processors, {clock:.0f} s by the clock; epochs {epochs} s")  # fmt: skip
        if options.out:
            model.save(options.out)
    for word in SHOWN if options.words >= 5000 else ():
        near = model.similar(word, 6)
        reasons = "; ".join(" & ".join(c) for c in near[0].shared) if near else ""
        print(f"| {word} | {', '.join(other.word for other in near)} | {reasons} |")
    if options.lists:
        vectors = directions(model.embedding_)
        print(f"| CoTMEmbedding | {rho(model.vocabulary_, vectors, options.lists)} |")
        others(texts, model, options.lists)


# Language models ---------------------------------------------------------------------


def models(options: argparse.Namespace) -> None:
    train, _, test, _ = load_imdb()
    order = np.random.default_rng(0).permutation(len(train))
    learned = [train[k] for k in order[: options.reviews]]
    place = np.random.default_rng(1).permutation(len(test))[: options.test]
    unseen = [train[k] for k in order[-options.test :]] if options.validation else [
        test[k] for k in place]  # fmt: skip
    kept = None
    sizes = set()
    for name, changes in MODELS[options.unit].items():
        if options.only not in name:
            continue
        settings = {"unit": options.unit, "n_symbols": options.symbols, "n_jobs": options.jobs}
        began = spent()
        model = cotm.CoTMLanguageModel(
            **settings, epochs=options.epochs, random_state=0, **changes
        ).fit(learned)
        took = spent() - began
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.cotm")
            saved = (Path(folder) / "model.cotm").stat().st_size
        print(f"| {name} | {model.nbytes_ / 1000:.0f} kB | {saved / 1000:.0f} kB | "
              f"{model.perplexity(unseen):.2f} | {took:.0f} s |", flush=True)  # fmt: skip
        sizes.add(model.nbytes_)
        kept = kept or model
        if options.out and not changes:
            model.save(options.out)
    if kept is None:
        raise SystemExit(f"no setting has {options.only!r} in its name")
    # The same symbols for all: those of the language models, and the whole of the reviews.
    ngrams(options, learned, unseen, kept.vocabulary_, sizes)


def ngrams(
    options: argparse.Namespace,
    learned: list[str],
    unseen: list[str],
    vocabulary: list[str],
    sizes: set[int],
) -> None:
    """N-gram models at their full size, and cut to the sizes of the language models."""
    from cotm.language.language_model import _SPLIT, _rows

    assert vocabulary[:2] == [END, UNKNOWN]
    orders = (3, 4, 5) if options.unit == "character" else (3, 4)
    split, length = _SPLIT[options.unit], max(orders) - 1
    before, symbols = _rows(map(split, learned), vocabulary, length)
    before_, symbols_ = _rows(map(split, unseen), vocabulary, length)
    print(f"{len(symbols):,} symbols to learn from, {len(symbols_):,} to test, "
          f"{len(vocabulary):,} different ones")  # fmt: skip
    for order in orders:
        history, history_ = before[:, length - order + 1 :], before_[:, length - order + 1 :]
        for size in (*sorted(sizes), None):
            found = []
            for continuation in (True, False):  # the better one counts
                model = NGramModel.of(
                    history, symbols, len(vocabulary), size, continuation=continuation
                )
                end = history_[:, order - model.order :]
                found.append((model.perplexity(end, symbols_), model.nbytes))
            best, taken = min(found)
            asked = "whole" if size is None else f"cut to {size / 1000:.0f} kB"
            print(f"| {order}-gram, {asked} | {taken / 1000:.0f} kB | | {best:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["embedding", "models"])
    parser.add_argument("--reviews", type=int, help="embedding: all; models: 1,000")
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--lists", type=Path, help="a folder of similarities that people gave")
    parser.add_argument("--model", type=Path, help="an embedding that is there already")
    parser.add_argument("--out", type=Path, help="where the embedding, or the default model, goes")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--unit", choices=[*MODELS], default="character")
    parser.add_argument("--symbols", type=int, help="64 characters, or 2,000 words")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--test", type=int, default=40, help="reviews to test")
    parser.add_argument("--only", default="", help="settings with this in their name")
    parser.add_argument("--validation", action="store_true")
    options = parser.parse_args()
    options.symbols = options.symbols or {"character": 64, "word": 2000}[options.unit]
    print(f"{processor_name()}, Python {platform.python_version()}, NumPy {np.__version__}, "
          f"cotm {commit()}")  # fmt: skip
    if options.task == "embedding":
        embedding(options)
    else:
        options.reviews = options.reviews or 1000
        models(options)


if __name__ == "__main__":
    main()
