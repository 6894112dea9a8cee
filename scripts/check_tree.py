#!/usr/bin/python3
"""Checks the tracked files for scripts/check: layers, names, words, links, dependencies, folders,
fields.
Prints one line for each fault and exits 7 if there is any.

The tables come first; the checks below only apply them.
"""
import os
import re
import subprocess
import sys

from check_fields import check_fields
from check_local_names import check_local_names
from check_style import check_style
from file_kinds import is_bench, is_test

# ---- which folder may include which (docs: the arrow of the design, section 1) -------------------

BASE, SYMBOLIC, IR, OPS = "common/base", "common/symbolic", "common/ir", "common/ops"
TENSORFILE, WIRE, LOOP = "common/tensorfile", "common/wire", "common/loop"
STORE, SANDBOX = "common/store", "common/sandbox"
UP_TO_OPS = [BASE, SYMBOLIC, IR, OPS]
READERS = UP_TO_OPS + ["common/text", "common/graphfile", "common/eval", TENSORFILE]
UP_TO_PASS = READERS + [LOOP, "common/target", "common/verify", "common/pass", "common/rules",
                        "common/passes_host"]
UP_TO_STAGE = UP_TO_PASS + ["common/stage"]
# the bytes of a compiled model: no device, no kernels
OMFILE, OMCHECK = "common/omfile", "common/omcheck"
KERNEL_ABI = ["runtime/device/kernel_abi.h"]  # the contract between generated code and the device
RUNTIME = READERS + [OMFILE, "common/target", "runtime"]

# The longest folder that matches a file counts. Every folder may include itself. No folder of
# common includes runtime.
ALLOWED = {
    "common/base": [],
    "common/sandbox": [BASE],
    "common/store": [BASE],
    "common/symbolic": [BASE],
    "common/ir": [BASE, SYMBOLIC],
    "common/ops": [BASE, SYMBOLIC, IR],
    "common/loop": UP_TO_OPS,
    "common/tensorfile": [BASE],
    "common/wire": [BASE, SANDBOX],
    "common/omfile": [BASE, SYMBOLIC],
    "common/omcheck": [BASE, SYMBOLIC, OMFILE],
    "common/text": UP_TO_OPS,
    "common/graphfile": UP_TO_OPS,
    "common/eval": UP_TO_OPS,
    "common/loop": UP_TO_OPS,
    "common/target": READERS + [LOOP],
    "common/verify": READERS + ["common/target"],
    "common/pass": READERS + ["common/target", "common/verify"],
    "common/rules": READERS + ["common/pass"],
    "common/passes_host": READERS + [SANDBOX, "common/verify", "common/pass", "common/rules"],
    "common/stage": UP_TO_PASS,
    "common/python": UP_TO_STAGE + ["common/tools/diff.h"],
    "common/tools": UP_TO_STAGE + [OMFILE, OMCHECK],
    "stages": UP_TO_STAGE,
    "stages/subgraph-optimize": UP_TO_STAGE + KERNEL_ABI + [STORE, OMFILE],
    "stages/build": UP_TO_STAGE + KERNEL_ABI + [OMFILE, OMCHECK],
    "stages/build/plan_memory": [BASE, OMFILE, "common/tools"],  # a tool: no graph, no stage
    "runtime": RUNTIME,
    "runtime/loader": [BASE, SYMBOLIC, OMFILE, "runtime/device"],
    "runtime/device": [BASE, SYMBOLIC, "common/target/profile.h"],
    "orchestrator": [BASE, STORE, SANDBOX, WIRE, TENSORFILE, OMFILE, "common/graphfile/header.h",
                     "common/target/profile.h", "common/rules/rule_parser.h",
                     "common/passes_host/pass_file.h", "common/passes_host/inherited_hosts.h"],
    "scripts": [BASE, TENSORFILE],
    "tests": ["common", "runtime", "stages", "orchestrator/farm/farm_job.h",
              "orchestrator/compile/sent_stage.h"],
}
# A test beside its code, and what several share in testing/, may also read and print graphs,
# evaluate and verify them; those of stages may call kernels.
ALSO_IN_TESTS = {
    "common": UP_TO_PASS + [OMFILE],
    "stages": UP_TO_PASS + KERNEL_ABI + [OMFILE, "runtime/device/kernel_image.h",
                                                  "runtime/device/flush_denormals.h"],
    "runtime": UP_TO_PASS + [OMFILE],
    "orchestrator": [],
}

# Headers of other projects that only some files may include: pattern -> folders or files.
ONLY_IN = {
    r"zmq\.hpp|zmq\.h": ["common/wire/"],
    r"graph_generated\.h": ["common/graphfile/"],
    r"nlohmann/.*": ["common/base/json.cc"],
    r"llvm/.*|llvm-c/.*": ["stages/subgraph-optimize/"],
    r"pybind11/.*": ["common/python/"],
    r"seccomp\.h": ["common/sandbox/"],
    r"openssl/.*": ["common/base/digest.cc"],
    r"curl/.*": ["orchestrator/store/lazy_curl.h"],
    r"zlib\.h": ["common/tensorfile/", "common/graphfile/", "common/wire/farm_frames.cc"],
    r"sqlite3\.h": ["orchestrator/farm/database.cc"],
    r"microhttpd\.h": ["orchestrator/farm/metrics_server.cc"],
}

# Words that have no place in finished work, and folders of one machine. (Spelled in pieces: this
# file is checked too.)
FORBIDDEN = {
    r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b": "unfinished work",
    r"(?<![\w.])/(work|ho" r"me|ro" r"ot)/\w": "a path of one machine",
}
MAIN_LINES, FILE_LINES = 60, 900


# ---- the checks ----------------------------------------------------------------------------------


def check_layers(path, text):
    if not path.endswith((".cc", ".h")):
        return
    folder = os.path.dirname(path)
    own = longest(folder)
    for line, header in includes(text):
        for pattern, places in ONLY_IN.items():
            if re.fullmatch(pattern, header) and not path.startswith(tuple(places)):
                yield f"{path}:{line}: only {', '.join(places)} may include {header}"
        if not header.startswith(("common/", "stages/", "runtime/", "orchestrator/", "scripts/",
                                  "tests/")):
            continue
        allowed = ALLOWED.get(own, []) + [own_root(path)]
        if is_test(path):
            allowed = allowed + ALSO_IN_TESTS.get(path.split("/")[0], [])
        if own is None or not any(inside(header, place) for place in allowed):
            yield f"{path}:{line}: {own or folder} may not include {header}"
        if is_test(header) and not (is_test(path) or is_bench(path) or path.startswith("tests/")):
            yield f"{path}:{line}: only tests and benchmarks may include {header}"


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
        if found:
            yield number, found.group(1)


def longest(folder):
    matches = [key for key in ALLOWED if folder == key or folder.startswith(key + "/")]
    return max(matches, key=len, default=None)


def own_root(path):
    """stages/optimize/passes/x.cc belongs to stages/optimize, common/ir/x.cc to common/ir,
    runtime/loader/x.cc to runtime/loader."""
    parts = path.split("/")
    return parts[0] if parts[0] in ("orchestrator", "scripts", "tests") else "/".join(parts[:2])


def inside(header, place):
    return header.startswith(place if place.endswith("_") else place + "/") or header == place


def check_words(path, text):
    if path == "LICENSE":
        return
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in FORBIDDEN.items():
            if re.search(pattern, line):
                yield f"{path}:{number}: {what}: {line.strip()[:80]}"


def check_size(path, text):
    lines = text.count("\n")
    if os.path.basename(path) == "main.cc" and lines > MAIN_LINES:
        yield f"{path}: a main has at most {MAIN_LINES} lines, this one {lines}"
    if path.endswith((".cc", ".h")) and lines > FILE_LINES:
        yield f"{path}: {lines} lines; {FILE_LINES} is the limit, split it by purpose"


ROW = re.compile(r'\{\s*"([a-z0-9-]+)"\s*,\s*"[^"]*"(?:\s*"[^"]*")*\s*,\s*&?([a-z0-9_]+)\b')


# A pass that is a file of rules.
RULE_ROW = re.compile(r'rule_pass\(\s*"([a-z0-9-]+)"')


def flags_of(text):
    """The passes of a table, in its order."""
    rows = [(row.start(), row[1]) for pattern in (ROW, RULE_ROW) for row in pattern.finditer(text)]
    return [flag for _, flag in sorted(rows)]


def check_passes(files):
    """One name in five places: the row's flag, its function, the file, the header's line, a unit or
    golden test; and in the table of all stages' passes."""
    for pipeline in (path for path in files if re.fullmatch(r"stages/[^/]+/pipeline\.cc", path)):
        stage = os.path.dirname(pipeline)
        under = [path for path in files if path.startswith(stage + "/")]
        rows = ROW.findall(files[pipeline])
        if not rows:
            yield f'{pipeline}: no row {{"flag", "what it does", function}} found'
        for flag, function in rows:
            yield from check_row(files, under, pipeline, flag, function)
        for flag in RULE_ROW.findall(files[pipeline]):
            function = flag.replace("-", "_")
            if not any(os.path.basename(path) == f"{function}.rules" for path in under):
                yield f"{pipeline}: pass '{flag}' has no file {function}.rules below its stage"
            yield from check_pass_test(files, under, pipeline, flag, function)
        in_table = {function for _, function in rows}
        for path in under:
            name = os.path.basename(path)[:-3]
            if ("/passes/" in path and path.endswith(".cc") and not name.endswith("_test") and
                name not in in_table):
                if re.search(rf"^Result<bool> {name}\(Graph", files[path], re.M):
                    yield f"{path}: pass '{name}' has no row in {pipeline}"
    yield from check_pass_names(files)


PASS_NAMES = "common/base/pass_names.cc"


def check_pass_names(files):
    """The passes of all stages are in one table, in the order of the stages and their tables."""
    stages = ["preprocess", "optimize", "partition", "subgraph-optimize", "build"]
    expected = [(stage, flag) for stage in stages
                for flag in flags_of(files.get(f"stages/{stage}/pipeline.cc", ""))]
    listed = re.findall(r'\{"([a-z-]+)", "([a-z0-9-]+)"\}', files.get(PASS_NAMES, ""))
    for stage, flag in sorted(set(expected) ^ set(listed)):
        what = "lacks" if (stage, flag) in expected else "has, and no stage has,"
        yield f"{PASS_NAMES}: the table {what} '{flag}' of {stage}"
    if set(expected) == set(listed) and expected != listed:
        yield f"{PASS_NAMES}: the order is not that of the stages' tables"


def check_row(files, under, pipeline, flag, function):
    stage = os.path.basename(os.path.dirname(pipeline))
    if function != flag.replace("-", "_"):
        yield (f"{pipeline}: flag '{flag}' names function '{function}', expected "
               f"'{flag.replace('-', '_')}'")
    source = [path for path in under if os.path.basename(path) == f"{function}.cc"]
    if not source:
        yield f"{pipeline}: pass '{flag}' has no file {function}.cc below its stage"
    elif not re.search(rf"\b{function}\(", files[source[0]]):
        yield f"{source[0]}: does not define {function}()"
    if not any(path.endswith(".h") and re.search(rf"\b{function}\(", files[path])
               for path in under):
        yield f"{pipeline}: no header below {os.path.dirname(pipeline)} declares {function}()"
    yield from check_pass_test(files, under, pipeline, flag, function)


def check_pass_test(files, under, pipeline, flag, function):
    stage = os.path.basename(os.path.dirname(pipeline))
    unit = any(os.path.basename(path) == f"{function}_test.cc" for path in under)
    golden = any(path.startswith(f"tests/golden/{stage}/") and
                 os.path.basename(path).startswith((flag, "bad-" + flag)) for path in files)
    if not (unit or golden):
        yield (f"{pipeline}: pass '{flag}' has neither {function}_test.cc nor "
               f"tests/golden/{stage}/{flag}*.txt")


def check_dependencies(files):
    """docs/dependencies.md says of each package of scripts/setup what it is for, and of no
    other."""
    if "docs/dependencies.md" not in files or "scripts/setup" not in files:
        return
    installed = set(subprocess.run(["scripts/setup", "--list"], capture_output=True, text=True,
                                   check=True).stdout.split())
    explained = set(re.findall(r"^\| `([^`]+)` \|", files["docs/dependencies.md"], re.M))
    for package in sorted(installed ^ explained):
        where = ("docs/dependencies.md does not explain it" if package in installed
                 else "scripts/setup does not install it")
        yield f"dependency '{package}': {where}"


TOUR = "docs/tour.md"


def check_folders(files):
    """The tour's table names each folder that has files: a name without a slash names all folders
    that are called so, NAME stands for any name."""
    table = files.get(TOUR, "").partition("\n## The folders\n")[2]
    cells = re.findall(r"^\| (`.*?) \|", table, re.M)
    names = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    anywhere = {name for name in names if "/" not in name}
    for folder in sorted({os.path.dirname(path) for path in files} - {""}):
        if os.path.basename(folder) not in anywhere and not any(
                re.fullmatch(re.escape(name).replace("NAME", "[^/]+"), folder) for name in names):
            yield f"{TOUR}: the table of folders does not name {folder}"


LINK = re.compile(r"\]\(([^)\s#]*)(#[^)\s]*)?\)")


def check_links(path, files):
    """Relative links of a page lead to tracked files or folders, and to headings that are there."""
    text = outside_code(files[path])
    for number, line in enumerate(text.splitlines(), 1):
        for target, anchor in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            found = (os.path.normpath(os.path.join(os.path.dirname(path), target)) if target
                     else path)
            if found not in files and not any(name.startswith(found + "/") for name in files):
                yield f"{path}:{number}: link to {target}, which does not exist"
            elif anchor and anchor[1:] not in headings(files.get(found, "")):
                yield f"{path}:{number}: link to {target}{anchor}: {found} has no such heading"


# A path of the repository in inline code; NAME stands for any name.
PATH = re.compile(r"`((?:common|docs|orchestrator|runtime|schemas|scripts|stages|tests)/[\w./-]+)`")


def check_paths(path, files):
    """Files and folders that a page names in inline code are there."""
    for number, line in enumerate(without_blocks(files[path]).splitlines(), 1):
        for named in PATH.findall(line):
            found = named.rstrip("/")
            if "NAME" not in found and found not in files and not any(name.startswith(found + "/")
                                                                      for name in files):
                yield f"{path}:{number}: names {named}, which does not exist"


def outside_code(text):
    """A page with the lines of its fenced blocks emptied and its inline code removed."""
    return re.sub(r"`[^`\n]*`", "``", without_blocks(text))


def without_blocks(text):
    return re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), text,
                  flags=re.M | re.S)


def headings(text):
    """The anchors of a page's headings, made the way that repositories' web pages make them."""
    lines = re.findall(r"^#+ (.*)$", without_blocks(text), re.M)
    return {re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-") for line in lines}


def main():
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__.strip())
        return 0
    if sys.argv[1:]:
        print("usage: scripts/check_tree.py", file=sys.stderr)
        return 2
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True,
                             check=True).stdout.split("\0")
    files = {path: read(path) for path in tracked if path and os.path.isfile(path)}
    faults = [fault for path, text in files.items()
              for check in (check_layers, check_words, check_size, check_style)
              for fault in check(path, text)]
    faults += [f"scripts/check_tree.py: the table has {folder}, which does not exist"
               for folder in ALLOWED if not os.path.isdir(folder)]
    faults += [*check_passes(files), *check_dependencies(files), *check_folders(files),
               *check_fields(files), *check_local_names(files)]
    pages = [path for path in files if path.endswith(".md")]
    faults += [fault for path in pages for check in (check_links, check_paths)
               for fault in check(path, files)]
    print("\n".join(faults), end="\n" if faults else "")
    return 7 if faults else 0


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
