"""File-local names: a folder's files are compiled together, a few to a unit (docs/building.md), so
no two of them may give the same name to something of their own. check_tree.py calls it."""
import os
import re

from file_kinds import is_bench

# Mains of a folder are of different programs, and nothing is compiled together in folders of small
# ones.
MAINS = ("/main.cc", "_main.cc")
ALONE = ("tests/", "scripts/")

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                   r"(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M | re.S)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace(?:\s+([\w:]+))?\s*$")
TYPE = re.compile(r"(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[\w+\]\]\s*)?"
                  r"(?:alignas\([^)]*\)\s*)?(\w+)")
UNSCOPED = re.compile(r"enum\b(?!\s+(class|struct)\b)")
ENUMERATOR = re.compile(r"[{,]\s*(\w+)")
NOT_A_NAME = re.compile(r"(using|friend|static_assert|extern|typedef)\b")


def check_local_names(files):
    """Yields a line for each name that two files of a folder, or two tests of it, have."""
    owners = {}
    for path, text in files.items():
        if (path.endswith(".cc") and not path.endswith(MAINS) and not is_bench(path) and
            not path.startswith(ALONE)):
            for name in local_names(text):
                place = os.path.dirname(path), path.endswith("_test.cc"), name
                owners.setdefault(place, []).append(path)
    for (_, _, name), paths in sorted(owners.items()):
        if len(paths) > 1:
            yield (f"{paths[-1]}: '{name}' is also a name of {paths[0]}; files of a folder are "
                   "compiled together, so their own names must differ")


def local_names(text):
    """The names that a file declares for itself: static, or in a namespace without a name."""
    text = NOISE.sub(lambda found: " " + "\n" * found.group().count("\n"), text)
    names, scopes, start, parentheses = set(), [], 0, 0
    for found in re.finditer(r"[{};()]", text):
        sign, at = found.group(), found.start()
        if sign in "()":
            parentheses += 1 if sign == "(" else -1
        elif parentheses > 0:
            continue  # a lambda or a list among arguments
        elif sign == "}":
            closed = scopes.pop() if scopes else None
            follows = text[at + 1:].lstrip()[:1]
            if None not in scopes and (closed is not None or follows not in (";", ",", "{")):
                start = at + 1
        else:
            said = text[start:at].strip()
            space = NAMESPACE.search(said) if sign == "{" else None
            if None not in scopes:
                if not space and ("" in scopes or is_static(said)):
                    names |= declared(said)
                    if sign == "{" and UNSCOPED.match(said):
                        names |= set(ENUMERATOR.findall(text[at:text.index("}", at)]))
                if sign == ";" or space:
                    start = at + 1
            if sign == "{":
                scopes.append((space.group(1) or "") if space else None)
    return names


def is_static(said):
    said = without_templates(said)
    return re.match(r"(static|constexpr|const)\b|using\s+\w+\s*=", said) and " inline " not in said


def without_templates(said):
    """A declaration without its template parameters and attributes."""
    said = said.strip()
    while said.startswith("template"):
        depth = 0
        for at in range(said.index("<"), len(said)):
            depth += {"<": 1, ">": -1}.get(said[at], 0)
            if depth == 0:
                break
        said = said[at + 1:].strip()
    return re.sub(r"^(\[\[[\w:, ]+\]\]\s*)+", "", said)


def declared(said):
    """The names that a declaration declares."""
    said = without_templates(said)
    found = TYPE.match(said) or re.match(r"using\s+(\w+)\s*=", said)
    if found:
        return {found.group(1)}
    if not said or NOT_A_NAME.match(said):
        return set()
    said = re.sub(r"\b(alignas|decltype|noexcept|requires)\s*\([^()]*\)", " ", said)
    parts = without_nested(said).split(",")
    names = [re.search(r"([\w:~]+)\s*(?:\(|\[|$)", part.split("=")[0]) for part in parts]
    names = {found.group(1) for found in names if found}
    return {name for name in names if "::" not in name and not name.startswith("operator") and
            not re.fullmatch(r"[A-Z0-9_]+", name)}


def without_nested(said):
    """A declaration without what its brackets contain: arguments of templates, parameters, values.
    Of its parameters "(" stays; a pointer to a function stands there by its name."""
    said = re.sub(r"\(\s*\*\s*(\w+)\s*(?:\[\])?\s*\)\s*\([^()]*\)", r"\1", said)
    for inner, outer in ((r"<[^<>]*>", ""), (r"\([^()]*\)", "\0"), (r"\{[^{}]*\}", "")):
        fewer = None
        while fewer != said:
            said, fewer = re.sub(inner, outer, said), said
    return said.split("{")[0].replace("\0", "(")
