"""Names of ours that a file uses and whose header it does not reach. The builds of `make test` compile several files as one, where a
neighbour's include hides that; the build of one file alone would fail. Known by their looks: types, functions and constants that one header
alone declares in its namespace."""
import re

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                    re.DOTALL | re.MULTILINE)
_NAME = r"([A-Z]\w*|k[A-Z]\w*)"
_TYPE = r"(?:class|struct|union|enum class|enum|concept)\s+(?:alignas\(\w+\)\s+|\[\[\w+\]\]\s+)?"
# What begins in a line's first column is declared in the namespace.
_DECLARED = [re.compile(pattern, re.MULTILINE) for pattern in (
    rf"^(?:template\s*<[^\n]*>\s*)?{_TYPE}{_NAME}(?=[^;\n]*(?:\{{|$))",
    rf"^(?:template\s*<[^\n]*>\s*)?using\s+{_NAME}\s*=",
    rf"^(?!return|using|throw|else)(?:\[\[\w+\]\]\s*)?[a-zA-Z][\w:<>,*& ]*[ *&>]{_NAME}(?:\(|\s*(?:\[[^\]\n]*\])*\s*[={{;])",
)]
# What a file declares for itself, at any depth: types and parameters of templates, aliases, variables and functions, tests.
_LOCAL = [re.compile(pattern) for pattern in (
    rf"\b(?:{_TYPE}|(?:typename|using)\s+(?:[\w:]*::)?){_NAME}",
    rf"(?<!return)(?<!co_return)(?<!new)(?<!case)[\w>*&\]]\s+[*&]?(?:\w+::)*{_NAME}\s*[({{=;,\[]",
    rf",\s*{_NAME}\s*=",
    rf"\bTEST(?:_F|_P)?\({_NAME},",
)]
_ENUM = re.compile(r"\benum\b[^{;]*\{([^}]*)\}")
_USED = re.compile(rf"(?<![\w.:])(?<!->)(?:([A-Za-z_]\w*)::)*{_NAME}\b")
_SPACE = re.compile(r"^\s*(?:inline\s+)?namespace\s+([\w:]+)\s*\{", re.MULTILINE)


class _File:
    def __init__(self, text):
        self.text = _NOISE.sub(" ", text)
        self.spaces = set(_SPACE.findall(self.text))
        self.words = set(re.findall(r"\w+", self.text))

    def declared(self):
        return {match[1] for pattern in _DECLARED for match in pattern.finditer(self.text)}

    def local(self):
        found = {match[1] for pattern in _LOCAL for match in pattern.finditer(self.text)}
        return found.union(*(re.findall(_NAME, body) for body in _ENUM.findall(self.text)))


def _means(using, qualifier, declaring):
    """Whether a name in the file `using`, behind `qualifier`::, can be that of the header `declaring`."""
    if qualifier:
        return any(space.split("::")[-1] == qualifier for space in declaring.spaces)
    return any(inner == outer or inner.startswith(outer + "::") for outer in declaring.spaces for inner in using.spaces)


def unreached(texts, includes):
    """(file, name, header) of each use. `texts`: of each source file; `includes`: the files of ours that a file includes."""
    files = {name: _File(text) for name, text in texts.items()}
    homes = {}
    for header in files:
        if header.endswith((".h", ".cuh")):
            for name in files[header].declared():
                homes.setdefault(name, []).append(header)
    homes = {name: headers[0] for name, headers in homes.items() if len(headers) == 1}
    for file, read in files.items():
        near, todo = {file}, [file]
        while todo:
            new = {header for header in includes(todo.pop()) if header in files} - near
            near |= new
            todo += new
        found = {}
        for qualifier, name in _USED.findall(read.text):
            home = homes.get(name)
            if home is not None and home not in near and _means(read, qualifier, files[home]):
                found[name] = home
        for header in near - {file}:
            for name in found.keys() & files[header].words:
                del found[name]
        local = read.local() if found else set()  # Asked for last: it takes longest.
        for name, home in sorted(found.items()):
            if name not in local:
                yield file, name, home
