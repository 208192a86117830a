"""Composites in a model file: the whole files of its members, and how their votes are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import __version__
from ..core.decoding import UnknownError, damage_in, expect, expect_keys, expect_type
from ..model.joining import MOST, SCALES
from .container import Tensors, unpack
from .decode import MAX_VERSION, decode
from .errors import ModelFileError
from .parameters import MAX_COUNT, plain
from .saved_model import SavedComposite, SavedModel
from .upgrade import FORMAT, upgrade_composite

#: The class of such a file.
COMPOSITE = "CoTMComposite"
#: The fields of its header, and the parameters.
FIELDS = ("format", "cotm", "class", "parameters", "members", "divisors")
PARAMETERS = ("scale", "n_jobs")
#: Begins the names of its tensors, which go on with a member's number.
MEMBER = "member."
MAX_MEMBERS = 10_000
#: Characters of a member's name.
MAX_NAME = 1000


def encode_composite(saved: SavedComposite, members: Sequence[bytes]) -> tuple[dict[str, Any], Any]:
    """Header and tensors, with the members' files as bytes."""
    header = {
        "format": FORMAT,
        "cotm": __version__,
        "class": COMPOSITE,
        "parameters": {"scale": saved.scale, "n_jobs": plain(saved.n_jobs)},
        "members": [*saved.names],
        "divisors": None if saved.divisors is None else [*saved.divisors],
    }
    tensors = {
        f"{MEMBER}{number}": np.frombuffer(data, dtype=np.uint8)
        for number, data in enumerate(members)
    }
    return header, tensors


def decode_composite(header: dict[str, Any], tensors: Tensors) -> SavedComposite:
    """The composite that was saved. Header and tensors may be hostile, and of an earlier format.

    Members are decoded as files of their own, by which a composite cannot hold another.
    """
    file_format: Any = header.get("format")
    header, tensors = upgrade_composite(header, tensors)
    check_composite_header(header)
    names, divisors = header["members"], header["divisors"]
    wanted = [f"{MEMBER}{number}" for number in range(len(names))]
    for name in tensors:
        if name not in wanted:
            damaged = name.startswith(MEMBER)
            expect(not damaged, f"it holds {name:.100}, but only {len(names)} members")
            raise UnknownError(f"tensor {name!r:.100} is unknown")
    members = []
    tensors = dict(tensors)
    for name, key in zip(names, wanted, strict=True):
        expect(key in tensors, f"member {name!r:.100} is missing")
        # The bytes are let go as soon as they are decoded: memory stays what the file takes.
        members.append(_decode_member(name, tensors.pop(key)))
    return SavedComposite(
        names=tuple(names),
        members=tuple(members),
        scale=header["parameters"]["scale"],
        divisors=None if divisors is None else tuple(divisors),
        n_jobs=header["parameters"]["n_jobs"],
        format=file_format,
        version=header["cotm"],
    )


def _decode_member(name: str, tensor: Any) -> SavedModel:
    expect(
        tensor.dtype == np.uint8 and tensor.ndim == 1,
        f"member {name!r:.100} is {tensor.dtype} {tensor.shape}, not the bytes of a file",
    )
    data = tensor.tobytes()
    del tensor
    try:
        header, tensors = unpack(data)
    except ModelFileError as error:
        raise ModelFileError(f"member {name!r:.100}: {error}") from error
    del data
    expect(header.get("class") != COMPOSITE, f"member {name!r:.100} is a composite itself")
    with damage_in(f"member {name!r:.100}"):
        return decode(header, tensors)


def check_composite_header(header: dict[str, Any]) -> None:
    """Check every field, and those that depend on each other together."""
    expect_keys(header, FIELDS, "the header of a composite")
    version = expect_type(header["cotm"], str, "cotm")
    expect(len(version) <= MAX_VERSION, f"cotm is {version!r:.100}")
    parameters = header["parameters"]
    expect_keys(parameters, PARAMETERS, "parameters of a composite")
    scale, n_jobs = expect_type(parameters["scale"], str, "scale"), parameters["n_jobs"]
    if scale not in SCALES:
        raise UnknownError(f"scale {scale!r:.100} is unknown")
    expect(
        n_jobs is None or (type(n_jobs) is int and n_jobs != 0 and abs(n_jobs) <= MAX_COUNT),
        f"n_jobs is {n_jobs!r:.100}",
    )
    names = expect_type(header["members"], list, "members")
    expect(1 <= len(names) <= MAX_MEMBERS, f"it has {len(names)} members")
    for name in names:
        expect(
            isinstance(name, str) and 0 < len(name) <= MAX_NAME,
            f"a member has the name {name!r:.100}",
        )
    expect(len({*names}) == len(names), "two members have one name")
    divisors = header["divisors"]
    if scale != "range":
        expect(divisors is None, f"it has divisors, but scale is {scale!r}")
        return
    expect(
        isinstance(divisors, list)
        and len(divisors) == len(names)
        and all(type(divisor) is int and 1 <= divisor <= MOST for divisor in divisors),
        f"divisors are {divisors!r:.100}",
    )
