"""The commands' config file: settings, and contexts, which are settings under a name. Of YAML it reads what such a file is written in: 'name: value' lines, those of a
context below its name or as {name: value, ...}. Whatever else YAML has is refused with its line and never guessed; so no package for YAML is needed."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import re

from longreach import protocol
from longreach.errors import error_of

SETTINGS = ("scheduler", "store", "output", "color", "ca", "certificate", "key", "token_file")
_MAX_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
# A quoted text, or a plain one: what ends a plain one is said where it is read. The name of a setting or of a context is one of these, too.
_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"\\]|\\["\\/])*\""""
_NULL = ("~", "null", "Null", "NULL")  # What YAML has for no value.
_COMMENT = re.compile(r"\s*(?:#.*)?")


@dataclasses.dataclass(frozen=True)
class Value:
    text: str
    origin: str  # "LONGREACH_CA", "PATH:3 (context cluster)".


@dataclasses.dataclass(frozen=True)
class ConfigFile:
    path: str = ""  # Empty: nothing says where it would be.
    settings: dict = dataclasses.field(default_factory=dict)  # Values by name; of a context, too.
    contexts: dict = dataclasses.field(default_factory=dict)  # The same of each, by its name.


def read_config_file() -> ConfigFile:
    """One that is not there, or cannot be read, says nothing. Refused: what is no setting, or is written in a way that is not read here; with its line."""
    folder, home = os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")
    if not folder and not home:
        return ConfigFile()
    path = str(pathlib.Path(folder or pathlib.Path(home, ".config"), "longreach", "config.yaml"))
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return ConfigFile(path)
    if len(data) > _MAX_BYTES:
        raise error_of("INVALID_ARGUMENT", f"{path}: it has more than 1 MiB, and is no config file")
    return _Reader(path).read(data)


class _Reader:
    def __init__(self, path: str):
        self._path = path

    def read(self, data: bytes) -> ConfigFile:
        try:
            lines = data.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise error_of("INVALID_ARGUMENT", f"{self._path}: it is not UTF-8") from None
        file = ConfigFile(self._path)
        context_indent, setting_indent, context = None, None, None
        is_in_contexts, known = False, {}
        for number, line in enumerate(lines, start=1):
            if _COMMENT.fullmatch(line) or (number == 1 and line.rstrip() == "---"):
                continue
            indent = len(line) - len(line.lstrip(" "))
            name, rest = self._name(number, line[indent:])
            if indent == 0:
                is_in_contexts, context, context_indent = name == "contexts", None, None
                if is_in_contexts:
                    if rest.startswith("{"):
                        self._refuse(number, "contexts in one line", "write each on a line of its own below 'contexts:'")
                    self._nothing_behind(number, rest)
                    self._once(number, name, known)
                    known[name] = True
                else:
                    self._add(number, file.settings, name, self._value(number, rest, ""), "", ("context", *SETTINGS))
            elif not is_in_contexts:
                self._refuse(number, "a line that is indented, and below no context", "write settings without blanks in front")
            elif context_indent is None or indent == context_indent:
                context_indent, setting_indent, context = indent, None, name
                if _NAME.fullmatch(name) is None:
                    self._refuse(number, f"'{name}' is no name for a context", "write letters, digits, '-', '_' and '.', and no '-' in front")
                self._once(number, name, file.contexts)
                file.contexts[name] = {}
                if rest.startswith("{"):
                    for one, value in self._pairs(number, rest):
                        self._add(number, file.contexts[name], one, value, name, SETTINGS)
                else:
                    self._nothing_behind(number, rest)
            elif indent > context_indent and (setting_indent is None or indent == setting_indent):
                setting_indent = indent
                self._add(number, file.contexts[context], name, self._value(number, rest, ""), context, SETTINGS)
            else:
                self._refuse(number, "its indent is neither that of the line above nor one that is known", "give what belongs together the same blanks in front")
        return file

    def _name(self, number: int, text: str) -> tuple:
        """(name, what follows its colon)."""
        found = re.match(rf"({_QUOTED}|[^\s'\"#&*!|>%@`?\-\[\]{{}},:][^\s#\[\]{{}},:]*)\s*:(?:\s+(.*)|)$", text)
        if found is None:
            self._refuse(number, "expected 'name: value'", "the commands may read it nevertheless: this package reads no other YAML")
        return self._text(number, found[1]), (found[2] or "").strip()

    def _value(self, number: int, rest: str, ends: str) -> str:
        value, behind = self._scalar(number, rest, ends)
        if _COMMENT.fullmatch(behind) is None:
            self._refuse(number, f"'{behind.strip()}' behind a value", "put a text that has such signs within quotes")
        return value

    def _scalar(self, number: int, rest: str, ends: str) -> tuple:
        """(text, what is behind it). Plain texts end with the line, with a comment, or with one of `ends`."""
        quoted = re.match(_QUOTED, rest)
        if quoted is not None:
            return self._text(number, quoted[0]), rest[quoted.end():]
        plain = re.match(rf"(?:[^\s#{re.escape(ends)}]|\s+(?=[^\s#{re.escape(ends)}])|(?<=\S)#)*", rest)[0] if rest else ""
        if plain in ("", *_NULL):
            self._refuse(number, "expected one value", "write one behind the name, or leave the line out")
        if plain[0] in "'\"&*!|>%@`[]{},?#" or plain.startswith("- ") or ": " in plain or plain.endswith(":"):
            self._refuse(number, f"'{plain}' is no plain text", "put it within quotes, or write it as one plain value: this package reads no other YAML")
        return plain, rest[len(plain):]

    def _pairs(self, number: int, rest: str) -> list:
        """Of {name: value, ...}, in one line."""
        pairs, rest = [], rest[1:].lstrip()
        while not rest.startswith("}"):
            found = re.match(rf"({_QUOTED}|[A-Za-z_]+)\s*:\s+", rest)
            if found is None:
                self._refuse(number, "expected {name: value, ...} in one line", "or write each setting on a line of its own below the context's name")
            value, rest = self._scalar(number, rest[found.end():], ",{}[]")
            pairs.append((self._text(number, found[1]), value))
            rest = rest.lstrip()
            if rest.startswith(","):
                rest = rest[1:].lstrip()
            elif not rest.startswith("}"):
                self._refuse(number, "expected {name: value, ...} in one line", "or write each setting on a line of its own below the context's name")
        self._nothing_behind(number, rest[1:])
        return pairs

    @staticmethod
    def _text(number: int, written: str) -> str:
        if written.startswith("'"):
            return written[1:-1].replace("''", "'")
        return re.sub(r"\\(.)", r"\1", written[1:-1]) if written.startswith('"') else written

    def _add(self, number: int, settings: dict, name: str, text: str, context: str, known: tuple) -> None:
        of_context = f" (context {context})" if context else ""
        if name not in known:
            self._refuse(number, f"unknown setting '{name}'{protocol.did_you_mean(name, known)}{of_context}", f"there are: {', '.join(known)}")
        self._once(number, name, settings)
        settings[name] = Value(text, f"{self._path}:{number}{of_context}")

    def _once(self, number: int, name: str, known: dict) -> None:
        if name in known:
            self._refuse(number, f"'{name}' is there twice", "leave one of them out")

    def _nothing_behind(self, number: int, rest: str) -> None:
        if _COMMENT.fullmatch(rest) is None:
            self._refuse(number, f"'{rest}' where settings belong", "write them below, each on a line of its own, or as {name: value, ...}")

    def _refuse(self, number: int, what: str, hint: str) -> None:
        raise error_of("INVALID_ARGUMENT", f"{self._path}:{number}: {what}; {hint}")
