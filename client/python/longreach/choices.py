"""What a question is limited to, as the scheduler takes it."""
from __future__ import annotations

import numbers
from collections.abc import Iterable

from longreach.errors import refused


def list_of(name: str, texts: str | Iterable[str] | None) -> list:
    """One text or several; `name` is the argument, for errors."""
    if texts is None:
        return []
    several = [texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else list(texts)
    for one in several:
        if not isinstance(one, str):
            raise refused(f"{name}: {one!r} where a text belongs")
    return several


def choice_of_lengths(lengths: int | Iterable[int] | None) -> tuple:
    """(length, only): a single length as ListMeasurementsRequest has it, or several as a choice, with ranges of neighbours."""
    if lengths is None:
        return None, []
    if isinstance(lengths, numbers.Integral):
        return int(lengths), []
    asked = list(lengths) if isinstance(lengths, Iterable) and not isinstance(lengths, str) else [lengths]
    for one in asked:
        if not isinstance(one, numbers.Integral):
            raise refused(f"lengths: {one!r} is no length; write a whole number, or several: range(41, 61)")
    asked = sorted({int(one) for one in asked})
    if not asked:
        raise refused("lengths: none is given; leave it out for all of them")
    if len(asked) == 1:
        return asked[0], []
    if asked[0] == 0:
        raise refused("lengths: 0 is what is over all lengths, and none of them; ask for it alone, or leave lengths out and choose rows")
    parts, first = [], asked[0]
    for one, following in zip(asked, [*asked[1:], None]):
        if following != one + 1:
            parts.append(f"{first}" if first == one else f"{first}..{one}")
            first = following
    return None, [f"length={','.join(parts)}"]
