"""Graphs of Sluice in Python: reading, walking, editing, matching, writing; passes of one's own.

    import sluice.graph as sg
    module = sg.read("model.sg")
    for node in module.root.nodes:
        print(node.op, node.output.type)

docs/own-passes.md has passes, docs/graphs-in-python.md the rest. Operators are methods of a graph:
graph.Relu(x) adds a node and returns its result. numpy is imported when the first array is wanted.
"""

import os

from sluice.graph import _graph
from sluice.graph._graph import Graph, Module, Node, Type, Value, can_fuse
from sluice.graph.errors import ErasedError, Error
from sluice.graph.expressions import ANY, Constant, Expression, Variable, op
from sluice.graph.passes import (
    Context,
    DecomposePass,
    Match,
    Pass,
    Pattern,
    PatternPass,
    pattern,
)
from sluice.graph.program import main

__all__ = [
    "ANY",
    "Constant",
    "Context",
    "DecomposePass",
    "ErasedError",
    "Error",
    "Expression",
    "Graph",
    "Match",
    "Module",
    "Node",
    "Pass",
    "Pattern",
    "PatternPass",
    "Type",
    "Value",
    "Variable",
    "can_fuse",
    "diff",
    "main",
    "op",
    "pattern",
    "read",
]


def read(source):
    """Reads a graph file: a path, "-" for standard input, bytes, or an open file."""
    if hasattr(source, "read"):
        source = source.read()
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Module._from_bytes(bytes(source), "bytes")
    return _graph.read_graph(os.fspath(source))


def write(self, target, inline=False):
    """Writes a graph file: to a path, which gets its name when it is complete, "-" for standard
    output, or an open file. inline: with the bytes of all constants.
    """
    if hasattr(target, "write"):
        target.write(self.to_bytes())
        return
    self._write(os.fspath(target), inline)


def diff(a, b, ignore_constants=False):
    """The differences of two modules, a line each; empty when they are equal."""
    return _graph.differences(a, b, ignore_constants)


def _match(self, wanted):
    """The matches of a Pattern, or of its text, in this graph."""
    wanted = Pattern(text=wanted) if isinstance(wanted, str) else wanted
    found = _graph.search(self, wanted.rule("pattern"), "pattern")
    return [Match(each, wanted.inputs, wanted.outputs) for each in found]


def _replace(self, wanted, replacement, meets=None):
    """Replaces what a Pattern, or its text, matches, in all graphs; returns how often.

    replacement and meets get a Match, as the methods of a PatternPass do.
    """
    members = {"patterns": lambda _: [wanted], "replacement": lambda _, match: replacement(match)}
    if meets:
        members["meets"] = lambda _, match: meets(match)
    context = Context(self)
    type("Replace", (PatternPass,), members)().apply(self, context)
    return sum(count.effects for count in context.counts)


def _operator(self, name):
    if name not in _OPS:
        raise AttributeError(f"a graph has no '{name}', and there is no such operator")

    def add(*inputs, name_=name, **attributes):
        words = [word for word in ("name", "outputs", "before") if word in attributes]
        own = {word: attributes.pop(word) for word in words}
        values = [_operand(self, each, inputs) for each in inputs]
        return self.add_node(name_, values, attributes=attributes, **own)

    add.__name__, add.__doc__ = name, _OPS[name]
    return add


def _operand(graph, given, inputs):
    """A value; a number becomes a constant of the dtype of the first value beside it."""
    if given is None or isinstance(given, Value):
        return given
    if isinstance(given, (list, tuple)) and any(isinstance(each, Value) for each in given):
        raise TypeError("operands are given one by one: graph.Concat(a, b, axis=1)")
    if not isinstance(given, (int, float)):
        return graph.constant(given)
    return graph.constant(given, next((v.dtype or "" for v in inputs if isinstance(v, Value)), ""))


def _many(low, high):
    return str(low) if low == high else f"{low} or more" if high < 0 else f"{low} to {high}"


def _attribute_text(key, kind, is_required, number, text, words):
    default = f", default {text or format(number, 'g')}" if text or kind in ("int", "float") else ""
    choice = f"; {words.replace(' ', ', ')}" if words else ""
    return f"  {key}: {kind}{' (required)' if is_required else default}{choice}"


def _signature(row):
    name, low, high, low_results, high_results, attributes = row
    sizes = f"{_many(low, high)} operands, {_many(low_results, high_results)} results"
    return "\n".join([f"{name}: {sizes}.", *(_attribute_text(*each) for each in attributes)])


_OPS = {row[0]: _signature(row) for row in _graph.op_rows()}
Module.write = write
Module.replace = _replace
Graph.match = _match
Graph.__getattr__ = _operator
Graph.__dir__ = lambda self: [*object.__dir__(self), *_OPS]
