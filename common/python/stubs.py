#!/usr/bin/python3
"""Writes the type stubs of sluice.graph._graph: its classes, and the operators of the op table as
methods of Graph, for editors and type checkers.

usage: stubs.py FOLDER_OF_THE_PACKAGE -o _graph.pyi
"""
import os
import re
import sys

HEADER = '''"""Made from the op table and from the module; do not edit."""
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union, overload

import numpy

Operand = Union["Value", float, int, Sequence[int], "numpy.ndarray", None]
'''
KINDS = {"ndarray": "numpy.ndarray", "int": "int", "float": "float", "str": "str"}


def typed(text):
    """A type of pybind11's signatures as one of this stub."""
    text = re.sub(r"(?:sluice\.graph\.)?_graph\.", "", text)
    text = text.replace("std::vector<Value>", "List[Value]").replace("object", "Any")
    text = re.sub(r"= <[^>]*>", "= ...", text)
    return text if re.fullmatch(r"[\w\[\], .:=*>'\"|(){}-]+", text) else "Any"


def signature(doc, name, is_static):
    """The parameters and the result of a method: the first line of its documentation."""
    found = re.match(re.escape(name) + r"\((.*)\) -> (.*)$", (doc or "").split("\n")[0])
    if not found:
        return "self, *args: Any, **keywords: Any", "Any"
    if is_static:
        return typed(found[1]), typed(found[2])
    own = r"^(self|arg0): (Type|Value|Node|Nodes|Graph|Module)\b"
    return re.sub(own, "self", typed(found[1])), typed(found[2])


def sentence(doc):
    text = "\n".join((doc or "").split("\n")[2:]).strip()
    return f'        """{text}"""\n' if text else ""


def class_text(owner, operators):
    lines = [f"class {owner.__name__}:\n"]
    for name, found in sorted(vars(owner).items()):  # a static method is found by the class alone
        member = found if isinstance(found, property) else getattr(owner, name)
        if isinstance(member, property):
            result = re.search(r"-> (.*)$", (member.fget.__doc__ or "").split("\n")[0])
            kind = typed(result[1]) if result else "Any"
            lines.append(f"    @property\n    def {name}(self) -> {kind}: ...\n")
            if member.fset:
                lines.append(f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n")
        elif callable(member) and (not name.startswith("_") or name in (
                "__init__", "__len__", "__getitem__", "__setitem__", "__delitem__")):
            is_static = isinstance(found, staticmethod)
            if found is object.__init__ or "Initialize self" in (member.__doc__ or ""):
                continue
            parameters, result = signature(member.__doc__, name, is_static)
            static = "    @staticmethod\n" if is_static else ""
            lines.append(f"{static}    def {name}({parameters}) -> {result}:\n"
                         f"{sentence(member.__doc__)}        ...\n")
    lines += operators
    return "".join(lines) + "\n"


def operator_text(row, doc):
    name, _, _, low, high, attributes = row
    one, many = "Value", "Tuple[Value, ...]"
    result = one if low == high == 1 else many if low > 1 else f"Union[{one}, {many}]"
    keywords = ", ".join(f"{key}: {KINDS.get(kind, kind.replace('list', 'Sequence'))} = ..."
                         for key, kind, *_ in attributes)
    own = "name: str = ..., outputs: int = ..., before: Node = ..."
    keywords += (", " if keywords else "") + own
    indented = doc.replace("\n", "\n        ")
    return (f'    def {name}(self, *operands: Operand, {keywords}) -> {result}:\n'
            f'        """{indented}"""\n        ...\n')


def main():
    folder, _, target = sys.argv[1:4]
    sys.path.insert(0, folder)
    import sluice.graph
    from sluice.graph import _graph

    operators = [operator_text(row, sluice.graph._OPS[row[0]]) for row in _graph.op_rows()]
    text = HEADER
    for name in ("Type", "Value", "Node", "Nodes", "Graph", "Module"):
        owner = getattr(_graph, name)
        text += "\n\n" + class_text(owner, operators if owner is _graph.Graph else [])
    text += "\n\ndef can_fuse(nodes: List[Node]) -> Tuple[bool, str]: ...\n"
    text += "def __getattr__(name: str) -> Any: ...\n"
    with open(target + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(target + ".new", target)


if __name__ == "__main__":
    main()
