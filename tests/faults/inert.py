"""Whether a program's output is inert: nothing in it does anything but being read."""
import csv
import io
import json
import re
import unicodedata

# What turns the direction of text around, ends lines, or is seen by nobody but programs.
_OBEYED = {0x61c, 0x200e, 0x200f, *range(0x202a, 0x202f), *range(0x2066, 0x206a), 0x2028, 0x2029, *range(0xfff9, 0xfffc),
           *range(0xe0000, 0xe0080)}
_LATEX_COMMANDS = {"begin", "end", "toprule", "midrule", "bottomrule", "textbackslash", "textasciitilde", "textasciicircum", "textless",
                   "textgreater", "textbf", "dagger"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\Z")


def text(output, also=""):
    """Valid UTF-8 of which a terminal obeys nothing but line feeds (and `also`)."""
    decoded = output.decode("utf-8")
    for place, char in enumerate(decoded):
        if char not in "\n" + also and (unicodedata.category(char) == "Cc" or ord(char) in _OBEYED):
            raise AssertionError(f"U+{ord(char):04X} in {decoded[max(0, place - 40):place + 20]!r}")
    return decoded


def table(output):
    return text(output)


def csv_(output):
    rows = list(csv.reader(io.StringIO(text(output, also="\t"), newline=""), strict=True))
    assert len({len(row) for row in rows}) <= 1, f"rows of different lengths: {rows}"
    for cell in (cell for row in rows for cell in row):
        begin = cell.lstrip(" ")
        assert not begin.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")) or _NUMBER.match(cell), f"a formula: {cell!r}"
    return rows


def json_(output):
    text(output)
    return json.loads(output, parse_constant=lambda name: (_ for _ in ()).throw(AssertionError(f"{name} is not JSON")))


def markdown(output):
    decoded = text(output)
    plain = re.sub(r"\\[!-/:-@\[-`{-~]", "", decoded)  # Without what is escaped.
    widths = {line.count("|") for line in plain.splitlines() if line.startswith("|")}
    assert len(widths) <= 1, f"rows of different lengths: {widths}\n{decoded}"
    for harmful in ("<", "`", "[", "$", "~", "&"):
        assert harmful not in plain, f"{harmful!r} is not escaped in {next(line for line in plain.splitlines() if harmful in line)!r}"
    return decoded


def latex(output):
    decoded = text(output)
    lines = [line for line in decoded.splitlines() if not line.startswith("% ")]
    body = "\n".join(lines)
    commands = re.findall(r"\\(?:([A-Za-z]+)|(.))", body, re.DOTALL)
    unknown = [name or char for name, char in commands if name not in _LATEX_COMMANDS and not (char and char in "&%$#_{}\\^")]
    assert not unknown, f"commands {unknown} in {decoded}"
    plain = re.sub(r"\\[&%$#_{}^]", "", body)
    widths = {line.count("&") for line in lines for line in [re.sub(r"\\[&%$#_{}^]", "", line)] if line.endswith("\\\\")}
    assert len(widths) <= 1, f"rows of different lengths: {widths}\n{decoded}"
    for harmful in ("%", "#", "_", "~", "^"):
        assert harmful not in plain.replace("$^\\dagger$", ""), f"{harmful!r} is not escaped in {decoded}"
    assert not re.search(r"(\\\\|rule)\s*[\[*]", body), f"a text is taken for an argument in {decoded}"
    return decoded


FORMATS = {"table": table, "csv": csv_, "json": json_, "markdown": markdown, "latex": latex}
