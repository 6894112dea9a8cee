#!/usr/bin/python3
"""sluice.graph: handles, edits, arrays, patterns; drawn edits of drawn graphs, after which a graph
verifies and means what it meant, or which raise; thirty rules as a PatternPass make the graphs that
the rules make.

usage: graph_python_test.py FOLDER_OF_PROGRAMS [--count N] [--seed N] [unittest arguments]
"""
import argparse
import gc
import os
import random
import re
import subprocess
import sys
import unittest

import numpy as np

from programs import ProgramCase, bytes_of, import_sluice, need
from rule_graphs_test import RULES, Drawn

OPTIONS = argparse.Namespace(count=60, seed=1)

TWO = """sluice 1 typed after preprocess
graph @main(%x: f32[2, 3], %w: f32[3, 4], %c: f32[4]) -> (%y, %z) {
  %p: f32[2, 4] = MatMul(%x, %w) name "product"
  %y: f32[2, 4] = Add(%p, %c) name "sum"
  %z: f32[2, 4] = Relu(%y) name "relu"
}
"""
BRANCH = """sluice 1 typed after preprocess
graph @main(%x: f32[4], %b: bool[]) -> (%y) {
  %y: f32[4] = If(%b, %x) {else_branch = @else, then_branch = @then} name "choice"
}
graph @then(%t: f32[4]) -> (%r) body captures 1 {
  %a: f32[4] = Neg(%t)
  %r: f32[4] = Neg(%a)
}
graph @else(%e: f32[4]) -> (%s) body captures 1 {
  %s: f32[4] = Abs(%e)
}
"""

# What RULES replace matches by, in Python: by the name of the rule.
REPLACEMENTS = {
    "relu-of-relu": lambda m: op.Relu(m.x), "abs-of-abs": lambda m: op.Abs(m.x),
    "neg-of-neg": lambda m: m.x, "abs-of-neg": lambda m: op.Abs(m.x),
    "relu-of-abs": lambda m: op.Abs(m.x), "abs-of-relu": lambda m: op.Relu(m.x),
    "relu-of-sigmoid": lambda m: op.Sigmoid(m.x), "abs-of-sigmoid": lambda m: op.Sigmoid(m.x),
    "neg-of-tanh": lambda m: op.Tanh(-m.x), "zero": lambda m: m.x, "one": lambda m: m.x,
    "scales": lambda m: op.Mul(m.x, m.a.number * m.b.number),
    "sums": lambda m: op.Add(m.x, m.a.number + m.b.number),
    "swish": lambda m: op.Swish(m.x, alpha=m.alpha), "gelu": lambda m: op.Gelu(m.x),
    "square": lambda m: m.x ** 2, "difference": lambda m: m.a - m.b,
    "difference-of-neg": lambda m: op.Add(m.a, m.b),
    "common-factor": lambda m: op.Mul(m.x, op.Add(m.a, m.b)),
    "gemm": lambda m: op.Gemm(m.a, m.b, m.c), "transposes": lambda m: m.x,
    "transposed-product": lambda m: op.Transpose(m.b @ m.a, perm=[1, 0]),
    "unary-of-transpose": lambda m: op.Transpose(op.Relu(m.x), perm=[1, 0]),
    "max-zero": lambda m: op.Relu(m.x), "sigmoid-of-neg": lambda m: 1 - op.Sigmoid(m.x),
    "tanh-by-sigmoid": lambda m: op.Tanh(m.u / 2), "shared-neg": lambda m: op.Mul(m.a, m.b),
    "mean-of-neg": lambda m: -op.ReduceMean(m.x, [-1], keepdims=1), "halves": lambda m: m.x,
    "softmax-of-shift": lambda m: op.Softmax(m.x, axis=-1),
}


def pattern_texts():
    """Match and conditions of each rule, and its name."""
    for rule in RULES:
        name = rule.split()[1]
        body = rule[rule.index("{") + 1:rule.index("replace {")]
        yield name, body + "outputs %y"


class Graphs(ProgramCase):
    def setUp(self):
        super().setUp()
        self.module = sg.Module.parse(TWO)
        self.root = self.module.root

    def test_walking(self):
        self.assertEqual([node.op for node in self.root.nodes], ["MatMul", "Add", "Relu"])
        product = self.root.node("product")
        self.assertEqual([each.name for each in product.inputs], ["x", "w"])
        self.assertEqual((product.output.dims, product.output.dtype), ((2, 4), "f32"))
        self.assertEqual(product.output.users, [self.root.node("sum")])
        self.assertEqual(self.root.value("y").producer, self.root.node("sum"))
        self.assertEqual(str(product.output.type), "f32[2, 4]")
        self.assertTrue(self.root.value("y").is_output)
        self.assertIsNone(self.root.node("nix"))
        self.assertEqual({product: 1}[self.root.nodes[0]], 1)
        self.assertEqual(product["alpha"] if product.attributes else None, None)

    def test_handles_to_what_is_erased(self):
        relu, y = self.root.node("relu"), self.root.value("y")
        result = relu.output
        result.replace_with(self.root.Abs(y))
        relu.erase()
        for use in (lambda: relu.name, lambda: result.type, lambda: relu.erase(),
                    lambda: self.root.Neg(result)):
            with self.assertRaises(sg.ErasedError):
                use()
        self.assertTrue(relu.erased)
        self.module.verify()  # moves what is left
        self.assertEqual(y.name, "y")
        self.assertEqual([node.op for node in self.root.nodes], ["MatMul", "Add", "Abs"])
        with self.assertRaises(sg.ErasedError):
            relu.op

    def test_handles_outlive_their_module(self):
        node = sg.Module.parse(TWO).root.nodes[0]
        gc.collect()
        self.assertEqual(node.op, "MatMul")

    def test_loops_see_the_nodes_of_their_beginning(self):
        seen = []
        for node in self.root.nodes:
            seen.append(node.op)
            if node.op == "MatMul":
                self.root.node("relu").name = "last"
            if node.op == "Relu":
                node.output.replace_with(self.root.Abs(node.inputs[0]))
                node.erase()
        self.assertEqual(seen, ["MatMul", "Add", "Relu"])
        nodes = iter(self.root.nodes)
        self.assertEqual(next(nodes).op, "MatMul")
        self.root.node("sum").output.replace_with(self.root.value("p"))
        self.root.node("sum").erase()
        self.assertEqual([node.op for node in nodes], ["Abs"])

    def test_edits_that_are_refused(self):
        product, relu = self.root.node("product"), self.root.node("relu")
        before = self.module.text()
        for edit, part in (
                (product.erase, "is used"),
                (lambda: self.root.MatMul(self.root.value("x"), self.root.value("x")), "MatMul"),
                (lambda: product.set_input(0, self.root.value("z")), "a cycle"),
                (lambda: product.set_input(0, self.root.value("c")), "MatMul"),
                (lambda: self.root.value("p").replace_with(self.root.value("x")), "is f32[2, 3]"),
                (lambda: self.root.value("p").replace_with(self.root.value("z")), "a cycle"),
                (lambda: relu.__setitem__("axis", 1), "no attribute 'axis'"),
                (lambda: setattr(self.root.value("p"), "type", sg.Type("f32", [3, 4])),
                 "f32[3, 4]"),
                (lambda: self.root.add_node("Reluu", []), "no op 'Reluu'"),
                (lambda: relu.run_after(relu), "a cycle")):
            with self.assertRaises(sg.Error) as caught:
                edit()
            self.assertIn(part, str(caught.exception))
            self.assertEqual(self.module.text(), before)
        with self.assertRaises(AttributeError):
            self.root.Reluu
        with self.assertRaises(sg.Error):
            sg.Module.parse(TWO).root.Relu(self.root.value("y"))

    def test_building(self):
        module = sg.Module()
        graph = module.add_graph("main")
        x = graph.add_input("x", sg.Type("f32", ["N", 4]))
        weights = np.arange(8, dtype="f4").reshape(4, 2)
        product = graph.MatMul(x, graph.constant(weights, name="w"))
        y = graph.Relu(graph.Add(product, 1), name="last")
        first, second = graph.Split(y, outputs=2, axis=1, num_outputs=2)
        first.name = "first"
        graph.add_output(first)
        graph.add_output(second)
        second.name = "second"
        module.verify()
        self.assertEqual(first.dims, ("N", 1))
        given = np.array([[1, -1, 2, 0.5]] * 3, "f4")
        made = module.eval({"x": given})
        np.testing.assert_allclose(np.concatenate([made["first"], made["second"]], axis=1),
                                   np.maximum(given @ weights + 1, 0))
        module.write(self.path("own.sg"))
        again = sg.read(self.path("own.sg"))
        self.assertEqual(sg.diff(module, again), [])
        self.assertEqual(again.text(), module.text())
        array = again.root.value("w").array
        np.testing.assert_array_equal(array, weights)
        self.assertFalse(array.flags.writeable)

    def test_bodies(self):
        module = sg.Module.parse(BRANCH)
        self.assertEqual([graph.name for graph in module.rewritten], ["main", "else", "then"])
        class Twice(sg.PatternPass):
            @sg.pattern
            def form(self, x):
                return -(-x)
            def replacement(self, inputs):
                return inputs.x
        context = sg.Context(module)
        Twice().apply(module, context)
        self.assertEqual([tuple(count[1:3]) for count in context.counts], [(1, 1)])
        module.verify()
        self.assertEqual(len(module.rewritten[2]), 0)
        made = module.eval({"x": np.ones(4, "f4"), "b": np.array(True)})
        np.testing.assert_array_equal(made["y"], np.ones(4))

    def test_kinds_of_passes(self):
        for body in ("run = lambda self, graph, context: None",
                     "patterns = lambda self: []\n  @sg.pattern\n  def form(self, x): return -x"):
            with self.assertRaises(TypeError):
                exec(f"class Bad(sg.PatternPass):\n  {body}\n", {"sg": sg})
        with self.assertRaises(TypeError):
            type("Bad", (sg.DecomposePass,), {"run": lambda self, graph, context: None})
        class Declines(sg.PatternPass):
            def patterns(self):
                return ["match { %y = Relu(%x) } outputs %y"]
            def replacement(self, inputs):
                return None
        context = sg.Context(self.module)
        Declines().apply(self.module, context)
        self.assertEqual(tuple(context.counts[0][1:3]), (1, 0))
        self.assertIn("declined", context.counts[0].obstacle)
        why = Declines().why(sg.Module.parse(TWO.replace("Relu(", "Abs(")))
        self.assertEqual(why[0][1], [])

    def test_replacing(self):
        text = "match { %y = Relu(%x) } outputs %y"
        self.assertEqual(len(self.root.match(text)), 1)
        self.assertEqual(self.module.replace(text, lambda match: op.Abs(match.x),
                                             lambda match: match.x.rank == 3), 0)
        self.assertEqual(self.module.replace(text, lambda match: op.Abs(-match.x)), 1)
        self.assertEqual([node.op for node in self.root.nodes][2:], ["Neg", "Abs"])
        self.module.verify()

    def test_no_edit_within_an_answer(self):
        module = self.module
        class Edits(sg.PatternPass):
            @sg.pattern
            def form(self, x):
                return op.Relu(x)
            def meets(self, match):
                match.node.graph.node("sum").set_input(0, match.node.graph.value("x"))
            def replacement(self, inputs):
                return inputs.x
        with self.assertRaises(sg.Error) as caught:
            Edits().apply(module, sg.Context(module))
        self.assertIn("searched for a pattern", str(caught.exception))
        module.verify()

    def test_modules_without_graph(self):
        module = sg.Module()
        self.assertIn("without graph", repr(module))
        for use in (lambda: module.root, module.verify, module.text, module.to_bytes, module.infer,
                    module.eval, lambda: module.rewritten, lambda: sg.diff(module, module),
                    lambda: module.replace("match { %y = Relu(%x) } outputs %y", op.Abs)):
            with self.assertRaises(sg.Error):
                use()

    def test_nodes_of_other_graphs(self):
        other = sg.Module.parse(TWO).root.node("relu")
        for use in (lambda: self.root.Abs(self.root.value("y"), before=other),
                    lambda: self.root.node("sum").move_before(other),
                    lambda: self.root.add_node("com.acme::X", [])):
            with self.assertRaises(sg.Error):
                use()
            self.module.verify()

    def test_numpy_is_imported_when_it_is_wanted(self):
        script = ("import sys, sluice.graph as sg\nm = sg.Module.parse(sys.argv[1])\n"
                  "m.root.Add(m.root.value('y'), 1.5)\nm.verify()\nprint('numpy' in sys.modules)\n")
        done = subprocess.run([sys.executable, "-c", script, TWO], capture_output=True, text=True,
                              check=True, env={"PYTHONPATH": os.path.join(self.programs, "../lib")})
        self.assertEqual(done.stdout, "False\n")


class DrawnEdits(ProgramCase):
    def draw(self, i):
        text = Drawn(f"{OPTIONS.seed}/{i}").text().replace("typed\n", "typed after preprocess\n")
        return sg.Module.parse(text, f"drawn {i}")

    def test_drawn_edits(self):
        held, raised = 0, 0
        for i in range(OPTIONS.count):
            dice = random.Random(f"edit/{OPTIONS.seed}/{i}")
            module = self.draw(i) if i % 6 else sg.Module.parse(BRANCH)
            inputs = {"x": np.float32(dice.random()) * np.ones((8, 8), "f4"),
                      "z": np.full((8, 8), 0.25, "f4")} if i % 6 else {
                          "x": np.array([1, -2, 3, -4], "f4"), "b": np.array(i % 12 == 0)}
            before = module.eval(inputs)
            keeps = True
            for _ in range(dice.randint(1, 12)):
                edit, edit_keeps = dice.choice(EDITS)
                graph = dice.choice(module.rewritten)
                text = module.text()
                try:
                    edit(graph, dice)
                    held += 1
                    keeps = keeps and edit_keeps
                except sg.Error:
                    raised += 1
                    if edit is not add_some:  # its first nodes stay when a later one fails
                        self.assertEqual(module.text(), text, f"graph {i}")
                module.verify()
            again = sg.read(module.to_bytes())
            self.assertEqual(again.text(), module.text())
            if not keeps:
                continue
            after = module.eval(inputs)
            for name, expected in before.items():
                scale = max(1e-3, float(np.max(np.abs(expected))))
                np.testing.assert_allclose(after[name], expected, rtol=0, atol=1e-4 * scale,
                                           err_msg=f"graph {OPTIONS.seed}/{i} {name}")
        self.assertGreater(held, OPTIONS.count)
        self.assertGreater(raised, OPTIONS.count / 2)

    def test_thirty_rules_as_a_pattern_pass(self):
        texts = list(pattern_texts())
        self.assertEqual(sorted(name for name, _ in texts), sorted(REPLACEMENTS))
        calls = []
        class Thirty(sg.PatternPass):
            def patterns(self):
                return [text for _, text in texts]
            def replacement(self, inputs):
                calls.append(texts[inputs.pattern][0])
                return REPLACEMENTS[calls[-1]](inputs)
        rules = self.path("thirty.rules")
        with open(rules, "w", encoding="ascii") as file:
            file.write("".join(RULES))
        for i in range(OPTIONS.count):
            module = self.draw(i)
            module.write(self.path("g.sg"))
            self.done(0, "sluice-optimize", "--passes=thirty.rules", "--rules", rules,
                      "--unchecked-rules", self.path("g.sg"), "-o", self.path("r.sg"))
            Thirty().apply(module, sg.Context(module))
            module.verify()
            expected = sg.read(self.path("r.sg"))
            self.assertEqual(sg.diff(module, expected), [], f"graph {i}")
            self.assertEqual(re.sub("^sluice.*", "", module.text()),
                             re.sub("^sluice.*", "", expected.text()), f"graph {i}")
        if OPTIONS.count >= 60:
            self.assertGreaterEqual(len(set(calls)), 25)


def pick(graph, dice):
    return dice.choice(list(graph.nodes) or [None])


def values_of(graph):
    return [*graph.inputs, *(value for node in graph.nodes for value in node.outputs)]


def add_some(graph, dice):
    value = dice.choice(values_of(graph))
    for _ in range(dice.randint(1, 3)):
        op_name = dice.choice(["Relu", "Neg", "Abs", "Softmax", "Not", "Transpose"])
        value = getattr(graph, op_name)(value)


def add_identity(graph, dice):
    value = dice.choice(values_of(graph))
    twice = graph.Neg(graph.Neg(value))
    value.replace_with(twice, keep=[twice.producer.inputs[0].producer])


def erase(graph, dice):
    node = pick(graph, dice)
    if node:
        node.erase()


def erase_unused(graph, dice):
    graph.erase_unused()


def replace(graph, dice):
    dice.choice(values_of(graph)).replace_with(dice.choice(values_of(graph)))


def retype(graph, dice):
    dims = dice.choice([[8, 8], [8, 4], [4], [], [None, 8], None])
    types = [sg.Type("f32", dims), sg.Type("i64", dims), None]
    dice.choice(values_of(graph)).type = dice.choice(types)


def rewire(graph, dice):
    node = pick(graph, dice)
    if node and node.inputs:
        node.set_input(dice.randrange(len(node.inputs) + 1), dice.choice(values_of(graph)))


def attribute(graph, dice):
    node = pick(graph, dice)
    if node:
        name = dice.choice(["axis", "perm", "keepdims", "alpha", "to"])
        node[name] = dice.choice([0, 1, [1, 0], -1])


def swap_operands(graph, dice):
    for node in graph.nodes:
        if node.op in ("Add", "Mul") and dice.random() < 0.5:
            a, b = node.inputs
            if a.type == b.type:
                node.set_input(0, b)
                node.set_input(1, a)


def move(graph, dice):
    node = pick(graph, dice)
    if node:
        node.move_before(pick(graph, dice))


# Each edit, and whether it keeps what the graph computes.
EDITS = [(add_some, True), (add_identity, True), (erase, True), (erase_unused, True),
         (replace, False), (retype, True), (rewire, False), (attribute, False),
         (swap_operands, True), (move, True)]

if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["as", "optimize"])
    import_sluice(ProgramCase.programs)
    import sluice.graph as sg
    from sluice.graph import op
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=OPTIONS.count)
    parser.add_argument("--seed", type=int, default=OPTIONS.seed)
    OPTIONS, more = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + more)
