"""A table of the scheduler becomes a DataFrame: rows and columns by their keys, what is not measured as NaN."""
from __future__ import annotations

import re

import pandas

# As keys of numbers are written.
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?")
# Of these axes keys are names, also where somebody has called a system 8: as in the other DataFrames.
_NAMES = ("system", "task", "encoding", "data")


def keys_of(key: str) -> list:
    """Of several axes the key of each: they have ',' between them, and '\\' before each ',' and '\\' of their own."""
    return [re.sub(r"\\(.)", r"\1", one) for one in re.findall(r"(?:^|,)((?:[^,\\]|\\.)*)", key)]


def table_frame(table, rows: str, columns: str, labels: bool, published: bool) -> pandas.DataFrame:
    """The measured values of a message Table; with `published`, beside these what is published, under column keys of their own. `rows` and `columns`
    are the axes, as TableSpec has them; empty: not known."""
    index = _index(table.rows, rows, labels)
    header = _index(table.columns, columns, labels)
    frame = _values(table, "measured", index, header)
    if published:
        frame = pandas.concat({"measured": frame, "published": _values(table, "published", index, header)}, axis="columns")
    frame.attrs.update(title=_title(table.title), metric=table.metric, unit=table.unit, notes=list(table.notes))
    if table.HasField("gain"):
        frame.attrs.update(gain=table.gain, gain_pairs=table.gain_pairs)
        if table.HasField("gain_error"):
            frame.attrs.update(gain_error=table.gain_error)
    return frame


def _values(table, what: str, index: pandas.Index, header: pandas.Index) -> pandas.DataFrame:
    values = [getattr(cell, what) if cell.HasField(what) else float("nan") for cell in table.cells]
    width = len(header)
    return pandas.DataFrame([values[at * width:(at + 1) * width] for at in range(len(index))], index=index, columns=header, dtype="float64")


def _index(entries, axes: str, labels: bool) -> pandas.Index:
    names = [one.strip() for one in axes.split(",")] if axes else None
    if labels:
        return pandas.Index([one.label for one in entries], name=", ".join(names) if names else None, dtype="object")
    keys = [keys_of(one.key) for one in entries]
    width = max((len(one) for one in keys), default=1)
    names = names if names and len(names) == width else [None] * width
    levels = [_typed([one[at] for one in keys], names[at]) for at in range(width)]
    return pandas.Index(levels[0], name=names[0]) if width == 1 else pandas.MultiIndex.from_arrays(levels, names=names)


def _typed(keys: list, axis: str | None) -> list:
    """Numbers where all of them are, and the axis has not names."""
    if axis in _NAMES or not keys or not all(_NUMBER.fullmatch(one) for one in keys):
        return keys
    return [int(one) if re.fullmatch(r"-?\d+", one) else float(one) for one in keys]


def _title(text: str) -> str:
    """A title may leave a place for what goes into a cell, which the command line fills."""
    return text.replace(", {over}", "").replace("{over}", "").strip()
