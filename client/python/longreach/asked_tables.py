"""The table that is asked for: the sweep's own, with what is asked for in the place of what it says. What of it belongs to other axes, another aggregate or other values
than those that are asked for is left out, by the rules of `longreach results`."""
from __future__ import annotations

from longreach import protocol
from longreach.errors import refused
from longreach.specs import fill

_BEST_OF_ALL = ("max", "min")
_LOSSES = "training_loss"


def asked_table(own, asked: dict):
    """(table, whether it shows the values of the own one): messages TableSpec, where `asked` has its fields by name. Refused: a value that is none of its field's, or
    an axis on both sides."""
    wanted = protocol.message("TableSpec")()
    fill(wanted, asked, "table")
    table = protocol.message("TableSpec")()
    table.CopyFrom(own)
    if not asked:
        return table, True
    for name in ("rows", "columns"):
        if name in asked:
            setattr(table, name, getattr(wanted, name))
    both = [axis for axis in _axes(table.rows) if axis in _axes(table.columns)]
    if both:
        other = "columns" if "rows" in asked else "rows"
        raise refused(f"rows and columns are both '{both[0]}'{'' if other in asked else f', which the table of the sweep has as {other}: give {other}, too'}")
    _take_metric(table, wanted, asked)
    _take_aggregate(table, wanted, asked)
    _take_choice(table, wanted, asked)
    sides, own_sides = ([_axes(side) for side in (one.rows, one.columns)] for one in (table, own))
    is_turned = bool(own.rows) and sides == own_sides[::-1]
    has_other_axes = sides != own_sides
    if is_turned:
        _set(table.row_order, own.column_order)
        _set(table.column_order, own.row_order)
        del table.extra_columns[:]
    elif has_other_axes:
        for name in ("row_order", "column_order", "extra_columns", "gain"):
            table.ClearField(name)
    asks_for_aggregate = ("aggregate" in asked or "best_of" in asked) and table.aggregate != own.aggregate
    if asks_for_aggregate or list(table.best_of) != list(own.best_of):
        left = [one for one in own.extra_columns if not one.sweep]  # "Best of ..." of another sweep is of the aggregate that the table had.
        _set(table.extra_columns, left if table.extra_columns else [])
    shown = (*_axes(table.rows), *_axes(table.columns))
    has_own_values = ((is_turned or not has_other_axes) and all(getattr(table, name) == getattr(own, name) for name in ("metric", "aggregate", "length", "slice", "best_of"))
                      and all(_axis_of(one) in shown for one in wanted.only)
                      and not ("length" in asked and any(_axis_of(one) == "length" for one in own.only)))
    if not has_own_values:
        for name in ("published", "published_gain", "title"):
            table.ClearField(name)
    return table, has_own_values


def _take_metric(table, wanted, asked: dict) -> None:
    before = table.metric
    if "metric" in asked:
        table.metric = wanted.metric
    elif "step" in (*_axes(wanted.rows), *_axes(wanted.columns)):
        table.metric = _LOSSES
    if table.metric == _LOSSES:  # What a table says of tests has no meaning for losses of training.
        table.ClearField("length")
        table.ClearField("slice")
        _forget(table, {"length"})
    if "step" not in (*_axes(table.rows), *_axes(table.columns)):
        table.ClearField("step_bins")
    # The best of one metric may be the worst of another.
    if table.metric != before and table.aggregate in _BEST_OF_ALL:
        table.ClearField("aggregate")


def _take_aggregate(table, wanted, asked: dict) -> None:
    if "best_of" in asked:
        _set(table.best_of, wanted.best_of)
        # The best of the best of each is the best of all.
        if table.aggregate in _BEST_OF_ALL:
            table.ClearField("aggregate")
    else:
        shown = (*_axes(wanted.rows), *_axes(wanted.columns))
        left = [axis for axis in table.best_of if axis not in shown]
        if len(left) < len(table.best_of):  # Each of its values has the same aggregate then.
            table.aggregate = table.aggregate or "mean"
            _set(table.best_of, left)
    if "aggregate" in asked:
        table.aggregate = wanted.aggregate


def _take_choice(table, wanted, asked: dict) -> None:
    """Takes the place of what the table has of the same axes."""
    if "slice" in asked:
        table.slice = wanted.slice
    chosen = {_axis_of(one) for one in wanted.only}
    _forget(table, chosen)
    if "length" in chosen:
        table.ClearField("length")
    if "length" in asked:
        _forget(table, {"length"})
        table.length = wanted.length
    table.only.extend(wanted.only)


def _forget(table, axes: set) -> None:
    _set(table.only, [one for one in table.only if _axis_of(one) not in axes])


def _set(repeated, values) -> None:
    del repeated[:]
    repeated.extend(values)


def _axes(side: str) -> list:
    return [one.strip() for one in side.split(",")] if side else []


def _axis_of(only: str) -> str:
    return only.partition("=")[0].strip()
