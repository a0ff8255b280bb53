"""S9: what the programs are made of is named, pinned and known."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import BIN, HAS_WORKER, ROOT

REQUIREMENTS = sorted((ROOT / "deploy/requirements").glob("*.txt"))
# What every Debian has, and the packages of the C++ runtime.
BASE = {"libc6", "libgcc-s1", "libstdc++6"}


def lists(path):
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def pinned():
    """(file, package with version, its hashes) of every requirement."""
    found = []
    for file in REQUIREMENTS:
        text = "\n".join(lists(file)).replace("\\\n", " ")
        for line in text.splitlines():
            words = line.split()
            found.append((file.name, words[0], words[1:]))
    return found


def libraries(program):
    """Names of the libraries that a program asks for, and where the loader finds each."""
    asked = set(re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout))
    found = dict(re.findall(r"^\s*(\S+) => (\S+)", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout, re.MULTILINE))
    return {name: found[name] for name in asked if name in found}


def owners_of(paths):
    """The Debian package of each file."""
    # Debian 12 knows a library by its path before or after the merge of /lib and /usr/lib.
    names = {name: path for path in paths for name in (path, path.removeprefix("/usr"), "/usr" + path)}
    told = subprocess.run(["dpkg", "-S", *sorted(names)], capture_output=True, text=True).stdout
    owners = {}
    for package, name in re.findall(r"^(\S+?)(?::\w+)?: (\S+)$", told, re.MULTILINE):
        if name in names:
            owners[names[name]] = package
    return owners


def with_dependencies(packages):
    """Packages, and all that apt brings with them."""
    found, new = set(), set(packages)
    while new:
        found |= new
        told = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}, ${Pre-Depends}\n", *sorted(new)], capture_output=True, text=True).stdout
        new = {re.split(r"[ :(]", one.strip())[0] for one in re.split(r"[,|\n]", told) if one.strip()} - found
    return found


@pytest.mark.fault("S9", aim="every Python package with hashes, every library from a listed Debian package")
def test_what_the_programs_are_made_of(fault):
    requirements = pinned()
    assert len(requirements) >= 20 and len(REQUIREMENTS) >= 3
    for file, package, hashes in requirements:
        assert re.fullmatch(r"[\w.-]+==[\w.+]+", package), f"{file}: {package}"
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), f"{file}: {package}"

    # Every installation asks for these hashes, and takes nothing that is not listed.
    texts = [ROOT / "Makefile", ROOT / ".ci/run", *(ROOT / "deploy").rglob("*.sh"), *(ROOT / "deploy").rglob("*.Containerfile")]
    installs = [line for text in texts for line in text.read_text().splitlines() if re.search(r"pip3? install", line)]
    assert installs and all("--require-hashes" in line and "--no-deps" in line and "--only-binary=:all:" in line for line in installs)
    assert re.search(r"grpcurl@\$GRPCURL_VERSION", (ROOT / "deploy/setup.sh").read_text()), "pinned; Go's checksum database has its hash"

    for file in (ROOT / "deploy/packages.txt", ROOT / "deploy/container/runtime_packages.txt"):
        assert lists(file) == sorted(set(lists(file))), file
    # The list of what the containers run with is of Debian 12; elsewhere the same libraries have other packages.
    debian_12 = 'VERSION_ID="12"' in pathlib.Path("/etc/os-release").read_text()
    runtime = with_dependencies(set(lists(ROOT / "deploy/container/runtime_packages.txt")) | BASE)
    programs = ["longreach", "longreach-scheduler"] + (["longreach-trainer", "longreach-worker"] if HAS_WORKER else [])
    # What lies in .venv is of the pinned wheels.
    needed = {program: {name: path for name, path in libraries(BIN / program).items() if ".venv" not in path and "torch" not in path}
              for program in programs}
    owners = owners_of({path for found in needed.values() for path in found.values()})
    for program, found in needed.items():
        for name, path in found.items():
            assert path in owners, f"{program} needs {name}, and no package has {path}"
            assert not debian_12 or owners[path] in runtime, f"{program} needs {name} of {owners[path]}, which is in no list of what it runs with"
    count = sum(map(len, needed.values()))
    assert count >= 10
    fault.reached(f"{len(requirements)} pinned requirements with hashes; {count} libraries of {len(programs)} programs from listed packages")


@pytest.mark.fault("S9", aim="the same .deb twice")
def test_the_same_packages_twice(fault, tmp_path):
    hashes = []
    for name, offset in (("first", "+12"), ("second", "-7")):
        # Elsewhere, later, by somebody with other habits.
        made = subprocess.run(["bash", "-c", 'umask 077; exec "$0" "$@"', ROOT / "deploy/deb.sh", BIN.parent, tmp_path / name], capture_output=True, text=True,
                              env={**os.environ, "TZ": f"UTC{offset}", "LC_ALL": "C.UTF-8" if name == "first" else "C", "TMPDIR": str(tmp_path)})
        assert made.returncode == 0, made.stderr
        hashes.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (tmp_path / name).iterdir()})
    assert hashes[0] == hashes[1] and len(hashes[0]) == (2 if HAS_WORKER else 1)
    fault.reached(f"{len(hashes[0])} packages of one build, packed twice in other places, time zones and locales: the same bytes")


@pytest.mark.fault("S9", aim="a bill of materials that names every library")
def test_what_a_package_is_made_of_is_told_with_it(fault, tmp_path):
    told = []
    for folder in ("first", "second"):
        tree = tmp_path / folder / "opt"
        (tree / "bin").mkdir(parents=True)
        for program in ("longreach", "longreach-scheduler"):
            shutil.copy(BIN / program, tree / "bin")
        made = subprocess.run([ROOT / "deploy/sbom.py", "longreach", "1.2.3~x", tree], capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1764000000"})
        assert made.returncode == 0, made.stderr
        told.append(made.stdout)
    assert told[0] == told[1], "in another place it is the same"
    bill = json.loads(told[0])
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["creationInfo"]["created"] == "2025-11-24T16:00:00Z"

    by_id = {package["SPDXID"]: package for package in bill["packages"]}
    assert len(by_id) == len(bill["packages"]), "no id stands for two"
    related = {}
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= {*by_id, bill["SPDXID"]}
        other = relation["spdxElementId"] if relation["relationshipType"] == "BUILD_DEPENDENCY_OF" else relation["relatedSpdxElement"]
        related.setdefault(relation["relationshipType"], {})[by_id[other]["name"]] = by_id[other]["versionInfo"]
    assert related["DESCRIBES"] == {"longreach": "1.2.3~x"}
    loaded = {path for program in ("longreach", "longreach-scheduler") for path in libraries(BIN / program).values()}
    needed = set(owners_of(loaded).values())
    assert needed and needed <= set(related["DYNAMIC_LINK"]), "every library has its package"
    assert {"libboost-dev", "libcli11-dev", "nlohmann-json3-dev"} <= set(related["BUILD_DEPENDENCY_OF"])
    for name, version in {**related["DYNAMIC_LINK"], **related["BUILD_DEPENDENCY_OF"]}.items():
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", name], capture_output=True, text=True, check=True).stdout.splitlines()
        assert version in installed, name
    fault.reached(f"{len(related['DYNAMIC_LINK'])} packages of libraries and {len(related['BUILD_DEPENDENCY_OF'])} of headers, each with its version")


def bill_of(tree, *site):
    return subprocess.run([ROOT / "deploy/sbom.py", "longreach", "1", tree, *site], capture_output=True, text=True)


def test_a_library_that_no_package_has_is_told_of_or_refused(tmp_path):
    (tmp_path / "bin").mkdir()
    refused = bill_of(tmp_path)
    assert refused.returncode == 1 and "there are no programs in" in refused.stderr and refused.stdout == ""

    def link(name, *options, text="int main(void) { return 0; }"):
        subprocess.run(["gcc", "-o", tmp_path / name, "-x", "c", "-", *options], input=text, text=True, check=True)

    (tmp_path / "lib").mkdir()
    link("lib/libours.so", "-shared", text="")
    link("bin/worker", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/../lib", f"-L{tmp_path}/lib", "-lours")

    def kinds(*site, where=tmp_path):
        made = bill_of(where, *site)
        assert made.returncode == 0, made.stderr
        bill = json.loads(made.stdout)
        names = {package["SPDXID"]: (package["name"], package["versionInfo"]) for package in bill["packages"]}
        return {(relation["relationshipType"], *names[relation["relatedSpdxElement"]]) for relation in bill["relationships"]}

    # What lies beside the programs is LibTorch's, of the wheels where there are such.
    assert ("CONTAINS", "LibTorch", "unknown") in kinds()
    (tmp_path / "site/torch-2.11.0.dist-info").mkdir(parents=True)
    assert {found for found in kinds(tmp_path / "site") if found[0] == "CONTAINS"} == {("CONTAINS", "torch", "2.11.0")}
    # Of neither: at least its name is told; and one that is not found is none that could be told of.
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "bin").rename(tree / "bin")
    refused = bill_of(tree)
    assert refused.returncode == 1 and "does not find libours.so" in refused.stderr and refused.stdout == ""
    link("tree/bin/worker", "-Wl,--no-as-needed", f"-Wl,-rpath,{tmp_path}/lib", f"-L{tmp_path}/lib", "-lours")
    assert ("DYNAMIC_LINK", "libours.so", "unknown") in kinds(where=tree)
