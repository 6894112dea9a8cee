#!/usr/bin/env python3
"""Functions of the product that no program and no library of it links: the linker leaves them out
(--gc-sections), so only tests call them, or nobody.

Those with a reason to be there are in scripts/unused.txt, a line each: the name as this script
prints it, a tab, the reason; a "*" at the end of the name stands for any. Exits 7 when there are
others, or when a line names none.
"""
import argparse
import fnmatch
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REASONS = os.path.join(ROOT, "scripts", "unused.txt")
# Written by protoc and flatc, by the compiler, or by a template.
GENERATED = re.compile(r"^sluice::(pb|fb|onnx)::|::~|::operator=\(|\[clone|::\{lambda|^[^(]*<")
TESTING = ("testing", "fuzz")  # in the names of libraries


def functions(path):
    """The mangled names of the functions in an archive, program or library."""
    shown = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True,
                           check=True).stdout
    rows = [line.split() for line in shown.splitlines()]
    return {row[2] for row in rows if len(row) == 3 and row[1] in "TtWw"}


def unlinked(build):
    """The names, without parameters, of functions of our archives that nothing links."""
    made, linked = set(), set()
    for path in glob.glob(os.path.join(build, "**", "lib*.a"), recursive=True):
        if not any(word in os.path.basename(path) for word in TESTING):
            made |= functions(path)
    for path in (glob.glob(os.path.join(build, "bin", "sluice*")) +
                 glob.glob(os.path.join(build, "lib", "*.so"))):
        linked |= functions(path)
    names = subprocess.run(["c++filt"], input="\n".join(sorted(made - linked)), text=True,
                           capture_output=True, check=True).stdout.splitlines()
    names = {name.replace("(anonymous namespace)", "here").replace("[abi:cxx11]", "")
             for name in names if not GENERATED.search(name.split("(anonymous")[0])}
    return sorted({name.split("(")[0] for name in names
                   if name.startswith("sluice::") and not GENERATED.search(name)})


def reasons():
    with open(REASONS, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t") for line in file if not line.startswith("#"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "out", "release"),
                        help="the folder of a release build, out/release")
    known, found = reasons(), unlinked(parser.parse_args().build)
    others = [name for name in found if not any(fnmatch.fnmatchcase(name, row) for row in known)]
    stale = [row for row in known if not fnmatch.filter(found, row)]
    for name in others:
        print(f"unused: {name}: no program links it, and scripts/unused.txt gives no reason")
    for row in stale:
        print(f"unused: scripts/unused.txt: no function {row} is left over")
    return 7 if others or stale else 0


if __name__ == "__main__":
    sys.exit(main())
