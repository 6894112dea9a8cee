"""What scripts/check asks of names, prose, line lengths and attributes; check_tree.py calls it.

The words that design.md retires have one successor each, which the message names. They are looked
for as parts of identifiers (`kMostNodes`, `most_nodes`), and a few of them in comments and pages;
ordinary English is left alone.
"""
import os
import re

from file_kinds import is_test

COLUMNS = 100

# part of an identifier -> the word that the code uses
RETIRED = {
    "bequeath": "transfer", "face": "signature", "fewest": "min", "flying": "in_flight",
    "growing": "append", "growth": "append", "least": "min", "manner": "non_semantic",
    "meaning": "semantic", "mend": "repair", "misfit": "shape_mismatch", "most": "max",
    "refusal": "unsupported_reason", "rest": "remainder", "room": "capacity", "seat": "slot",
    "sunk": "lowered", "tail": "remainder", "unfixed": "dynamic", "way": "strategy",
}
# The same in folders where the word means a private thing; elsewhere it is a term of the field.
RETIRED_IN = {
    "common/eval/": {"carrier": "promoted", "panel": "tile"},
    "runtime/": {"sink": "lower"},
    "stages/build/": {"panel": "tile", "sink": "output", "step": "task"},
    "stages/build/memory/": {"block": "buffer"},
}
PROSE = re.compile(r"\b(meaning options?|manner options?|sunk|bequeath\w*|misfits?|seat(?:s|ed)?|"
                   r"faces?|refusals?)\b", re.I)

CODE = (".cc", ".h", ".hpp", ".def", ".inc")
LINES = CODE + (".py", ".fbs", ".proto", ".cmake", "CMakeLists.txt")
# Comments, strings and raw strings of C++; docstrings, comments and strings of Python.
CPP = re.compile(r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
                 r"'(?:\\.|[^'\\\n])+'", re.S)
PYTHON = re.compile(r'"""(?:.*?)"""|#[^\n]*|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'", re.S)
RAW = re.compile(r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"', re.S)
READ_BY_LITERAL = re.compile(r"\b\w+_attribute\(\s*\"|\b\w+Attribute\{\{?\"")


def check_style(path, text):
    if is_python(path, text) or path.endswith(LINES) or text.startswith("#!"):
        yield from check_columns(path, text)
    if path.endswith(CODE):
        yield from check_names(path, text, CPP)
        yield from check_attributes(path, text)
    if is_python(path, text):
        yield from check_names(path, text, PYTHON)
    if path.endswith(CODE + (".md", ".fbs", ".proto")):
        yield from check_prose(path, text)


def is_python(path, text):
    return path.endswith(".py") or text.startswith("#!/usr/bin/python3")


def check_columns(path, text):
    """Lines end at 100 columns, but for graph text and other data of tests in raw strings."""
    exempt = set()
    if path.endswith("_test.cc"):
        for raw in RAW.finditer(text):
            first = text.count("\n", 0, raw.start())
            exempt.update(range(first, first + raw.group().count("\n") + 1))
    for number, line in enumerate(text.splitlines()):
        if len(line) > COLUMNS and number not in exempt and not re.search(r"https?://\S{60}", line):
            yield f"{path}:{number + 1}: {len(line)} columns, {COLUMNS} are the limit"


def check_names(path, text, quoted):
    retired = dict(RETIRED)
    for folder, words in RETIRED_IN.items():
        if path.startswith(folder):
            retired |= words
    code = quoted.sub(lambda found: "\n" * found.group().count("\n"), text)
    for name in sorted(set(re.findall(r"[A-Za-z_]\w*", code))):
        parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]
        for part in parts:
            if part in retired:
                line = code.count("\n", 0, re.search(rf"\b{name}\b", code).start()) + 1
                yield f"{path}: name '{name}' (line {line}): say {retired[part]}, not {part}"


def check_prose(path, text):
    prose = text
    if path.endswith(CODE):
        prose = "\n".join(found.group() for found in CPP.finditer(text)
                          if found.group().startswith(("//", "/*")))
    for word in sorted({found.group() for found in PROSE.finditer(prose)}):
        yield f"{path}: '{word}' in a comment or a page; design.md section 2 has the word for it"


def check_attributes(path, text):
    """Attributes are read by the names of common/ops/attributes.def, not by strings."""
    if is_test(path) or not path.startswith(("common/", "stages/", "runtime/")):
        return
    if os.path.basename(path) in ("old_attributes.h", "attribute.h"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if READ_BY_LITERAL.search(line):
            yield f"{path}:{number}: an attribute is read or set by a string: {line.strip()[:60]}"
