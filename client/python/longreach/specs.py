"""Dicts in the shape of a sweep file become messages. What is no field, or of another type, is refused with its path: nothing is left out in silence."""
from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable, Mapping

from google.protobuf.descriptor import FieldDescriptor

from longreach import protocol
from longreach.errors import refused

# What a sweep file has beside the fields of a sweep, and the client of the command line alone understands.
_ONLY_IN_FILES = {"parts": "parts are of sweep files: 'longreach submit FILE' reads them, or submit each part"}
_MOST_VALUES = 10_000_000  # Of a list, as in sweep files. So range(10**12) is refused before memory is full.
_TEXT_FOR_NUMBER = ("a number is written without quotes, and a range as a list: list(range(1, 41)). yaml.safe_load makes texts of 1e-3, which it reads as a number if it is "
                    "written 1.0e-3, and of ranges such as 1..40")


def submission_of(spec: Mapping, **others):
    """The request that submits a sweep: a dict with the fields of SweepSpec and, as a sweep file may have it, `table`."""
    if not isinstance(spec, Mapping):
        raise refused(f"a sweep is a dict in the shape of a sweep file, not {_shown(spec)}; 'longreach submit' takes files and presets")
    request = protocol.message("SubmitSweepRequest")(**others)
    fields = dict(spec)
    table = fields.pop("table", None)
    fill(request.spec, fields, "")
    if table is not None:
        fill(request.table, _mapping(table, "table"), "table")
    return request


def fill(message, values: Mapping, path: str) -> None:
    """Sets the fields of a message; `path` is where it stands, for errors."""
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in values.items():
        where = f"{path}.{name}" if path else str(name)
        field = fields.get(name) if isinstance(name, str) else None
        if field is None:
            known = f"'{path}' has" if path else "there are"
            raise refused(_ONLY_IN_FILES.get(where) or f"{where}: unknown field{protocol.did_you_mean(name, fields)}; {known}: {', '.join(fields)}")
        if value is None:
            raise refused(f"{where}: None is no value; leave the field out to get its default")
        if field.message_type is not None:
            _fill_groups(message, field, value, where)
        elif protocol.is_repeated(field):
            getattr(message, name).extend([value_of(field, one, f"{where}[{at}]") for at, one in enumerate(_items(value, where))])
        else:
            if _is_list(value):
                raise refused(f"{where}: a list where one value belongs; a grid over it is written as systems here, or in a sweep file")
            setattr(message, name, value_of(field, value, where))


def value_of(field, value, where: str):
    """A single value as the field takes it."""
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING:
        if not isinstance(value, str):
            raise refused(f"{where}: {_shown(value)} where a text belongs")
        return value
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        if not _is_bool(value):
            raise refused(f"{where}: {_shown(value)} where True or False belongs")
        return bool(value)
    if isinstance(value, str):
        raise refused(f"{where}: the text {value!r} where a number belongs; {_TEXT_FOR_NUMBER}")
    if _is_bool(value) or not isinstance(value, numbers.Real):
        raise refused(f"{where}: {_shown(value)} where a number belongs")
    if not isinstance(value, numbers.Integral) and not math.isfinite(value):
        raise refused(f"{where}: {value} is not finite")
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        try:
            return float(value)
        except OverflowError:  # Of a whole number that no float is near to.
            raise refused(f"{where}: {_shown(value)} is too large") from None
    if value != int(value):
        raise refused(f"{where}: {value} where a whole number belongs")
    low, high = (0, 2**32 - 1) if kind == FieldDescriptor.CPPTYPE_UINT32 else (-2**31, 2**31 - 1)
    if not low <= value <= high:
        raise refused(f"{where}: {int(value)} is not within {low} and {high}")
    return int(value)


def _fill_groups(message, field, value, where: str) -> None:
    if not protocol.is_repeated(field):
        group = getattr(message, field.name)
        group.SetInParent()  # Also of a group without a field, which is there.
        fill(group, _mapping(value, where), where)
        return
    if isinstance(value, Mapping) or not _is_list(value):
        raise refused(f"{where}: {_shown(value)} where a list of dicts belongs")
    for at, one in enumerate(value):
        fill(getattr(message, field.name).add(), _mapping(one, f"{where}[{at}]"), f"{where}[{at}]")


def _items(value, where: str) -> list:
    """One value alone is a list of one, as in sweep files."""
    if isinstance(value, Mapping):
        raise refused(f"{where}: {_shown(value)} where a list belongs")
    items = list(itertools.islice(value, _MOST_VALUES + 1)) if _is_list(value) else [value]
    if len(items) > _MOST_VALUES:
        raise refused(f"{where}: more than {_MOST_VALUES} values")
    if not items:
        raise refused(f"{where}: a list without a value; leave the field out to get its default")
    return items


def _mapping(value, where: str) -> Mapping:
    if not isinstance(value, Mapping):
        raise refused(f"{where}: {_shown(value)} where a dict belongs")
    return value


def _is_list(value) -> bool:
    """Also a range, a tuple and an array."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _is_bool(value) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # numpy's is of no class of Python's.


def _shown(value) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def request_of(method, arguments: Mapping):
    """The request of any call, of its fields by name. Enumerations go by their names. Refused: what it does not take."""
    fields = method.request.DESCRIPTOR.fields_by_name
    for name in arguments:
        if name not in fields:
            raise refused(f"{method.path}: unknown field '{name}'{protocol.did_you_mean(name, fields)}; there are: {', '.join(fields) or 'none'}")
    try:
        return method.request(**arguments)
    except (TypeError, ValueError) as error:
        raise refused(f"{method.path}: {error}") from None
