"""The messages and calls of proto/longreach/v1, made of their descriptors at run time: so any protobuf from 4.22 on will do, and a program may
have generated code of them as well."""
from __future__ import annotations

import difflib
import functools
import pkgutil

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor

from longreach.errors import NotFound

_PACKAGE = "longreach.v1"
# Classes that are in no use for a moment are freed, which protobuf before 4.25 does not survive.
_KEPT: list = []


def _read_pool():
    """The descriptors, in a pool of their own."""
    try:
        data = pkgutil.get_data("longreach", "protocol.binpb")
    except OSError:
        raise ImportError("longreach has no protocol.binpb, which is made when it is installed: pip install ./client/python") from None
    made = descriptor_pool.DescriptorPool()
    files = descriptor_pb2.FileDescriptorSet.FromString(data).file
    for file in files:
        made.AddSerializedFile(file.SerializeToString())
    for file in files:
        _keep(made.FindFileByName(file.name).message_types_by_name.values())
    return made


def _keep(types) -> None:
    for one in types:
        _KEPT.append(message_factory.GetMessageClass(one))
        _keep(one.nested_types)


# Read with this module: of two threads that ask for it first, each would make one, and messages of two pools do not fit together.
_POOL = _read_pool()


@functools.lru_cache(maxsize=None)
def message(name: str):
    """The class of a message: message("SweepSpec")."""
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


class Method:
    """One RPC: where it is called, and what it asks and answers."""

    def __init__(self, descriptor):
        self.path = f"/{descriptor.containing_service.full_name}/{descriptor.name}"
        self.request = message_factory.GetMessageClass(descriptor.input_type)
        self.response = message_factory.GetMessageClass(descriptor.output_type)
        proto = descriptor_pb2.MethodDescriptorProto()
        descriptor.CopyToProto(proto)
        self.streams = proto.server_streaming  # Descriptors of older protobufs do not say it.


@functools.lru_cache(maxsize=None)
def _methods() -> dict:
    """By name, those that a client calls."""
    service = _POOL.FindServiceByName(f"{_PACKAGE}.Longreach")
    return {one.name: Method(one) for one in service.methods}


def method(name: str) -> Method:
    """NotFound: there is no such RPC."""
    found = _methods().get(name)
    if found is None:
        raise NotFound("NOT_FOUND", f"there is no call '{name}'{did_you_mean(name, _methods())}; there are: {', '.join(sorted(_methods()))}")
    return found


def is_repeated(field) -> bool:
    """The newest protobuf has a word of its own for it, and warns of the old one."""
    known = getattr(field, "is_repeated", None)
    return field.label == FieldDescriptor.LABEL_REPEATED if known is None else known


def did_you_mean(word, known) -> str:
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""
