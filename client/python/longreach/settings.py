"""Which scheduler, and what it is shown: arguments, else LONGREACH_*, else the commands' config file, of which a context comes first, else the default. A context that is
given as an argument comes before the environment. These are the rules of the commands."""
from __future__ import annotations

import dataclasses
import os

from longreach import protocol
from longreach.config_file import SETTINGS, Value, read_config_file
from longreach.errors import refused

DEFAULT_ADDRESS = "localhost:7070"
_FILES = ("ca", "certificate", "key", "token_file")


@dataclasses.dataclass(frozen=True)
class Chosen:
    """An address, paths of files, and the token itself; None: nobody says something of it."""
    address: str = DEFAULT_ADDRESS
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    token_file: str | None = None
    token: str | None = None


def choose(arguments: dict, context: str | None = None, token: str | None = None) -> Chosen:
    """`arguments` has the settings that are given to connect(); None: not given. Refused: a context that is not there, a store where a scheduler is wanted, both at
    once, or a config file that cannot be read."""
    if token is not None and arguments.get("token_file") is not None:
        raise refused("token and token_file exclude each other: give one of the two")
    typed = {name: Value(text, name) for name, text in arguments.items() if text is not None}
    variables = {name: Value(os.environ[f"LONGREACH_{name.upper()}"], f"LONGREACH_{name.upper()}") for name in ("context", *SETTINGS) if os.environ.get(f"LONGREACH_{name.upper()}")}
    file = read_config_file()
    levels = [typed, variables, file.settings]
    asked = Value(context, "context") if context is not None else _strongest(levels, "context")
    if asked is not None:
        if asked.text not in file.contexts:
            there_are = (f"there are: {', '.join(file.contexts)}" if file.contexts else
                         f"they stand below 'contexts:' in {file.path}, which has none" if file.path else
                         "they stand in a config file, and neither XDG_CONFIG_HOME nor HOME says where it is")
            raise refused(f"{asked.origin}: there is no context '{asked.text}'{protocol.did_you_mean(asked.text, file.contexts)}; {there_are}")
        # A single setting wins over a context that is named in the same place, and a context over what is named in a weaker one.
        levels.insert(1 if context is not None else 2, file.contexts[asked.text])
    files = {name: value.text for name in _FILES for value in [_strongest(levels, name)] if value is not None}
    if token is None and not any("token_file" in level for level in (levels[:2] if context is not None else levels[:1])):
        token = os.environ.get("LONGREACH_TOKEN") or None
    if token is not None:
        files.pop("token_file", None)
    return Chosen(address=_address(levels), token=token, **files)


def _strongest(levels: list, name: str) -> Value | None:
    return next((level[name] for level in levels if name in level), None)


def _address(levels: list) -> str:
    """A store and a scheduler are two answers to one question: the strongest level that has one of them decides."""
    for level in levels:
        scheduler, store = level.get("scheduler"), level.get("store")
        if scheduler is not None and store is not None:
            raise refused(f"{scheduler.origin} and {store.origin} exclude each other: name one of the two, or give connect() an address")
        if store is not None:
            raise refused(f"no address, and {store.origin} names a store: open_store({os.path.expanduser(store.text)!r}) opens it, or give connect() an address")
        if scheduler is not None:
            return scheduler.text
    return DEFAULT_ADDRESS
