"""Verilog: a combinational and a clocked module, in the words of 2001 that all tools read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from ..core.checks import check_choice
from .c_tables import first_feature, split, windows
from .description import CannotExportError, Description, Member, TableInput
from .verilog_inputs import VALUES, bit_expressions, value_bits
from .writing import check_identifier, comment_text, identifier, text_bytes

OPTIONS = ("name", "value")

#: Words that can be no module's name, of Verilog 2005 and SystemVerilog 2017.
_WORDS = """
    accept_on alias always always_comb always_ff always_latch and assert assign assume
    automatic before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex
    casez cell chandle checker class clocking cmos config const constraint context continue
    cover covergroup coverpoint cross deassign default defparam design disable dist do edge
    else end endcase endchecker endclass endclocking endconfig endfunction endgenerate
    endgroup endinterface endmodule endpackage endprimitive endprogram endproperty
    endsequence endspecify endtable endtask enum event eventually expect export extends
    extern final first_match for force foreach forever fork forkjoin function generate
    genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies
    import incdir include initial inout input inside instance int integer interconnect
    interface intersect join join_any join_none large let liblist library local localparam
    logic longint macromodule matches medium modport module nand negedge nettype new
    nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed
    parameter pmos posedge primitive priority program property protected pull0 pull1
    pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos
    rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with
    scalared sequence shortint shortreal showcancelled signed small soft solve specify
    specparam static string strong strong0 strong1 struct super supply0 supply1
    sync_accept_on sync_reject_on table tagged task this throughout time timeprecision
    timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
    unique unique0 unsigned until until_with untyped use uwire var vectored virtual void
    wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
"""
_KEYWORDS = frozenset(re.findall(r"\w+", _WORDS))

#: Clauses whose votes are summed up before those of others.
_GROUP = 16


def files(
    description: Description, path: Path, *, name: str | None = None, value: str = "double"
) -> dict[Path, bytes]:
    """One file."""
    if name is None:
        name = identifier(path)
        name = f"model_{name}" if name in _KEYWORDS else name
    elif check_identifier(name) in _KEYWORDS:
        raise ValueError(f"name={name!r} is a word of Verilog's own; take another")
    check_choice("value", value, VALUES)
    return {path: text_bytes(_modules(description, name, value))}


def _modules(description: Description, name: str, value: str) -> Iterator[str]:
    if len(description.members) > 1 or description.divisors is not None:
        raise CannotExportError(
            "Verilog",
            "several members read an example, each in its own way",
            "export each of them alone, or join them to one pool of clauses",
        )
    if description.quantities is not None:
        raise CannotExportError(
            "Verilog", "what a regressor predicts is a float64", "export C, ONNX or JSON"
        )
    member = description.members[0]
    expressions = bit_expressions(member.input, value)
    words = _words(description, member, name, value_bits(member.input, value))
    yield "// A classifier made of rules, exported by cotm."
    if isinstance(member.input, TableInput):
        yield from (
            f"// value {k}: {comment_text(column.name)}"
            for k, column in enumerate(member.input.columns)
        )
    yield from (
        f"// output {i}: {comment_text(str(label))}" for i, label in enumerate(description.classes)
    )
    yield ""
    yield from _bits(words, expressions)
    yield from _patch(member, words)
    yield from _sums(member, description.n_outputs, words)
    yield _template("label_several.v" if description.multilabel else "label_one.v", words)
    yield _template("combinational.v", words)
    yield _template("clocked_flat.v" if words["PATCHES"] == 1 else "clocked_patches.v", words)


def _template(name: str, words: dict[str, Any]) -> str:
    text = resources(__package__).joinpath("verilog", name).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", str(value))
    return text


def _words(description: Description, member: Member, name: str, value_width: int) -> dict[str, Any]:
    grid, n = member.grid, max(1, len(member.clauses))
    outputs = description.n_outputs
    groups = -(-n // _GROUP)
    return {
        "NAME": name,
        "INPUT": member.input.n_values * value_width,
        "BITS": grid.height * grid.width * grid.channels,
        "IMAGE_ROW": grid.width * grid.channels,
        "PATCH_ROW": grid.patch_width * grid.channels,
        "PATCH_HEIGHT": grid.patch_height,
        "FEATURES": grid.patch_height * grid.patch_width * grid.channels,
        "CHANNELS": grid.channels,
        "ROWS": grid.rows,
        "COLUMNS": grid.columns,
        "PATCHES": grid.n_patches,
        "STRIDE_ROWS": grid.stride_rows,
        "STRIDE_COLUMNS": grid.stride_columns,
        "PLACE": max(1, max(grid.rows, grid.columns).bit_length()),
        "CLAUSES": n,
        "DIGITS": max(map(member.most, member.clauses), default=1).bit_length(),
        "OUTPUTS": outputs,
        "WIDTH": member.largest_vote.bit_length() + 1,
        "GROUPS": groups,
        "LABEL": outputs if description.multilabel else max(1, (outputs - 1).bit_length()),
    }


def _bits(words: dict[str, Any], expressions: list[str]) -> Iterator[str]:
    yield "// The bits of an example."
    yield f"module {words['NAME']}_bits("
    yield f"  input wire [{words['INPUT'] - 1}:0] x, output wire [{words['BITS'] - 1}:0] b);"
    if expressions == ["x"]:
        yield "  assign b = x;"
    else:
        yield from (f"  assign b[{k}] = {text};" for k, text in enumerate(expressions))
    yield "endmodule\n"


def _patch(member: Member, words: dict[str, Any]) -> Iterator[str]:
    """What every clause says of a patch."""
    yield "// What the clauses say of a patch."
    yield f"module {words['NAME']}_patch("
    yield f"  input wire [{words['PLACE'] - 1}:0] row, column,"
    yield f"  input wire [{words['FEATURES'] - 1}:0] p,"
    yield f"  output wire [{words['CLAUSES'] * words['DIGITS'] - 1}:0] said);"
    if not member.clauses:
        yield "  assign said = 0;"
    bounds = windows(member) if member.tolerance == 1 else []
    for j, clause in enumerate(member.clauses):
        terms = [_literal(member, *pair) for pair in split(member, clause)]
        if member.tolerance == 1:
            terms = [*_window(bounds[j], member), *terms]
            yield f"  assign said[{j}] = {' & '.join(terms) or chr(49)};"
            continue
        most, width = member.most(clause), len(terms).bit_length()
        digits = words["DIGITS"]
        missed = " + ".join(f"!{term}" for term in terms)
        yield f"  wire [{width - 1}:0] misses{j} = {missed};"
        yield (
            f"  assign said[{digits * j} +: {digits}] = "
            f"misses{j} < {most} ? {most} - misses{j} : 0;"
        )
    yield "endmodule\n"


def _literal(member: Member, feature: int, negated: int) -> str:
    grid = member.grid
    first = grid.n_position_features
    if feature < first:
        row = feature < grid.rows - 1
        t = feature if row else feature - (grid.rows - 1)
        return f"({'row' if row else 'column'} {'<=' if negated else '>'} {t})"
    return f"({'!' * negated}p[{feature - first}])"


def _window(bounds: tuple[int, int, int, int], member: Member) -> Iterator[str]:
    assert first_feature(member) == member.grid.n_position_features
    names, sizes = ("row", "column"), (member.grid.rows, member.grid.columns)
    for axis, (name, size) in enumerate(zip(names, sizes, strict=True)):
        low, high = bounds[2 * axis : 2 * axis + 2]
        if low > 0:
            yield f"({name} >= {low})"
        if high < size - 1:
            yield f"({name} <= {high})"


def _sums(member: Member, n_outputs: int, words: dict[str, Any]) -> Iterator[str]:
    """Votes in two steps: of groups of clauses, and of all."""
    name, width, digits, groups = (words[w] for w in ("NAME", "WIDTH", "DIGITS", "GROUPS"))
    yield "// Votes of groups of clauses."
    yield f"module {name}_parts("
    yield f"  input wire [{words['CLAUSES'] * digits - 1}:0] said,"
    yield f"  output wire [{groups * n_outputs * width - 1}:0] parts);"
    for j in range(len(member.clauses)):
        yield (
            f"  wire signed [{width - 1}:0] c{j} = "
            f"{{{{{width}{{1'b0}}}}, said[{digits * j} +: {digits}]}};"
        )
    for group in range(groups):
        clauses = member.clauses[group * _GROUP : (group + 1) * _GROUP]
        for i in range(n_outputs):
            terms = [
                f"{'-' if c.weights[i] < 0 else ''}{width + 1}'sd{abs(c.weights[i])} * c{j}"
                for j, c in enumerate(clauses, start=group * _GROUP)
                if c.weights[i]
            ]
            at = (group * n_outputs + i) * width
            yield f"  assign parts[{at} +: {width}] = {' + '.join(terms) or '0'};"
    yield "endmodule\n"
    yield "// Votes of all clauses."
    yield f"module {name}_votes("
    yield f"  input wire [{groups * n_outputs * width - 1}:0] parts,"
    yield f"  output wire [{n_outputs * width - 1}:0] votes);"
    for i in range(n_outputs):
        places = (f"parts[{(g * n_outputs + i) * width} +: {width}]" for g in range(groups))
        yield f"  assign votes[{i * width} +: {width}] = {' + '.join(places)};"
    yield "endmodule\n"
