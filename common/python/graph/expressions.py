"""Expressions of patterns and of replacements: `op.MatMul(a, b) + c`.

An expression becomes text of the notation of rules (docs/own-passes.md), which the matcher reads.
"""

import json
import math

MARKS = ("commuted", "optional", "shared")


class Expression:
    """What stands for a value. + and * match with their operands in either order."""

    def __add__(self, other):
        return Call("Add", (self, other), {}, {"commuted"})

    def __radd__(self, other):
        return Call("Add", (other, self), {}, {"commuted"})

    def __mul__(self, other):
        return Call("Mul", (self, other), {}, {"commuted"})

    def __rmul__(self, other):
        return Call("Mul", (other, self), {}, {"commuted"})

    def __sub__(self, other):
        return Call("Sub", (self, other), {}, set())

    def __rsub__(self, other):
        return Call("Sub", (other, self), {}, set())

    def __truediv__(self, other):
        return Call("Div", (self, other), {}, set())

    def __rtruediv__(self, other):
        return Call("Div", (other, self), {}, set())

    def __matmul__(self, other):
        return Call("MatMul", (self, other), {}, set())

    def __pow__(self, other):
        return Call("Pow", (self, other), {}, set())

    def __neg__(self):
        return Call("Neg", (self,), {}, set())


class Variable(Expression):
    """A value that a pattern reads, by name."""

    def __init__(self, name):
        self.name = name


class Constant(Expression):
    """A constant that a replacement adds: an array, a number or a list."""

    def __init__(self, data, dtype=""):
        self.data, self.dtype = data, dtype


class Call(Expression):
    """A node; of several results each is call[i]."""

    def __init__(self, op, operands, attributes, marks, name="", outputs=1, like=None):
        self.op, self.operands, self.attributes, self.marks = op, operands, attributes, marks
        self.name, self.outputs, self.like = name, outputs, like

    def __getitem__(self, index):
        if not 0 <= index < self.outputs:
            raise IndexError(f"{self.op} has {self.outputs} results: op.{self.op}(…, outputs=N)")
        return Result(self, index)

    def __iter__(self):
        return (Result(self, index) for index in range(self.outputs))


class Result(Expression):
    """One of several results of a node."""

    def __init__(self, call, index):
        self.call, self.index = call, index


class _Anything:
    def __repr__(self):
        return "ANY"


ANY = _Anything()  # as an operand of a pattern: any value, or none


class _Ops:
    """op.NAME(operands, attributes) is an expression; op["Erf|Tanh"] matches either one, and
    op["com.acme::Gelu"] an operator of another domain.

    Operands are expressions, numbers, lists of integers, None for an absent one; in a pattern ANY,
    and ... at the end for any further ones. Other keywords: name (of its result), outputs (how many
    results), in a pattern commuted, optional and shared, in a replacement like (a value whose node
    has the other attributes).
    """

    def __getitem__(self, name):
        def call(*operands, name_=name, **keywords):
            marks = {mark for mark in MARKS if keywords.pop(mark, False)}
            own = {key: keywords.pop(key) for key in ("name", "outputs", "like") if key in keywords}
            return Call(name_, operands, keywords, marks, **own)

        return call

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]


op = _Ops()


def _number(value):
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{value} is no number of a pattern or a replacement")
    return repr(value)


def literal(value):
    """The text of a number, a text or a list of them."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(each) for each in value) + "]"
    if isinstance(value, (int, float)):
        return _number(value)
    if hasattr(value, "item"):  # a number of numpy
        return literal(value.item())
    raise TypeError(f"{type(value).__name__} {value!r} is no attribute of a pattern or replacement")


class Writer:
    """Writes the lines of expressions, those that others read first."""

    def __init__(self, is_pattern, given):
        self.is_pattern = is_pattern
        self.given = given  # returns the name of a value that no line makes
        self.lines = []
        self.names = {}  # of calls: the names of their results
        self.written = set()
        self.count = 0

    def name_outputs(self, outputs):
        """outputs: pairs of a name and an expression. They are written with their names."""
        for name, expression in outputs:
            index = expression.index if isinstance(expression, Result) else 0
            call = expression.call if isinstance(expression, Result) else expression
            if isinstance(call, Call):
                self.names.setdefault(call, {})
                if index in self.names[call]:
                    other = self.names[call][index]
                    raise ValueError(f"one value is the output {other} and {name}")
                self.names[call][index] = name
        for name, expression in outputs:
            written = self.operand(expression)
            if not isinstance(expression, (Call, Result)):
                self.lines.append(f"%{name} = {written}")

    def operand(self, value):
        if isinstance(value, Call):
            return self.result(value, 0)
        if isinstance(value, Result):
            return self.result(value.call, value.index)
        if value is None:
            return "_"
        if value is ANY:
            return "?"
        if value is ...:
            return "*"
        if isinstance(value, Expression) or not isinstance(value, (int, float, list, tuple)):
            return self.given(value)
        return literal(value)

    def result(self, call, index):
        if call not in self.written:
            self.write(call)
        return "%" + self.names[call][index]

    def name_results(self, call):
        """The names of all results; those that are no outputs get the call's own, or a new one."""
        names = self.names.setdefault(call, {})
        for index in range(call.outputs):
            if index not in names:
                self.count += 1
                own = f"{call.name}{index}" if call.outputs > 1 else call.name
                names[index] = own if call.name else f"t{self.count}_"
        return ", ".join(f"%{names[index]}" for index in range(call.outputs))

    def attributes(self, call):
        pairs = [(key, value) for key, value in call.attributes.items() if value is not None]
        texts = (
            f"{key} = {value.name if isinstance(value, Variable) else literal(value)}"
            for key, value in pairs
        )
        return " {" + ", ".join(texts) + "}" if pairs else ""

    def write(self, call):
        self.written.add(call)
        operands = ", ".join(self.operand(each) for each in call.operands)
        name = literal(call.op) if "::" in call.op else call.op
        line = f"{self.name_results(call)} = {name}({operands}){self.attributes(call)}"
        if call.like is not None:
            line += f" like {self.given(call.like)}"
        if self.is_pattern:
            line += "".join(f" {mark}" for mark in MARKS if mark in call.marks)
        self.lines.append(line)
