#!/usr/bin/env python3
"""Says what a package of ours is made of, as SPDX 2.3 in JSON: what its programs load, what lies in it, and what was compiled into it.

    deploy/sbom.py NAME VERSION TREE [SITE] > NAME.spdx.json

TREE holds the programs, in a folder bin. What they load comes from Debian packages, which dpkg knows, or lies in TREE; then it is of the wheels in SITE, a
folder site-packages. Headers are those of deploy/packages.txt. The same build gives the same bytes: the time is SOURCE_DATE_EPOCH, and no path is told.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

WHEELS = ["torch", "nvidia_cuda_runtime", "nvidia_cuda_cupti"]  # Of these are the libraries of the wheel's LibTorch.
NOT_COMPILED_IN = {"dpkg-dev", "libgmock-dev", "libgtest-dev"}  # Tools, and what tests alone have.
ROOT = pathlib.Path(__file__).resolve().parent.parent


def refuse(why):
    sys.exit(f"error: sbom.py: {why}")


def loaded(programs):
    """Every library that the loader finds for them."""
    found = set()
    for program in programs:
        told = subprocess.run(["ldd", program], capture_output=True, text=True)
        for missing in re.findall(r"(\S+) => not found", told.stdout):
            refuse(f"{program} does not find {missing}")
        found |= set(re.findall(r"(?:=> |^\s*)(/\S+) \(", told.stdout, re.MULTILINE))
    return {os.path.normpath(path) for path in found}


def owners(paths):
    """The Debian packages of files, and the files that are of none."""
    # Debian 12 knows a library by its path before or after the merge of /lib and /usr/lib.
    names = {name: path for path in paths for name in (path, os.path.realpath(path), path.removeprefix("/usr"), "/usr" + path)}
    told = subprocess.run(["dpkg", "-S", *sorted(names)], capture_output=True, text=True).stdout
    found = {names[name]: owner for owner, name in re.findall(r"^([^\s:,]+)(?::\w+)?: (\S+)$", told, re.MULTILINE) if name in names}
    return set(found.values()), paths - set(found)


def debian(names):
    """What dpkg says of packages that are installed."""
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    vendor, version_id = (release.get(key, "").strip('"') for key in ("ID", "VERSION_ID"))
    vendor = vendor or "debian"  # Others that derive from it build packages of their own.
    distribution = f"{vendor}-{version_id}" if version_id else vendor
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${db:Status-Status}\n"
    told = subprocess.run(["dpkg-query", "-W", "-f", form, *sorted(names)], capture_output=True, text=True).stdout
    for line in told.splitlines():
        name, version, architecture, source, of_source, status = line.split("\t")
        if status == "installed":
            purl = f"pkg:deb/{quoted(vendor)}/{quoted(name)}@{quoted(version)}?arch={architecture}&distro={distribution}"
            yield package(name, version, purl, sourceInfo=f"built from the source package {source} {of_source}")


def wheels(site):
    """Those that the libraries in the tree are of, by name and version as pip has installed them."""
    for name in WHEELS:
        for folder in sorted(pathlib.Path(site).glob(f"{name}-*.dist-info")):
            version = folder.name.removeprefix(f"{name}-").removesuffix(".dist-info")
            pypi = name.replace("_", "-")
            yield package(pypi, version, f"pkg:pypi/{pypi}@{quoted(version)}")


def quoted(text):
    return urllib.parse.quote(text, safe="")


def package(name, version, purl=None, **more):
    made = {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", f"{name}-{version}"), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **more}
    if purl is not None:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return made


def main(name, version, tree, site=None):
    tree = os.path.normpath(os.path.realpath(tree))
    programs = sorted(path for path in pathlib.Path(tree).rglob("bin/*") if path.is_file() and not path.is_symlink())
    if not programs:
        refuse(f"there are no programs in {tree}")
    libraries = loaded(programs)
    own = {path for path in libraries if os.path.realpath(path).startswith(tree + "/")}
    contained = list(wheels(site)) if site else []
    if own and not contained:
        contained = [package("LibTorch", "unknown")]  # One of the user's own (LONGREACH_LIBTORCH).
    of_debian, others = owners(libraries - own)
    linked = [*debian(of_debian), *(package(os.path.basename(path), "unknown") for path in sorted(others))]
    headers = [line for line in (ROOT / "deploy/packages.txt").read_text().splitlines() if line.endswith("-dev") and line not in NOT_COMPILED_IN]
    compiled_in = list(debian(headers))

    ours = {**package(name, version), "licenseDeclared": "Apache-2.0"}
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": ours["SPDXID"]}]
    for found, kind in ((linked, "DYNAMIC_LINK"), (contained, "CONTAINS")):
        relations += [{"spdxElementId": ours["SPDXID"], "relationshipType": kind, "relatedSpdxElement": one["SPDXID"]} for one in found]
    relations += [{"spdxElementId": one["SPDXID"], "relationshipType": "BUILD_DEPENDENCY_OF", "relatedSpdxElement": ours["SPDXID"]} for one in compiled_in]
    packages = [ours, *linked, *contained, *compiled_in]
    created = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    digest = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()
    print(json.dumps({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
                      "documentNamespace": f"https://longreach.invalid/spdx/{quoted(name)}-{quoted(version)}-{digest}",
                      "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: longreach-sbom"]},
                      "packages": packages, "relationships": relations}, indent=1))


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
