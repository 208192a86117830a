"""Medians, ratios and tables of single runs. Only runs of one invocation are compared."""

from __future__ import annotations

import statistics
from typing import Any

Result = dict[str, Any]

#: Peers that learn by another rule than the paper's, and which of our settings is nearest to it.
NEARER = {"green-tsetlin": "cotm (e=1, no boost)"}
KEY = ("task", "library", "rows", "threads")
COSTS = {"training": "epoch_seconds", "prediction": "predict_seconds"}


def summarise(runs: list[dict[str, Any]]) -> list[Result]:
    """Medians of times, means of accuracies, and ratios of the medians to cotm's."""
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault(tuple(run[k] for k in KEY), []).append(run)
    results = [_medians(found) for found in groups.values()]
    for result in results:
        result["ratios"] = _ratios(result, results, "cotm", result["epoch_rows"])
        if result["rows"] < result["epoch_rows"] and result["library"] != "cotm":
            result["ratios_same_rows"] = _ratios(result, results, "cotm", result["rows"])
        if result["library"] in NEARER:
            nearer = NEARER[result["library"]]
            result["ratios_nearer_rule"] = _ratios(result, results, nearer, result["rows"])
    return results


def _medians(found: list[dict[str, Any]]) -> Result:
    """One result from the runs of all seeds.

    Times are scaled to the whole epoch and to 10,000 predictions; "scaled" says from how many rows.
    """
    first = found[0]
    last_epoch = statistics.median(run["epoch_seconds"][-1] for run in found)
    predict = statistics.median(run["predict_seconds"] for run in found)
    rows, epoch_rows = first["rows"], first["epoch_rows"]
    kept = ("group", "task", "library", "rows", "epoch_rows", "test_rows", "threads", "n_clauses")
    return {
        **{k: first[k] for k in kept},
        "epochs": len(first["epoch_seconds"]),
        "seeds": len(found),
        "measured_epoch_seconds": last_epoch,
        "measured_predict_seconds": predict,
        "epoch_seconds": last_epoch * epoch_rows / rows,
        "predict_seconds": predict * 10_000 / first["test_rows"],
        "seconds_per_clause_and_example": last_epoch / rows / first["n_clauses"],
        "scaled": f"slice of {first['rows']}, scaled"
        if first["rows"] < first["epoch_rows"]
        else "",
        "accuracy": statistics.mean(run["accuracy"] for run in found),
        "peak_bytes": max(run["peak_bytes"] for run in found),
    }


def _ratios(result: Result, results: list[Result], library: str, rows: int) -> dict[str, float]:
    """How many times as long as one of ours, on so many rows and in one thread, a result took."""
    for ours in results:
        same = ours["task"] == result["task"] and ours["threads"] == 1
        if same and ours["library"] == library and ours["rows"] == rows:
            return {name: result[cost] / ours[cost] for name, cost in COSTS.items()}
    return {}


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(results: list[Result]) -> str:
    """Everything but the threads, as Markdown."""
    lines = [
        "| task | library | training rows | s, last epoch | ratio | test rows "
        "| s, 10,000 predictions | ratio | accuracy, % (seeds) | peak, MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in results:
        if r["group"] == "threads":
            continue
        cells = [
            r["task"],
            r["library"],
            r["scaled"] or f"{r['rows']:,}",
            number(r["epoch_seconds"]),
            _ratio_cell(r, "training"),
            f"{r['test_rows']:,}",
            number(r["predict_seconds"]),
            _ratio_cell(r, "prediction"),
            f"{100 * r['accuracy']:.1f} ({r['seeds']})",
            f"{r['peak_bytes'] / 1e6:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _ratio_cell(result: Result, cost: str) -> str:
    if cost not in result["ratios"]:
        return "-"
    same = result.get("ratios_same_rows", {}).get(cost)
    return number(result["ratios"][cost]) + (f" ({number(same)})" if same else "")


def threads_table(results: list[Result]) -> str:
    found = [r for r in results if r["group"] == "threads"]
    if not found:
        return ""
    lines = [
        f"| threads ({found[0]['n_clauses']:,} clauses, {found[0]['rows']:,} rows) "
        "| s, last pass | speedup | accuracy, % (seeds) |",
        "| --- | --- | --- | --- |",
    ]
    for r in found:
        speedup = number(1 / r["ratios"]["training"]) if r["ratios"] else "-"
        lines.append(
            f"| {r['threads']} | {number(r['epoch_seconds'])} | {speedup} "
            f"| {100 * r['accuracy']:.1f} ({r['seeds']}) |"
        )
    return "\n".join(lines)


def notes(results: list[Result]) -> list[str]:
    """What the tables have no column for."""
    lines = []
    if any(r["group"] != "threads" for r in results):
        lines.append(
            "Ratios are to cotm in the same run. Times are medians over the seeds, accuracies "
            "means after the same number of epochs. Predictions are scaled to 10,000. Peak memory "
            "is the whole process's, with its imports and its data."
        )
    if any(r["scaled"] for r in results):
        lines.append(
            'Where a slice was timed, "s, last epoch" is scaled to the rows of the first line of '
            "the task. In brackets: the ratio to cotm trained on the same slice. Machines that "
            "saw only a slice are at the beginning of training, where steps cost most."
        )
    if any(r["library"] == "green-tsetlin" for r in results):
        lines.append("green-tsetlin predicts one row at a time: it has no batch path that works.")
    for r in results:
        if r.get("ratios_nearer_rule"):
            ratios = (f"{number(x)} in {cost}" for cost, x in r["ratios_nearer_rule"].items())
            lines.append(
                f"{r['task']}: to {NEARER[r['library']]}, which learns more like it, "
                f"{r['library']}'s ratios are {' and '.join(ratios)}."
            )
    if any(r["library"] == "green-tsetlin" and r["group"] == "text-2000" for r in results):
        lines.append(
            "text-2000: green-tsetlin's SparseTsetlinMachine is another algorithm, which keeps "
            "only some literals of each clause."
        )
    return lines + _growth(results)


def _growth(results: list[Result]) -> list[str]:
    """Whether a clause costs the same in a large pool."""
    lines = []
    for family in ("convolution-", "clauses-"):
        ours = {
            r["n_clauses"]: r
            for r in results
            if r["task"].startswith(family) and r["library"] == "cotm" and not r["scaled"]
        }
        most = max(ours, default=0)
        if 500 in ours and most > 500 and ours[500]["rows"] == ours[most]["rows"]:
            cost = [ours[n]["seconds_per_clause_and_example"] for n in (500, most)]
            lines.append(
                f"cotm's cost per clause and example with {most:,} clauses is "
                f"{number(cost[1] / cost[0])} of that with 500 ({family}*, {ours[most]['rows']:,} "
                f"rows): {number(1e9 * cost[1])} and {number(1e9 * cost[0])} ns."
            )
    return lines
