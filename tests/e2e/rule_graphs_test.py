#!/usr/bin/python3
"""Drawn graphs with thirty rules mean the same as without; wrong rules are refused by the check
before use, and named by sluice bisect where they are used all the same.

usage: rule_graphs_test.py FOLDER_OF_PROGRAMS [--count N] [--seed N] [unittest arguments]
"""
import argparse
import json
import os
import random
import shutil
import sys
import unittest

import numpy as np

from programs import ProgramCase, need


def rule(name, match, replace, where=""):
    condition = f"  where {where}\n" if where else ""
    return f"rule {name} {{\n  match {{ {match} }}\n{condition}  replace {{ {replace} }}\n}}\n"


def pair(outer, inner, replace):
    return rule(f"{outer.lower()}-of-{inner.lower()}", f"%a = {inner}(%x)  %y = {outer}(%a)",
                replace)


RULES = [
    pair("Relu", "Relu", "%y = Relu(%x)"), pair("Abs", "Abs", "%y = Abs(%x)"),
    pair("Neg", "Neg", "%y = %x"), pair("Abs", "Neg", "%y = Abs(%x)"),
    pair("Relu", "Abs", "%y = Abs(%x)"), pair("Abs", "Relu", "%y = Relu(%x)"),
    pair("Relu", "Sigmoid", "%y = Sigmoid(%x)"), pair("Abs", "Sigmoid", "%y = Sigmoid(%x)"),
    pair("Neg", "Tanh", "%n = Neg(%x)  %y = Tanh(%n)"),
    rule("zero", "%y = Add(%x, 0) commuted", "%y = %x", "same_type(%x, %y)"),
    rule("one", "%y = Mul(%x, 1) commuted", "%y = %x", "same_type(%x, %y)"),
    rule("scales", "%m = Mul(%x, %a) commuted  %y = Mul(%m, %b) commuted",
         "%y = Mul(%x, value(%a) * value(%b))",
         "constant(%a) and constant(%b) and rank(%a) == 0 and rank(%b) == 0 and rank(%x) >= 1"),
    rule("sums", "%m = Add(%x, %a) commuted  %y = Add(%m, %b) commuted",
         "%y = Add(%x, value(%a) + value(%b))",
         "constant(%a) and constant(%b) and rank(%a) == 0 and rank(%b) == 0 and rank(%x) >= 1"),
    rule("swish", "%u = product(%x) {factor = alpha}  %s = Sigmoid(%u)  %y = product(%x, %s)",
         "%y = Swish(%x) {alpha = alpha}"),
    rule("gelu", "%u = polynomial(%x) {coefficients = [0, 0.70710678]}  %e = Erf(%u)"
         "  %s = Add(%e, 1) commuted  %y = product(%x, %s) {factor = 0.5}", "%y = Gelu(%x)"),
    rule("square", "%y = Mul(%x, %x)", "%y = Pow(%x, 2)"),
    rule("difference", "%n = Neg(%b)  %y = Add(%a, %n) commuted", "%y = Sub(%a, %b)"),
    rule("difference-of-neg", "%n = Neg(%b)  %y = Sub(%a, %n)", "%y = Add(%a, %b)"),
    rule("common-factor", "%p = Mul(%x, %a) commuted  %q = Mul(%x, %b) commuted"
         "  %y = Add(%p, %q) commuted", "%s = Add(%a, %b)  %y = Mul(%x, %s)",
         "same_type(%a, %b) and same_type(%x, %a)"),
    rule("gemm", "%p = MatMul(%a, %b)  %y = Add(%p, %c) commuted", "%y = Gemm(%a, %b, %c)",
         "rank(%a) == 2 and rank(%b) == 2 and broadcasts(%c, %y)"),
    rule("transposes", "%t = Transpose(%x) {perm = [1, 0]}  %y = Transpose(%t) {perm = [1, 0]}",
         "%y = %x", "rank(%x) == 2"),
    rule("transposed-product", "%s = Transpose(%a) {perm = [1, 0]}"
         "  %t = Transpose(%b) {perm = [1, 0]}  %y = MatMul(%s, %t)",
         "%p = MatMul(%b, %a)  %y = Transpose(%p) {perm = [1, 0]}", "rank(%a) == 2"),
    rule("unary-of-transpose", "%t = Transpose(%x) {perm = [1, 0]}  %y = Relu(%t)",
         "%r = Relu(%x)  %y = Transpose(%r) {perm = [1, 0]}", "rank(%x) == 2"),
    rule("max-zero", "%y = Max(%x, 0) commuted", "%y = Relu(%x)", "same_type(%x, %y)"),
    rule("sigmoid-of-neg", "%n = Neg(%x)  %y = Sigmoid(%n)", "%s = Sigmoid(%x)  %y = Sub(1, %s)"),
    rule("tanh-by-sigmoid", "%s = Sigmoid(%u)  %t = Mul(%s, 2) commuted  %y = Sub(%t, 1)",
         "%h = Div(%u, 2)  %y = Tanh(%h)"),
    rule("shared-neg", "%n = Neg(%a) shared  %m = Neg(%b) shared  %y = Mul(%n, %m)",
         "%y = Mul(%a, %b)"),
    rule("mean-of-neg", "%n = Neg(%x)  %y = ReduceMean(%n, [-1]) {keepdims = 1}",
         "%m = ReduceMean(%x, [-1]) {keepdims = 1}  %y = Neg(%m)"),
    rule("halves", "%a, %b = Split(%x) {axis = -1, num_outputs = 2}"
         "  %y = Concat(%a, %b) {axis = -1}", "%y = %x"),
    rule("softmax-of-shift", "%m = ReduceMax(%x, [-1]) {keepdims = 1}  %d = Sub(%x, %m)"
         "  %y = Softmax(%d) {axis = -1}", "%y = Softmax(%x) {axis = -1}"),
]

# Wrong ones that are right for some dtypes, ranks, numbers or operands.
NEARLY_RIGHT = [
    rule("w", "%y = Sum(%x, *)", "%y = %x"),
    rule("w", "%y = Clip(%x, ?, ?)", "%y = %x"),
    rule("w", "%y = Add(%x, %c)", "%y = %x", "near(value(%c), 0, 100)"),
    rule("w", "%y = Clip(%x, -2.0, 2.0)", "%y = %x"),
    rule("w", "%y = Min(%x, 3.0)", "%y = %x"),
    rule("w", "%y = Clip(%x, 0.0, 5.0)", "%y = Relu(%x)"),
    rule("w", "%a = Add(%x, 3.0)  %y = Clip(%a, 0.0, 6.0)", "%y = Add(%x, 3.0)"),
    rule("w", "%y = Softmax(%x) {axis = 1}", "%y = Softmax(%x) {axis = -1}", "rank(%x) >= 2"),
    rule("w", "%a = Transpose(%x)  %y = Transpose(%a)", "%y = %x",
         "rank(%x) >= 2 and attr(%a, perm) == attr(%y, perm)"),
    rule("w", "%q = Div(%x, 2)  %y = Mul(%q, 2)", "%y = %x"),
    rule("w", "%y = Transpose(%x)", "%y = %x"),
    rule("w", "%y = Softmax(%x)", "%y = Softmax(%x) {axis = -1}"),
    rule("w", "%p = MatMul(%a, %b)  %y = Add(%p, %c)", "%y = Gemm(%a, %b, %c) {alpha = 2.0}"),
    rule("w", "%y = Gemm(%a, %b)", "%y = MatMul(%a, %b)"),
]
# Right ones that are hard to draw a graph for.
RIGHT = [
    rule("r", "%y = Relu(%x)", "%y = Max(%x, 0)", 'scope(%y, "/encoder/*")'),
    rule("r", "%y = Relu(%x)", "%y = Max(%x, 0)", "symbolic(%x, 0) and not output(%y)"),
    rule("r", "%n = Not(%c)  %y = Where(%n, 0, %x)", "%y = Where(%c, %x, 0)"),
    # Where it would be wrong it is not applied: the result has another type, or a constant that
    # is no number of the dtype.
    rule("r", "%y = Concat(%x, *) {axis = 0}", "%y = %x"),
    rule("r", "%y = Div(%x, 2)", "%y = Mul(%x, 0.5)"),
    rule("r", "%y = Div(%x, 2)", "%y = Mul(%x, 0.5)", "float(%x)"),
    rule("r", "%y = Log(%e)", "%l = Log(%e)  %y = Identity(%l)"),
    rule("r", "%a = Exp(%x)  %y = Log(%a)", "%y = %x"),
    rule("r", "%y = Sub(%x, %c)", "%n = Neg(%c)  %y = Add(%x, %n)"),
    rule("r", "%a = NonZero(%x)  %y = Neg(%a)", "%b = NonZero(%x)  %y = Mul(%b, -1)"),
]

# Wrong ones, each with nodes that it matches.
UNARY = "  %y: f32[4, 8] = {}(%x)\n"
CHAIN = "  %a: f32[4, 8] = {}(%x)\n  %y: f32[4, 8] = {}(%a)\n"
SUM = "  %y: f32[4, 8] = {}(%x, %z)\n"
WRONG = [
    (pair("Relu", "Neg", "%y = Neg(%x)"), CHAIN.format("Neg", "Relu")),
    (pair("Neg", "Relu", "%y = Relu(%x)"), CHAIN.format("Relu", "Neg")),
    (pair("Tanh", "Abs", "%y = Tanh(%x)"), CHAIN.format("Abs", "Tanh")),
    (pair("Sigmoid", "Neg", "%y = Sigmoid(%x)"), CHAIN.format("Neg", "Sigmoid")),
    (pair("Exp", "Relu", "%y = Exp(%x)"), CHAIN.format("Relu", "Exp")),
    (pair("Abs", "Tanh", "%y = Tanh(%x)"), CHAIN.format("Tanh", "Abs")),
    (pair("Relu", "Tanh", "%y = Tanh(%x)"), CHAIN.format("Tanh", "Relu")),
    (rule("w", "%y = Sub(%a, %b)", "%s = Add(%a, %b)  %y = Neg(%s)"), SUM.format("Sub")),
    (rule("w", "%y = Add(%a, %b)", "%y = Mul(%a, %b)"), SUM.format("Add")),
    (rule("w", "%y = Max(%a, %b)", "%y = Min(%a, %b)"), SUM.format("Max")),
    (rule("w", "%y = Mul(%a, %b)", "%y = Add(%a, %b)"), SUM.format("Mul")),
    (rule("w", "%y = Div(%a, %b)", "%y = Mul(%a, %b)"), SUM.format("Div")),
    (rule("w", "%y = Sub(%a, %b)", "%y = Add(%a, %b)"), SUM.format("Sub")),
    (rule("w", "%y = Softmax(%x)", "%y = LogSoftmax(%x)"), UNARY.format("Softmax")),
    (rule("w", "%y = Sin(%x)", "%y = Cos(%x)"), UNARY.format("Sin")),
    (rule("w", "%y = Softplus(%x)", "%y = Relu(%x)"), UNARY.format("Softplus")),
    (rule("w", "%y = Erf(%x)", "%y = Tanh(%x)"), UNARY.format("Erf")),
    (rule("w", "%y = Gelu(%x)", "%y = Swish(%x)"), UNARY.format("Gelu")),
    (rule("w", "%y = Floor(%x)", "%y = Ceil(%x)"), UNARY.format("Floor")),
    (rule("w", "%y = Sigmoid(%x)", "%y = HardSigmoid(%x)"), UNARY.format("Sigmoid")),
]


class Drawn:
    """A graph over [8, 8] that has what the rules match."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.values, self.count = [], ["x", "z"], 0
        self.constants = {}
        for _ in range(self.random.randint(6, 18)):
            self.values.append(self.random.choice(self.shapes())())
        self.outputs = self.values[-self.random.randint(1, 3):]
        self.outputs = [name for name in dict.fromkeys(self.outputs) if name not in "xz"]

    def node(self, text, kind="f32[8, 8]"):
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"  %{name}: {kind} = {text}")
        return name

    def number(self, number):
        name = f"c{len(self.constants)}"
        return self.constants.setdefault(number, name)

    def old(self):
        return self.random.choice(self.values[-6:])

    def unary(self, name=None):
        op = self.random.choice(["Relu", "Abs", "Neg", "Sigmoid", "Tanh", "Neg"])
        return self.node(f"{op}(%{name or self.old()})")

    def chain(self):
        return self.unary(self.unary())

    def binary(self):
        op = self.random.choice(["Add", "Sub", "Mul"])
        return self.node(f"{op}(%{self.old()}, %{self.old()})")

    def scaled(self):
        op = self.random.choice(["Add", "Mul", "Max", "Div"])
        number = self.number(self.random.choice(["0", "1", "2", "0.5", "-1.5"]))
        if op == "Div":
            number = self.number("2")
        return self.node(f"{op}(%{self.old()}, %{number})")

    def scaled_twice(self):
        name = self.scaled()
        self.values.append(name)
        return self.scaled()

    def gate(self):
        x = self.old()
        gate = self.node(f"Sigmoid(%{x})")
        return self.node(f"Mul(%{x}, %{gate})")

    def gelu(self):
        x = self.old()
        scaled = self.node(f"Mul(%{x}, %{self.number('0.70710678')})")
        error = self.node(f"Erf(%{scaled})")
        total = self.node(f"Add(%{error}, %{self.number('1')})")
        half = self.node(f"Mul(%{x}, %{self.number('0.5')})")
        return self.node(f"Mul(%{half}, %{total})")

    def product(self):
        made = self.node(f"MatMul(%{self.old()}, %{self.old()})")
        made = self.node(f"Mul(%{made}, %{self.number('0.125')})")
        return self.node(f"Add(%{made}, %{self.old()})")

    def transposes(self):
        made = [self.node(f"Transpose(%{self.old()}) {{perm = [1, 0]}}") for _ in range(2)]
        made = self.node(f"MatMul(%{made[0]}, %{made[1]})")
        return self.node(f"Mul(%{made}, %{self.number('0.125')})")

    def factor(self):
        x, a, b = self.old(), self.old(), self.old()
        p, q = self.node(f"Mul(%{x}, %{a})"), self.node(f"Mul(%{b}, %{x})")
        return self.node(f"Add(%{p}, %{q})")

    def halves(self):
        self.count += 1
        a, b = f"v{self.count}a", f"v{self.count}b"
        self.lines.append(f"  %{a}: f32[8, 4], %{b}: f32[8, 4] = Split(%{self.old()}) "
                          "{axis = -1, num_outputs = 2}")
        return self.node(f"Concat(%{a}, %{b}) {{axis = -1}}")

    def softmax(self):
        x = self.old()
        largest = self.node(f"ReduceMax(%{x}, %last) {{keepdims = 1}}", "f32[8, 1]")
        shifted = self.node(f"Sub(%{x}, %{largest})")
        return self.node(f"Softmax(%{shifted}) {{axis = -1}}")

    def sums(self):
        made = self.node(f"Add(%{self.old()}, %{self.number('0.5')})")
        return self.node(f"Add(%{self.number('2')}, %{made})")

    def negatives(self):
        a, b = [self.node(f"Neg(%{self.old()})") for _ in range(2)]
        op = self.random.choice(["Mul", "Sub", "Add"])
        return self.node(f"{op}(%{a}, %{b})")

    def small_product(self):
        small = self.node(f"Mul(%{self.old()}, %{self.number('0.125')})")
        made = self.node(f"MatMul(%{small}, %{self.old()})")
        return self.node(f"Add(%{made}, %{self.old()})")

    def turned(self):
        made = self.node(f"Transpose(%{self.old()}) {{perm = [1, 0]}}")
        if self.random.random() < 0.5:
            made = self.node(f"Relu(%{made})")
        return self.node(f"Transpose(%{made}) {{perm = [1, 0]}}")

    def tanh(self):
        made = self.node(f"Sigmoid(%{self.old()})")
        made = self.node(f"Mul(%{made}, %{self.number('2')})")
        return self.node(f"Sub(%{made}, %{self.number('1')})")

    def mean(self):
        made = self.node(f"Neg(%{self.old()})")
        made = self.node(f"ReduceMean(%{made}, %last) {{keepdims = 1}}", "f32[8, 1]")
        return self.node(f"Mul(%{made}, %{self.old()})")

    def shapes(self):
        return [self.unary, self.chain, self.binary, self.scaled, self.scaled_twice, self.gate,
                self.gelu, self.product, self.transposes, self.factor, self.halves, self.softmax,
                self.chain, self.sums, self.negatives, self.small_product, self.turned, self.tanh,
                self.mean]

    def text(self):
        constants = [f"  %{name} = constant f32[] [{number}]"
                     for number, name in self.constants.items()]
        outputs = ", ".join("%" + name for name in self.outputs)
        return "\n".join(["sluice 1 typed",
                          f"graph @main(%x: f32[8, 8], %z: f32[8, 8]) -> ({outputs}) {{",
                          "  %last = constant i64[1] [-1]", *constants, *self.lines, "}", ""])


class RuleGraphs(ProgramCase):
    count, seed = 40, 20261130

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def values(self, graph):
        shutil.rmtree(graph + ".out", ignore_errors=True)
        self.done(0, "sluice-eval", "--random=3", graph, "--output-dir", graph + ".out")
        return {name: np.load(os.path.join(graph + ".out", name))
                for name in sorted(os.listdir(graph + ".out"))}

    def assert_same(self, before, after, what):
        self.assertEqual(before.keys(), after.keys())
        for name, expected in before.items():
            scale = max(1e-3, float(np.max(np.abs(expected))))
            np.testing.assert_allclose(after[name], expected, rtol=0, atol=1e-4 * scale,
                                       err_msg=f"{what} {name}")

    def test_thirty_rules_on_drawn_graphs(self):
        self.assertEqual(len(RULES), 30)
        rules = self.write("thirty.rules", "".join(RULES))
        self.done(0, "sluice-rules", "check", rules)
        fired = {}
        for i in range(self.count):
            graph = self.path(f"{i}.sg")
            self.done(0, "sluice-as", self.write("g.txt", Drawn(f"{self.seed}/{i}").text()), "-o",
                      graph)
            before = self.values(graph)
            for level in ("O0", "O3"):
                for on in ([], ["--rules", rules, "--unchecked-rules"]):
                    self.done(0, "sluice-optimize", "--opt-level=" + level, *on, graph, "--stats",
                              self.path("s.json"), "-o", self.path("o.sg"))
                    self.assert_same(before, self.values(self.path("o.sg")),
                                     f"graph {self.seed}/{i} {level} {on}")
                    self.count_rules(fired)
        unused = [text.split()[1] for text in RULES if fired.get(text.split()[1], 0) == 0]
        self.assertLessEqual(len(unused), 3 if self.count >= 40 else 30, unused)

    def count_rules(self, fired):
        with open(self.path("s.json"), encoding="ascii") as file:
            for row in json.load(file)["passes"]:
                for each in row.get("rules", []):
                    fired[each["rule"]] = fired.get(each["rule"], 0) + each["effect_times"]

    def test_rules_that_hold_for_some_graphs_only(self):
        for text in NEARLY_RIGHT:
            with self.subTest(text):
                self.assertIn("are not the same", self.done(
                    3, "sluice-rules", "check", self.write("w.rules", text)).stderr)

    def test_right_rules(self):
        for text in RIGHT:
            with self.subTest(text):
                self.done(0, "sluice-rules", "check", self.write("r.rules", text))

    def test_wrong_rules(self):
        self.assertEqual(len(WRONG), 20)
        good = "".join(RULES[9:12])
        for i, (text, nodes) in enumerate(WRONG):
            with self.subTest(text):
                text = text.replace("rule w ", f"rule wrong-{i} ")
                name = text.split()[1]
                rules = self.write("wrong.rules", good + text)
                self.assertIn("are not the same",
                              self.done(3, "sluice-rules", "check", rules).stderr)
                graph = self.path("w.sg")
                self.done(0, "sluice-as", self.write("w.txt", "sluice 1 typed after preprocess\n"
                          "graph @main(%x: f32[4, 8], %z: f32[4, 8]) -> (%y) {\n" + nodes + "}\n"),
                          "-o", graph)
                self.done(3, "sluice-optimize", "--rules", rules, graph, "-o", self.path("o.sg"))
                found = self.done(7, "sluice-bisect", "--json", "-q", "--rules", rules,
                                  "--unchecked-rules", graph)
                found = json.loads(found.stdout)
                self.assertEqual((found["pass"], found.get("rule")), ("wrong.rules", name))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["as", "rules", "optimize", "eval", "bisect"])
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=RuleGraphs.count)
    parser.add_argument("--seed", default=RuleGraphs.seed)
    known, more = parser.parse_known_args()
    RuleGraphs.count, RuleGraphs.seed = known.count, known.seed
    unittest.main(argv=sys.argv[:1] + more)
