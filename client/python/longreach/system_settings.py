"""The settings in which a sweep's systems differ, as their jobs have them. A specification leaves out what is a default, which the scheduler knows, and
says what some of the encodings do not use: so a table of the jobs is asked for, one for each setting that a system sets."""
from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor

from longreach import protocol
from longreach.errors import Error
from longreach.table_frames import keys_of

_GROUPS = ("model", "positions", "training", "evaluation")


class SystemSettings:
    """`paths`, ascending, are those in which the systems differ: of a sweep without systems none."""

    def __init__(self, calls, sweep):
        self._learnt: dict = {}  # By path and system: what jobs have, by task and encoding.
        own = {system.name: getattr(system, "with") for system in sweep.spec.systems}
        self.paths = []
        for path, field in _settings():
            if all(_said(spec, path) is None for spec in own.values()):
                continue
            self._learn(calls, sweep.id, path, field)
            if len({self._first(path, name, _said(spec, path), _said(sweep.spec, path)) for name, spec in own.items()}) > 1:
                self.paths.append(path)

    def of_job(self, job, path: str):
        """None: this job does not have the setting."""
        of_system = self._learnt.get((path, job.systems[0]), {}) if job.systems else {}
        return of_system.get((job.task, job.encoding))

    def _first(self, path: str, system: str, own, common):
        """Of the first of its tasks and encodings that has it; where the scheduler did not say, as the specification does."""
        learnt = self._learnt.get((path, system))
        if learnt is not None:
            return next((value for value in learnt.values() if value is not None), None)
        return common if own is None else own

    def _learn(self, calls, sweep: str, path: str, field) -> None:
        # Values are rows: as columns they would be mostly empty, where each of many systems has one of its own.
        asked = protocol.message("TableSpec")(rows=f"system,task,{path}", columns="encoding")
        try:
            table = calls.ask("GetTable", protocol.message("GetTableRequest")(sweep=sweep, table=asked))
        except Error as error:
            if error.code == "RESOURCE_EXHAUSTED":  # More systems, tasks and encodings than a table holds.
                return
            raise
        for at, cell in enumerate(table.cells):
            if cell.jobs:
                system, task, text = keys_of(table.rows[at // len(table.columns)].key)
                self._learnt.setdefault((path, system), {})[task, table.columns[at % len(table.columns)].key] = _value(field, text)


def _settings() -> list:
    """Settings with one value: their paths, ascending, and fields."""
    fields = protocol.message("SweepSpec").DESCRIPTOR.fields_by_name
    found = {"data": fields["data"]}
    for group in _GROUPS:
        for field in fields[group].message_type.fields:
            if not protocol.is_repeated(field) and field.message_type is None:
                found[f"{group}.{field.name}"] = field
    return sorted(found.items())


def _said(spec, path: str):
    """What a specification says of a setting itself; None: nothing."""
    group, _, name = path.rpartition(".")
    if not group:
        return getattr(spec, name) or None
    of_group = getattr(spec, group)
    return getattr(of_group, name) if of_group.HasField(name) else None


def _value(field, text: str):
    """A table's key as the field has it."""
    if not text:
        return None
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return text == "true"
    return float(text) if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT) else int(text)
