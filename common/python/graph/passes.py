"""Passes: classes whose methods decide, run by a stage (--pass) or as a program of the pipe."""

import collections
import inspect
import re

from sluice.graph import _graph
from sluice.graph.errors import Error
from sluice.graph.expressions import Call, Constant, Expression, Result, Variable, Writer

Count = collections.namedtuple("Count", "name matches effects obstacle")


class Context:
    """Where a pass runs: point ("after-infer-shape"; empty in a program of the pipe), name."""

    def __init__(self, module, point="", name=""):
        self.module, self.point, self.name = module, point, name
        self.counts = []

    @property
    def has_types(self):
        """Whether values have types here."""
        return self.module.has_types

    def report(self, before, after):
        """Counts a rewrite, and notes what the new nodes come from; before they are erased."""
        for node in after:
            for old in before:
                node.take_origins(old)
        self.counts.append(Count(self.name, 1, 1, ""))


class Captured(Expression):
    """A value of a match: an expression, with what a Value has: type, dims, number, users, …"""

    def __init__(self, value, name):
        self.value, self.name = value, name

    def __getattr__(self, name):
        return getattr(self.value, name)

    def __repr__(self):
        return f"<{self.name}: {self.value!r}>"


class Match:
    """What a pattern found: values by name, inputs by number, numbers by name, nodes.

    pattern: the name of the @pattern method, or the number of what patterns() returned.
    """

    def __init__(self, found, inputs, outputs, pattern=0):
        self.pattern = pattern
        self._values = {name: Captured(value, name) for name, value in found.values}
        self._numbers = dict(found.numbers)
        self.nodes = found.nodes
        self.inputs = [self._values.get(name) for name in inputs]
        self.outputs = [self._values[name] for name in outputs]

    def __getattr__(self, name):
        if name in self._values:
            return self._values[name]
        if name in self._numbers:
            return self._numbers[name]
        known = ", ".join([*self._values, *self._numbers])
        raise AttributeError(f"the match has no '{name}'; it has {known}")

    def __getitem__(self, key):
        return self.inputs[key] if isinstance(key, int) else getattr(self, key)

    def __iter__(self):
        return iter(self.inputs)

    def __len__(self):
        return len(self.inputs)

    @property
    def node(self):
        """The last of its nodes."""
        return self.nodes[-1]


class Pattern:
    """A pattern with its conditions, as text in the notation of rules.

    outputs: an expression, or several, over Variables. where: conditions, such as
    "rank(%a) == 2 and users(%p) == 1". Or text alone: "match { … } where … outputs %y".
    """

    def __init__(self, outputs=None, where="", text="", inputs=()):
        self.inputs, self.outputs, self.text, self.key = list(inputs), [], text, 0
        if outputs is None:
            self.outputs = re.findall(r"%(\w+)", text.rpartition("outputs")[2])
            return
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        writer = Writer(True, self._input)
        named = [(self._output_name(i, each), each) for i, each in enumerate(outputs)]
        self.outputs = [name for name, _ in named]
        writer.name_outputs(named)
        self.text = "match {\n  " + "\n  ".join(writer.lines) + "\n}\n"
        if where:
            self.text += f"where {where}\n"
        self.text += "outputs " + ", ".join("%" + name for name in self.outputs)

    @staticmethod
    def _output_name(index, expression):
        if not isinstance(expression, (Call, Result)):
            raise TypeError(f"a pattern returns nodes, not {expression!r}")
        own = expression.name if isinstance(expression, Call) else ""
        return own or f"out{index}"

    def _input(self, value):
        if not isinstance(value, Variable):
            raise TypeError(f"{value!r} is no operand of a pattern")
        if value.name not in self.inputs:
            self.inputs.append(value.name)
        return "%" + value.name

    def rule(self, name):
        return f"rule {name} {{\n{self.text}\n}}\n"


def pattern(method):
    """Marks a method whose arguments are the pattern's inputs and that returns an expression."""
    method.is_pattern = True
    return method


def _pattern_of(owner, method, where):
    names = list(inspect.signature(method).parameters)[1:]
    outputs = method(owner, *(Variable(name) for name in names))
    if outputs is None:
        raise TypeError(f"{method.__name__}() returned None: a pattern returns an expression")
    return Pattern(outputs, getattr(method, "where", where), inputs=names)


def _rule_name(name):
    dashed = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    return re.sub(r"[^a-z0-9-]", "-", dashed).strip("-") or "pass"


class Pass:
    """A pass with a method run(self, graph, context), called for the root and each body."""

    @property
    def name(self):
        return _rule_name(type(self).__name__)

    def run(self, graph, context):
        raise NotImplementedError(f"{type(self).__name__} has no run(self, graph, context)")

    def apply(self, module, context):
        """Runs it on a module; context.counts gets what it did."""
        context.name = self.name
        for graph in module.rewritten:
            self.run(graph, context)
        _collect(self.name, context)


def _collect(name, context):
    own = [count for count in context.counts if count.name == name]
    if own:
        matches, effects = sum(c.matches for c in own), sum(c.effects for c in own)
        obstacle = next((count.obstacle for count in own if count.obstacle), "")
        context.counts = [count for count in context.counts if count.name != name]
        context.counts.append(Count(name, matches, effects, obstacle))


def _with_line(problem, text, name):
    """An error of a text of patterns, with the line that it is about: nobody has seen the text."""
    place = re.match(re.escape(name) + r":(\d+):\d+: ", problem.message)
    lines = text.split("\n")
    if not place or not 0 < int(place[1]) <= len(lines):
        return problem
    line = lines[int(place[1]) - 1].strip()
    message = f"{problem.message[place.end():]}, in \"{line}\" of {name}"
    return Error(problem.code, message, problem.hint)


class _Rewrite(Pass):
    """What PatternPass and DecomposePass share: patterns, and two methods that decide."""

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        if cls.__module__ == __name__:
            return
        if cls.run is not Pass.run or cls.apply is not _Rewrite.apply:
            kind = "PatternPass" if issubclass(cls, PatternPass) else "DecomposePass"
            raise TypeError(f"{cls.__name__} overrides run, which is {kind}'s: derive from Pass")

    def meets(self, match):
        """Whether the match is wanted; called once its conditions hold."""
        return True

    def replacement(self, inputs):
        """The expression, or expressions, that take the place of the outputs; None declines."""
        raise NotImplementedError(f"{type(self).__name__} has no replacement(self, inputs)")

    def _text(self, patterns, context):
        place = "" if context.has_types else "at = before-infer-shape\n"
        return place + "".join(each.rule(name) for name, each in patterns.items())

    def _patterns(self, module):
        raise NotImplementedError

    def apply(self, module, context):
        patterns = self._patterns(module)
        if not patterns:
            return

        def match_of(found):
            of = patterns[found.rule]
            return Match(found, of.inputs, of.outputs, of.key)

        accepts = None
        if type(self).meets is not _Rewrite.meets:
            accepts = lambda found: bool(self.meets(match_of(found)))
        replace = lambda found: self._replacement(match_of(found), patterns[found.rule])
        text = self._text(patterns, context)
        try:
            _, counts = _graph.rewrite(module, text, self.name, accepts, replace)
        except Error as problem:
            raise _with_line(problem, text, self.name) from None
        context.counts += [Count(self.name, *count[1:]) for count in counts]
        _collect(self.name, context)

    def _replacement(self, match, found):
        made = self.replacement(match)
        if made is None:
            return None
        made = [made] if isinstance(made, (Expression, _graph.Value)) else list(made)
        if len(made) != len(found.outputs):
            raise ValueError(
                f"replacement returned {len(made)} values for {len(found.outputs)} outputs"
            )
        extra = {}

        def given(value):
            if isinstance(value, Captured):
                if value.name in found.inputs or value.name in match._values:
                    return "%" + value.name
                value = value.value
            if isinstance(value, Constant):
                value = match.nodes[0].graph.constant(value.data, value.dtype)
            if not isinstance(value, _graph.Value):
                raise TypeError(f"{value!r} is no operand of a replacement")
            name = f"given{len(extra)}_"
            extra[name] = value
            return "%" + name

        writer = Writer(False, given)
        writer.name_outputs(list(zip(found.outputs, made)))
        return "\n".join(writer.lines), extra

    def why(self, module, node="", context=None):
        """Where it matches, or why not: (pattern, matches, reason, node, placed, lines)."""
        patterns = self._patterns(module)
        context = context or Context(module)
        if not patterns:
            return []
        return _graph.explain(module, self._text(patterns, context), self.name, node)


class PatternPass(_Rewrite):
    """Rewrites what patterns match: methods marked @pattern, or a method patterns().

    where: conditions of all patterns. patterns() returns Patterns, or texts such as
    "match { … } outputs %y".
    """

    where = ""

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        marked = [name for name in dir(cls) if getattr(getattr(cls, name), "is_pattern", False)]
        if marked and cls.patterns is not PatternPass.patterns:
            raise TypeError(f"{cls.__name__} has patterns() beside @pattern {', '.join(marked)}")

    def patterns(self):
        # Methods of a class are tried in the order in which they are written.
        found = {}
        for owner in reversed(type(self).__mro__):
            for name, method in vars(owner).items():
                if getattr(method, "is_pattern", False):
                    found[name] = _pattern_of(self, method, self.where)
        if not found:
            name = type(self).__name__
            raise TypeError(f"{name} has no method marked @pattern, and no patterns()")
        for name, each in found.items():
            each.key = name
        return list(found.values())

    def _patterns(self, module):
        if not hasattr(self, "_made"):
            given = [Pattern(text=e) if isinstance(e, str) else e for e in self.patterns()]
            for number, each in enumerate(given):
                each.key = each.key or number
            numbers = range(len(given))
            names = [self.name if len(given) == 1 else f"{self.name}-{i}" for i in numbers]
            self._made = dict(zip(names, given))
        return self._made


class DecomposePass(_Rewrite):
    """Replaces each node of some ops. ops: a name, or several; "com.acme::Gelu" of another domain.

    meets(match) and replacement(inputs) have the operands as inputs, the results as outputs and the
    node as match.node.
    """

    ops = ()

    def _patterns(self, module):
        ops = {self.ops} if isinstance(self.ops, str) else set(self.ops)
        if not ops:
            raise TypeError(f"{type(self).__name__} names no ops")
        forms = {}
        for graph in module.rewritten:
            for node in graph.nodes:
                if node.op in ops:
                    present = tuple(value is not None for value in node.inputs)
                    forms.setdefault((node.op, present, len(node.outputs)))
        return {f"{self.name}-{i}": self._form(*form) for i, form in enumerate(forms)}

    @staticmethod
    def _form(op, present, outputs):
        inputs = [f"in{i}" for i in range(len(present))]
        operands = ", ".join("%" + name if is_there else "_"
                             for name, is_there in zip(inputs, present))
        results = ", ".join(f"%out{i}" for i in range(outputs))
        name = f'"{op}"' if "::" in op else op
        text = f"match {{ {results} = {name}({operands}) }}\noutputs {results}"
        return Pattern(text=text, inputs=inputs)


class FunctionPass(Pass):
    """A function of a graph, or of a graph and a context."""

    def __init__(self, function):
        self.function = function
        self.takes_context = len(inspect.signature(function).parameters) > 1

    @property
    def name(self):
        return _rule_name(self.function.__name__)

    def run(self, graph, context):
        return self.function(graph, context) if self.takes_context else self.function(graph)


def pass_of(given):
    """A Pass of a Pass, a class of passes, or a function."""
    if isinstance(given, Pass):
        return given
    if isinstance(given, type) and issubclass(given, Pass):
        return given()
    if callable(given):
        return FunctionPass(given)
    raise TypeError(f"{given!r} is no pass: give a Pass, or a function of a graph")
