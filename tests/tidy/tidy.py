#!/usr/bin/env python3
"""Reads the tree and says where it breaks the rules of rules.py: tidy.py [ROOT]. Exit code 1 when it does."""
import fnmatch
import pathlib
import re
import subprocess
import sys

import names
import rules

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


class Tree:
    """The files of a source tree that git knows or would take, with their texts."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        if (self.root / ".git").exists():
            listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self.root,
                                    check=True, capture_output=True).stdout.decode().split("\0")
            self.files = sorted({f for f in listed if f and (self.root / f).is_file()})
        else:
            self.files = sorted(str(f.relative_to(self.root)) for f in self.root.rglob("*") if f.is_file()
                                and not {".venv", "build", "__pycache__"} & set(f.relative_to(self.root).parts))
        self.known = frozenset(self.files)
        self._texts = {}
        self._includes = {}

    def text(self, file):
        if file not in self._texts:
            self._texts[file] = (self.root / file).read_text(encoding="utf-8", errors="replace")
        return self._texts[file]

    def with_suffix(self, *suffixes):
        return [f for f in self.files if f.endswith(suffixes)]

    def includes(self, file):
        if file not in self._includes:
            self._includes[file] = [(self.text(file).count("\n", 0, match.start(0)) + 1, match[1] or match[2])
                                    for match in INCLUDE.finditer(self.text(file))]
        return self._includes[file]


def is_in(path, row):
    return row == "" or path == row or path.startswith(row + "/")


def row_of(file):
    folder = file.rpartition("/")[0]
    if folder + "/." in rules.MAY_INCLUDE:
        return folder + "/."
    found = [row for row in rules.MAY_INCLUDE if is_in(file, row)]
    return max(found, key=len) if found else None


def external_of(header):
    found = [prefix for prefix in rules.EXTERNAL if header.startswith(prefix)]
    return max(found, key=len) if found else None


def origin(tree, header):
    """The file of ours that an #include names; None for somebody else's."""
    if header.startswith("longreach/v1/"):
        return "proto/" + header
    return header if header in tree.known else None


def check_includes(tree):
    made_by_cmake = set(re.findall(r"[\w.]+\.h\b", "\n".join(map(tree.text, tree.with_suffix("CMakeLists.txt", ".cmake")))))
    for file in tree.with_suffix(".cc", ".h", ".cu", ".cuh"):
        row = row_of(file)
        if row is None:
            yield f"{file}: lies in no folder of the table MAY_INCLUDE"
            continue
        folder = row.removesuffix("/.")
        for line, header in tree.includes(file):
            where = f"{file}:{line}"
            ours = origin(tree, header)
            if ours is not None:
                same = is_in(ours, folder) if row == folder else ours.rpartition("/")[0] == folder
                allowed = rules.MAY_INCLUDE[row]
                if not same and not any(is_in(ours, other) for other in allowed):
                    yield f"{where}: {row} may not include \"{header}\", only {', '.join(allowed) or 'the standard library'}"
                elif header.endswith(".grpc.pb.h") and not any(is_in(row, other) for other in rules.SERVICES):
                    yield f"{where}: {row} may not include \"{header}\", only {', '.join(rules.SERVICES)} may"
                continue
            if "/" in header and header.split("/")[0] in rules.TOP_LEVEL:
                made = header.rpartition("/")[2] in made_by_cmake or header.replace(".pb.h", ".proto") in tree.known
                if not made:
                    yield f"{where}: there is no file {header}"
                continue
            if header.startswith("."):
                yield f"{where}: \"{header}\" is not named from the root"
                continue
            external = external_of(header)
            if external is not None:
                allowed = rules.EXTERNAL[external]
                if not any(is_in(row, other) for other in allowed):
                    yield f"{where}: {row} may not include <{header}>, only {', '.join(allowed) or 'nobody'} may"
                if external == "fmt/" and not file.endswith(".cc"):
                    yield f"{where}: <{header}> belongs into .cc files only: headers meet torch's own fmt"


def reached(tree, file, seen):
    """All headers of others that a file brings in, directly or through ours."""
    found = set()
    for _, header in tree.includes(file):
        ours = origin(tree, header)
        if ours is None:
            found.add(header)
        elif ours.endswith(".pb.h"):
            found.add("google/protobuf/message.h")
        elif ours not in seen:
            seen.add(ours)
            found |= reached(tree, ours, seen)
    return found


def check_apart(tree):
    for file in tree.with_suffix(".cc", ".h", ".cu"):
        headers = reached(tree, file, {file})
        for one, other, why in rules.APART:
            if any(h.startswith(one) for h in headers) and any(h.startswith(other) for h in headers):
                yield f"{file}: brings in both <{one}...> and <{other}...>: {why}"
        if any(h.startswith("torch/") for h in headers) and not any(is_in(file, row) for row in rules.TORCH_ROWS):
            yield f"{file}: brings in <torch/...>, which only {', '.join(rules.TORCH_ROWS)} may"


def check_names(tree):
    texts = {file: tree.text(file) for file in tree.with_suffix(".cc", ".h", ".cu", ".cuh")}
    includes = {file: [origin(tree, header) for _, header in tree.includes(file)] for file in texts}
    for file, name, header in names.unreached(texts, includes.__getitem__):
        yield f'{file}: says {name} without "{header}", neither included nor brought in'


def check_texts(tree):
    for file in tree.files:
        name = pathlib.PurePath(file)
        if (name.suffix not in rules.TEXTS and name.name not in ("Makefile", "run")) or is_in(file, rules.DATA):
            continue
        lines = tree.text(file).split("\n")
        if lines[-1] != "":
            yield f"{file}: the last line has no end"
        for number, line in enumerate(lines, 1):
            if line != line.rstrip():
                yield f"{file}:{number}: blanks at the end of the line"
            if "\t" in line and name.name != "Makefile":
                yield f"{file}:{number}: a tab"
        if name.suffix in rules.SOURCES and len(lines) - 1 > rules.MAX_LINES:
            yield f"{file}: {len(lines) - 1} lines, more than {rules.MAX_LINES}: split it"
        if name.suffix in (".h", ".cuh") and not re.search(r"^#pragma once$", tree.text(file), re.MULTILINE):
            yield f"{file}: no #pragma once"


def check_top_level(tree):
    for entry in sorted({f.split("/")[0] for f in tree.files} - rules.TOP_LEVEL):
        yield f"{entry}: the top level is {', '.join(sorted(rules.TOP_LEVEL))}, nothing else"


def check_roles(tree):
    for file in [f for f in tree.with_suffix(".proto") if is_in(f, "proto")]:
        text = re.sub(r"//[^\n]*", "", tree.text(file))
        for rpc in re.finditer(r"\brpc\s+(\w+)\s*\([^)]*\)\s*returns\s*\([^)]*\)\s*(;|\{[^}]*\})", text):
            role = re.search(r"option\s*\(role\)\s*=\s*(\w+)", rpc[2])
            if role is None or role[1] == "ROLE_UNSPECIFIED":
                yield f"{file}: rpc {rpc[1]} has no role"


def check_sources_listed(tree):
    """Every .cc and .cu is named, or matched by a glob, in the CMakeLists.txt of its folder or one above."""
    patterns = []
    for cmake in tree.with_suffix("CMakeLists.txt"):
        folder = cmake.rpartition("/")[0]
        text = re.sub(r"#[^\n]*", "", tree.text(cmake))
        for word in re.split(r'[\s()";]+', text):
            if not word.endswith((".cc", ".cu")):
                continue
            if word.startswith("${CMAKE_SOURCE_DIR}/"):
                patterns.append(word.removeprefix("${CMAKE_SOURCE_DIR}/"))
            else:
                word = word.removeprefix("${CMAKE_CURRENT_SOURCE_DIR}/")
                patterns.append(f"{folder}/{word}" if folder else word)
    for file in tree.with_suffix(".cc", ".cu"):
        if not any(p == file or ("*" in p and p.count("/") == file.count("/") and fnmatch.fnmatch(file, p)) for p in patterns):
            yield f"{file}: no CMakeLists.txt names it"


def check_deploy(tree):
    """What is copied exists; package lists are sorted; all sets of Python packages fit into one environment."""
    for file in tree.with_suffix(".Containerfile"):
        for number, line in enumerate(tree.text(file).split("\n"), 1):
            copied = re.match(r"COPY\s+(?!--from)(.*)\s+\S+$", line)
            for path in copied[1].split() if copied else []:
                if path != "." and not (tree.root / path).exists():
                    yield f"{file}:{number}: copies {path}, which does not exist"
    for file in tree.with_suffix("packages.txt"):
        packages = [line for line in tree.text(file).split("\n") if line and not line.startswith("#")]
        if packages != sorted(set(packages)):
            yield f"{file}: not sorted, or something twice"
    pinned = {}
    for file in [f for f in tree.with_suffix(".txt") if f.startswith("deploy/requirements/")]:
        for package, version in re.findall(r"^(\S+)==(\S+)", tree.text(file), re.MULTILINE):
            other = pinned.setdefault(package, (version, file))
            if other[0] != version:
                yield f"{file}: {package}=={version}, but {other[1]} has {other[0]}, and they share an environment"
    cpu, cuda = (f"deploy/requirements/{name}.txt" for name in ("cpu", "cuda"))
    if cpu in tree.files and cuda in tree.files:
        for package in re.findall(r"^\S+==\S+.*\n(?: +--hash.*\n)*", tree.text(cpu), re.MULTILINE):
            if package not in tree.text(cuda):
                yield f"{cpu}: {package.split()[0]} is not the same in {cuda}, of which it must be a part"


def check_links(tree):
    """Links between documents lead somewhere."""
    for file in tree.with_suffix(".md"):
        for number, line in enumerate(tree.text(file).split("\n"), 1):
            for target in re.findall(r"\]\(([^)#\s]+)", line):
                if ":" not in target and not (tree.root / file).parent.joinpath(target).exists():
                    yield f"{file}:{number}: links to {target}, which does not exist"


def check_variables(tree):
    """Variables of the environment that are read are known by name."""
    if rules.VARIABLES not in tree.files:
        return
    known = re.findall(r'^ *"([A-Z_]+)",', tree.text(rules.VARIABLES), re.MULTILINE)
    if known != sorted(set(known)):
        yield f"{rules.VARIABLES}: not sorted, or something twice"
    read = {"program": re.compile(r'"LONGREACH_([A-Z0-9_]+)=?"'), "script": re.compile(r"(?<!-D)\bLONGREACH_([A-Z0-9_]+)"),
            "python": re.compile(r'\benviron\b[^"\n]*"LONGREACH_([A-Z0-9_]+)"')}
    for kind, rows in rules.VARIABLES_READ.items():
        suffixes = {"program": (".cc", ".h"), "python": (".py",)}.get(kind, "")
        for file in [f for f in tree.files if f.endswith(suffixes) and any(is_in(f, row) for row in rows)]:
            for name in sorted(set(read[kind].findall(tree.text(file))) - set(known)):
                yield f"{file}: reads LONGREACH_{name}, which {rules.VARIABLES} lacks"


CHECKS = [check_includes, check_apart, check_names, check_texts, check_top_level, check_roles, check_sources_listed, check_deploy,
          check_links, check_variables]


def problems(root):
    tree = Tree(root)
    return [problem for check in CHECKS for problem in check(tree)], len(tree.files)


if __name__ == "__main__":
    found, files = problems(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    print("\n".join(found))
    print(f"tidy: {files} files, {len(found)} problems")
    sys.exit(1 if found or files == 0 else 0)
