"""What docs/exports.md says of JSON, in plain Python and NumPy: the export read once more."""

from __future__ import annotations

import math

import numpy as np


def votes(data, row):
    """Votes for one example: a list of cells, or of an image's values."""
    assert data["format"] == "cotm-export" and data["version"] == 1
    parts = [member_votes(member, row, len(data["classes"])) for member in data["members"]]
    if data["divisors"]:
        parts = [
            [(vote << 32) // int(divisor) for vote in part]
            for part, divisor in zip(parts, data["divisors"], strict=True)
        ]
    return [sum(column) for column in zip(*parts, strict=True)]


def labels(data, votes):
    if data["multilabel"]:
        return [int(vote >= 0) for vote in votes]
    return data["classes"][votes.index(max(votes))]


def member_votes(member, row, n_outputs):
    p = member["patches"]
    bits = np.array(bits_of(member["input"], row)).reshape(p["height"], p["width"], p["channels"])
    rows = (p["height"] - p["patch_height"]) // p["stride_rows"] + 1
    columns = (p["width"] - p["patch_width"]) // p["stride_columns"] + 1
    features = []
    for r in range(rows):
        for c in range(columns):
            y, x = r * p["stride_rows"], c * p["stride_columns"]
            patch = bits[y : y + p["patch_height"], x : x + p["patch_width"]]
            above = [int(r > t) for t in range(rows - 1)] + [int(c > t) for t in range(columns - 1)]
            features.append(above + patch.ravel().tolist())
    truth = np.array(features, dtype=int)
    literals = np.concatenate([truth, 1 - truth], axis=1)
    total = [0] * n_outputs
    for included, weights in member["clauses"]:
        most = min(member["tolerance"], len(included))
        misses = (literals[:, included] == 0).sum(axis=1).min()
        output = max(0, most - int(misses))
        total = [vote + output * weight for vote, weight in zip(total, weights, strict=True)]
    return total


def bits_of(source, row):
    if source["kind"] == "table":
        return [test(source["columns"][bit[0]], row[bit[0]], *bit[1:]) for bit in source["bits"]]
    image = np.array(row).reshape(source["shape"])
    if source["bits"] == "levels":
        return np.concatenate(
            [image[..., [c]] > np.array(t) for c, t in enumerate(source["thresholds"])], axis=2
        ).astype(int)
    image = image.astype(int)
    made = {"adaptive": adaptive, "edges": edges, "gradients": gradients}[source["bits"]]
    return made(source, image).astype(int)


def test(column, cell, op, value=None):
    missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    if missing or op == "missing":
        return int(missing and op == "missing")
    if op == "=":
        if isinstance(cell, str) or isinstance(value, str):
            return int(isinstance(cell, str) and cell == value)
        if column.get("tells_booleans"):
            return int(isinstance(cell, bool) == isinstance(value, bool) and cell == value)
        return int(cell == value)
    return int(cell > value) if op == ">" else int(cell <= value)


def adaptive(source, image):
    # The order of the sums is the package's own: docs/exports.md points to it.
    from cotm.booleanize.blur import blur

    mean = blur(image.astype(np.float32), np.array(source["kernel"], dtype=np.float32))
    return image > np.clip(np.rint(mean), 0, 255) - source["constant"]


def above_quantiles(values, parts):
    positive = sorted(int(v) for v in values.ravel() if v > 0)
    levels = [positive[q * (len(positive) - 1) // 10000] if q and positive else 0 for q in parts]
    return [values > level for level in levels]


def edges(source, image):
    planes = []
    height, width, channels = image.shape
    for channel in range(channels):
        padded = np.pad(image[..., channel], 3)
        planes += above_quantiles(image[..., channel], source["levels"])
        for kernel in source["kernels"]:
            response = sum(
                kernel[y][x] * padded[y : y + height, x : x + width]
                for y in range(7)
                for x in range(7)
            )
            planes += above_quantiles(response, source["positive"])
            planes += above_quantiles(-response, source["negative"])
    return np.stack(planes, axis=-1)


def gradients(source, image):
    table = np.repeat(*np.array(source["table"]).T).reshape(511, 511)
    height, width, _ = image.shape
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    up = padded[:-2, 1:-1] - padded[2:, 1:-1]
    right = padded[1:-1, 2:] - padded[1:-1, :-2]
    strength = abs(up) + abs(right)
    (ch, cw), (sh, sw) = source["cell"], source["step"]
    if not source["each"]:
        strongest = strength.argmax(axis=2)[..., None]
        up, right, strength = (
            np.take_along_axis(a, strongest, axis=2) for a in (up, right, strength)
        )
    direction = table[up + 255, right + 255]
    rows, columns = (height - ch) // sh + 1, (width - cw) // sw + 1
    bits = []
    for c in range(strength.shape[2]):
        sums = np.zeros((rows, columns, source["directions"]), dtype=int)
        for r in range(rows):
            for k in range(columns):
                place = np.s_[r * sh : r * sh + ch, k * sw : k * sw + cw, c]
                for d in range(source["directions"]):
                    sums[r, k, d] = (strength[place] * (direction[place] == d)).sum()
        bits.append(np.stack(above_quantiles(sums, source["quantiles"]), axis=-1))
    return np.stack(bits, axis=2).reshape(rows, columns, -1)
