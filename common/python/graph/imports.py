"""The files that a pass consists of: a file and every .py below its folder that an import names,
and so on. Nothing of them is run. As a program it prints their paths, the first one first.
"""

import ast
import os
import sys


def _imported(node, folder, root):
    """The modules that a statement names: the folder where each is searched, and its parts."""
    if isinstance(node, ast.Import):
        return [(root, alias.name.split(".")) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    for _ in range(node.level - 1):
        folder = os.path.dirname(folder)
    base = folder if node.level else root
    module = node.module.split(".") if node.module else []
    return [(base, module)] + [(base, module + [alias.name]) for alias in node.names]


def _files(base, parts, root):
    """The files of a module, and of the packages that it is in, that are there."""
    for end in range(len(parts) + 1):
        place = os.path.join(base, *parts[:end])
        for path in (place + ".py", os.path.join(place, "__init__.py")):
            is_below = (path + "/").startswith(root + "/")
            if (end or base != root) and is_below and os.path.isfile(path):
                yield path


def _tree(path):
    try:
        with open(path, "rb") as file:
            return ast.walk(ast.parse(file.read()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # the interpreter says what is wrong when the file is run


def files_of(file):
    """The absolute paths, the file itself first, the others sorted."""
    first = os.path.abspath(file)
    root = os.path.dirname(first)
    found, waiting = set(), [first]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for node in _tree(path):
            for base, parts in _imported(node, os.path.dirname(path), root):
                waiting.extend(_files(base, parts, root))
    return [first, *sorted(found - {first})]


if __name__ == "__main__":
    print("\n".join(files_of(sys.argv[1])))
