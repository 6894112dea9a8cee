#!/usr/bin/python3
"""What lowering and building must keep: small text graphs of contractions with every epilogue. They
go, several in one model, through sluice-partition and sluice-subgraph-optimize; sluice-eval of the
typed graph, sluice-eval of the lowered graph and sluice-loader on the built model must agree. The
memory and stream checkers run on every model built here.

usage: semantics_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PROGRAMS = None
PROFILE = "cpu-generic"  # runs everywhere
TOGETHER = 10  # cases in one model


def fused(operands, inputs, anchor, result, ops):
    """A graph whose only node is Fused: `ops` are lines of its body."""
    declare = ", ".join(f"%{name}: {kind}" for name, kind in operands.items())
    lines = "\n".join(f"  {line}" for line in [anchor, *ops])
    return (f"graph @main({declare}) -> (%y) {{\n  %y: {result} = Fused({inputs}) {{anchor = 0, "
            f"body = @main.f0}}\n}}\n"
            f"graph @main.f0({declare}) -> (%r) fused {{\n{lines}\n}}\n")


def shape_text(dims):
    return f"f32[{', '.join(map(str, dims))}]"


def broadcasts(a, b):
    """One product for every form of operand that broadcasts to it: Fused nodes side by side, each
    with an Add."""
    product = np.matmul(np.zeros(a), np.zeros(b)).shape
    forms = {tuple(n if kept else 1 for n, kept in zip(product, mask))[drop:]
             for mask in itertools.product((0, 1), repeat=len(product))
             for drop in range(len(product) + 1) if not any(mask[:drop])}
    return with_operands({"x": shape_text(a), "w": shape_text(b)}, shape_text(product),
                         "MatMul(%x, %w)", sorted(forms))


def with_operands(operands, result, anchor, forms):
    """Fused nodes side by side, each with an Add of an operand of another form."""
    declare = ", ".join(f"%{name}: {kind}" for name, kind in operands.items())
    inputs = "".join(f", %c{i}: {shape_text(form)}" for i, form in enumerate(forms))
    results = ", ".join(f"%y{i}" for i in range(len(forms)))
    text = f"graph @main({declare}{inputs}) -> ({results}) {{\n"
    text += "".join(f"  %y{i}: {result} = Fused(%x, %w, %c{i}) {{anchor = 0, body = "
                    f"@main.f{i}}}\n" for i in range(len(forms))) + "}\n"
    for i, form in enumerate(forms):
        text += (f"graph @main.f{i}({declare}, %c: {shape_text(form)}) -> (%r) fused {{\n"
                 f"  %m: {result} = {anchor}\n  %r: {result} = Add(%m, %c)\n}}\n")
    return text


MATMUL = {"x": "f32[5, 7]", "w": "f32[7, 9]"}
CONV = {"x": "f32[2, 6, 7, 8]", "w": "f32[10, 6, 3, 3]"}
M, C = "f32[5, 9]", "f32[2, 10, 7, 8]"
UNARY = [("Relu", ""), ("Sigmoid", ""), ("Tanh", ""), ("Erf", ""), ("Exp", ""), ("Neg", ""),
         ("Abs", ""), ("HardSwish", ""), ("LeakyRelu", "{alpha = 0.3}"),
         ("HardSigmoid", "{alpha = 0.3, beta = 0.4}"), ("Elu", "{alpha = 0.7}"), ("Gelu", ""),
         ("Gelu", '{approximate = "tanh"}'), ("Swish", ""), ("Swish", "{alpha = 1.7}"),
         ("Softplus", ""), ("Softsign", ""), ("Mish", ""), ("Selu", ""), ("Celu", "{alpha = 0.6}"),
         ("ThresholdedRelu", "{alpha = 0.4}"), ("Shrink", "{bias = 0.1, lambd = 0.2}"),
         ("Sin", ""), ("Cos", ""), ("Atan", ""), ("Asinh", ""), ("Sign", ""), ("Floor", ""),
         ("Ceil", ""), ("Round", "")]
BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu"]
# Forms of operands that are broadcast to C; those that no kernel takes run on another engine.
FORMS = [(2, 10, 7, 8), (1, 10, 7, 8), (10, 7, 8), (2, 10, 1, 1), (1, 10, 1, 1), (10, 1, 1),
         (2, 1, 7, 8), (1, 1, 7, 8), (7, 8), (2, 1, 1, 1), (1, 1, 7, 1), (8,), ()]
CONVS = {"conv": (CONV, " {pads = [1, 1, 1, 1]}"),
         "pointwise": ({"x": "f32[2, 6, 7, 8]", "w": "f32[10, 6, 1, 1]"}, ""),
         "first": ({"x": "f32[2, 1, 7, 8]", "w": "f32[10, 1, 3, 3]"}, " {pads = [1, 1, 1, 1]}"),
         "depthwise": ({"x": "f32[2, 10, 7, 8]", "w": "f32[10, 1, 3, 3]"},
                       " {group = 10, pads = [1, 1, 1, 1]}")}


def cases():
    for op, attributes in UNARY:
        yield f"matmul-{op} {attributes}", fused(
            MATMUL, "%x, %w", f"%m: {M} = MatMul(%x, %w)", M, [f"%r: {M} = {op}(%m) {attributes}"])
        yield f"conv-{op} {attributes}", fused(
            CONV, "%x, %w", f"%m: {C} = Conv(%x, %w) {{pads = [1, 1, 1, 1]}}", C,
            [f"%r: {C} = {op}(%m) {attributes}"])
    yield "matmul-sqrt", fused(MATMUL, "%x, %w", f"%m: {M} = MatMul(%x, %w)", M,
                               [f"%a: {M} = Abs(%m)", f"%r: {M} = Sqrt(%a)"])
    yield "matmul-reciprocal", fused(MATMUL, "%x, %w", f"%m: {M} = MatMul(%x, %w)", M,
                                     [f"%a: {M} = Exp(%m)", f"%r: {M} = Reciprocal(%a)"])
    for op in BINARY:
        for name, kind in {"full": M, "column": "f32[9]", "row": "f32[5, 1]",
                           "one": "f32[]"}.items():
            yield f"matmul-{op}-{name}", fused(dict(MATMUL, b=kind), "%x, %w, %b",
                                               f"%m: {M} = MatMul(%x, %w)", M,
                                               [f"%r: {M} = {op}(%m, %b)"])
        yield f"matmul-{op}-swapped", fused(dict(MATMUL, b=M), "%x, %w, %b",
                                            f"%m: {M} = MatMul(%x, %w)", M,
                                            [f"%r: {M} = {op}(%b, %m)"])
        yield f"conv-{op}-full", fused(dict(CONV, b=C), "%x, %w, %b", f"%m: {C} = Conv(%x, %w) "
                                       f"{{pads = [1, 1, 1, 1]}}", C, [f"%r: {C} = {op}(%m, %b)"])
    for kind, (operands, attributes) in CONVS.items():
        yield f"{kind} and operands", with_operands(operands, C, f"Conv(%x, %w){attributes}", FORMS)
    yield "matmul-where", fused(dict(MATMUL, b="f32[9]"), "%x, %w, %b",
                                f"%m: {M} = MatMul(%x, %w)", M,
                                ["%k = constant f32[] [-1]", "%l: bool[5, 9] = Less(%m, %b)",
                                 "%n: bool[5, 9] = Not(%l)", f"%r: {M} = Where(%n, %m, %k)"])
    yield "matmul-pow", fused(MATMUL, "%x, %w", f"%m: {M} = MatMul(%x, %w)", M,
                              ["%k = constant i64[] [2]", "%h = constant f32[] [0.7]",
                               f"%s: {M} = Pow(%m, %k)", f"%r: {M} = Pow(%s, %h)"])
    yield "clip between operands", fused(
        dict(MATMUL, l="f32[]", h="f32[1]"), "%x, %w, %l, %h", f"%m: {M} = MatMul(%x, %w)", M,
        [f"%r: {M} = Clip(%m, %l, %h)"])
    yield "constant-inside", fused(MATMUL, "%x, %w", f"%m: {M} = MatMul(%x, %w)", M,
                                   ["%k = constant f32[] [2.5]",
                                    "%v = constant f32[9] [1, 2, 3, 4, 5, 6, 7, 8, 9]",
                                    f"%a: {M} = Mul(%m, %k)", f"%r: {M} = Add(%a, %v)"])
    yield "clip", fused(MATMUL, "%x, %w", f"%m: {M} = MatMul(%x, %w)", M,
                        ["%l = constant f32[] [-0.25]", "%h = constant f32[] [0.5]",
                         f"%r: {M} = Clip(%m, %l, %h)"])
    for a, b, c in [("7", "7, 9", "9"), ("5, 7", "7", "5"), ("7", "7", ""),
                    ("3, 5, 7", "7, 9", "3, 5, 9"), ("3, 5, 7", "3, 7, 9", "3, 5, 9"),
                    ("5, 7", "3, 7, 9", "3, 5, 9"), ("2, 1, 5, 7", "3, 7, 9", "2, 3, 5, 9"),
                    ("7", "3, 7, 9", "3, 9"), ("3, 5, 7", "7", "3, 5"),
                    ("1, 1, 1", "1, 1", "1, 1, 1")]:
        plain = (f"graph @main(%x: f32[{a}], %w: f32[{b}]) -> (%y) {{\n"
                 f"  %y: f32[{c}] = MatMul(%x, %w)\n}}\n")
        yield f"matmul {a} x {b}", plain
        size = int(np.prod([int(d) for d in b.split(", ")]))
        numbers = ", ".join(str(round(float(v), 3))
                            for v in np.random.default_rng(1).normal(size=size))
        if size * 4 <= 1024:
            yield f"matmul {a} x constant {b}", (f"graph @main(%x: f32[{a}]) -> (%y) {{\n"
                                                 f"  %w = constant f32[{b}] [{numbers}]\n"
                                                 f"  %y: f32[{c}] = MatMul(%x, %w)\n}}\n")
    for a, b in [([5], [4, 5, 6]), ([5], [2, 3, 5, 6]), ([2, 4, 5], [5]), ([3, 2, 4, 5], [5]),
                 ([5], [5, 6]), ([4, 5], [5]), ([5], [5]), ([1, 5], [4, 5, 6]), ([5], [2, 3, 5, 1]),
                 ([2, 3, 1, 5], [5]), ([2, 3, 4, 5], [3, 5, 6]), ([4, 5], [2, 3, 5, 6]),
                 ([2, 1, 4, 5], [1, 3, 5, 6])]:
        yield f"broadcasts to {a} x {b}", broadcasts(a, b)
    yield "gemm that does not read its bias", fused(dict(MATMUL, c=M), "%x, %w, %c",
                                                    f"%m: {M} = Gemm(%x, %w, %c) {{beta = 0.0}}", M,
                                                    [f"%r: {M} = Relu(%m)"])
    for ta in (0, 1):
        for tb in (0, 1):
            for bias in ("", "f32[9]", "f32[5, 1]", "f32[5, 9]", "f32[]"):
                x, w = ("7, 5" if ta else "5, 7"), ("9, 7" if tb else "7, 9")
                third, name = (f", %c: {bias}", ", %c") if bias else ("", "")
                yield (f"gemm {ta}{tb} {bias}",
                       (f"graph @main(%x: f32[{x}], %w: f32[{w}]{third}) -> (%y) {{\n"
                        f"  %y: {M} = Gemm(%x, %w{name}) "
                        f"{{alpha = 0.5, beta = 1.5, transA = {ta}, transB = {tb}}}\n}}\n"))
    yield ("conv plain",
           "graph @main(%x: f32[2, 6, 7, 8], %w: f32[10, 6, 3, 3], %b: f32[10]) -> (%y) {\n"
           "  %y: f32[2, 10, 3, 3] = Conv(%x, %w, %b) {strides = [2, 2]}\n}\n")
    yield ("conv groups", "graph @main(%x: f32[1, 6, 7, 8], %w: f32[4, 3, 3, 2]) -> (%y) {\n"
           "  %y: f32[1, 4, 7, 8] = Conv(%x, %w) "
           "{group = 2, dilations = [2, 1], pads = [2, 0, 2, 1]}\n}\n")
    yield ("conv depthwise", "graph @main(%x: f32[1, 6, 7, 8], %w: f32[6, 1, 3, 3]) -> (%y) {\n"
           "  %y: f32[1, 6, 7, 8] = Conv(%x, %w) {group = 6, pads = [1, 1, 1, 1]}\n}\n")
    yield ("shared residual", f"graph @main(%x: {M}, %w: f32[9, 9]) -> (%y, %z) {{\n"
           f"  %a: {M} = MatMul(%x, %w)\n"
           f"  %y: {M} = Fused(%a, %w) {{anchor = 0, body = @main.f0}}\n"
           f"  %z: {M} = Fused(%a, %w) {{anchor = 0, body = @main.f1}}\n}}\n" +
           "".join(f"graph @main.f{i}(%a: {M}, %w: f32[9, 9]) -> (%r) fused {{\n"
                   f"  %m: {M} = MatMul(%a, %w)\n  %r: {M} = Add(%m, %a)\n}}\n" for i in (0, 1)))


def lone_cases():
    """Each a model of its own: outputs that are inputs, constants or views of each other; what
    nobody reads; no elements; no nodes."""
    yield ("outputs", "graph @main(%x: f32[2, 3]) -> (%x, %k, %v, %n, %u, %w) {\n"
           "  %k = constant f32[2] [1, 2]\n  %s = constant i64[1] [6]\n"
           "  %v: f32[6] = Reshape(%x, %s)\n  %n: f32[2, 3] = Neg(%x)\n"
           "  %u: f32[6] = Reshape(%n, %s)\n  %w: f32[6] = Reshape(%u, %s)\n"
           "  %dead: f32[2, 3] = Exp(%x)\n}\n")
    yield ("absent", "graph @main(%x: f32[2, 3]) -> (%y) {\n  %h = constant f32[] [0.25]\n"
           "  %y: f32[2, 3] = Clip(%x, _, %h)\n}\n")
    yield ("no elements", "graph @main(%x: f32[0, 3]) -> (%y, %z) {\n  %y: f32[0, 3] = Relu(%x)\n"
           "  %z: f32[0, 3] = Exp(%y)\n}\n")
    yield "no nodes", "graph @main(%x: f32[3]) -> (%x) {\n}\n"


HEAD = re.compile(r"graph @main\(([^)]*)\) -> \(([^)]*)\) \{\n(.*?)^\}\n", re.M | re.S)


def joined(texts):
    """One graph that computes what all of them do, side by side: names of the k-th begin with
    ck_."""
    inputs, outputs, lines, bodies = [], [], "", ""
    for k, text in enumerate(texts):
        text = re.sub(r"%(\w)", rf"%c{k}_\1", text).replace("@main.", f"@main.c{k}")
        head = HEAD.match(text)
        inputs, outputs = inputs + [head[1]], outputs + [head[2]]
        lines, bodies = lines + head[3], bodies + text[head.end():]
    return (f"graph @main({', '.join(inputs)}) -> ({', '.join(outputs)}) {{\n{lines}}}\n{bodies}")


def run(*words, data=None):
    done = subprocess.run([os.path.join(PROGRAMS, words[0]), *words[1:]], input=data,
                          capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def outputs(folder):
    return {os.path.basename(path): np.load(path) for path in sorted(glob.glob(folder + "/*.npy"))}


class Semantics(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            place = lambda name: os.path.join(folder, name)
            typed = run("sluice-as", data=("sluice 1 typed\n" + text).encode())
            cut = run("sluice-partition", f"--profile={PROFILE}", "--verify=each", data=typed)
            lowered = run("sluice-subgraph-optimize", "--verify=each", data=cut)
            run("sluice-build", "-o", place("m.om"), data=lowered)
            run("sluice-verify", place("m.om"))
            run("sluice-partition", f"--profile={PROFILE}", f"--split={place('split')}", data=typed)
            files = []
            for path in sorted(glob.glob(place("split/*.sg"))):
                if not path.endswith("root.sg"):
                    files.append(path + ".lowered")
                    run("sluice-subgraph-optimize", path, "-o", files[-1])
            for kind, data in (("typed", typed), ("lowered", lowered)):
                run("sluice-eval", "--random=1", "--output-dir=" + place(kind), data=data)
            run("sluice-loader", "--random=1", "--threads=2", "--output-dir=" + place("device"),
                place("m.om"))
            if files:
                run("sluice-build", place("split/root.sg"), *files, "-o", place("linked.om"))
                run("sluice-verify", place("linked.om"))
                run("sluice-loader", "--random=1", "--output-dir=" + place("linked"),
                    place("linked.om"))
            wanted = outputs(place("typed"))
            self.assertTrue(wanted)
            for kind in ["lowered", "device"] + (["linked"] if files else []):
                found = outputs(place(kind))
                self.assertEqual(list(found), list(wanted), kind)
                for name, value in wanted.items():
                    self.assertEqual(found[name].shape, value.shape, (kind, name))
                    limit = (1e-5 * max(1.0, float(np.max(np.abs(value), initial=0)))
                             if value.dtype.kind == "f" else 0)
                    worst = float(np.max(np.abs(found[name].astype(np.float64) - value), initial=0))
                    self.assertLessEqual(worst, limit, (kind, name))

    def test_side_by_side(self):
        every = list(cases())
        for first in range(0, len(every), TOGETHER):
            names, texts = zip(*every[first:first + TOGETHER])
            with self.subTest("; ".join(f"c{k}: {name}" for k, name in enumerate(names))):
                self.check(joined(texts))

    def test_each_alone(self):
        for name, text in lone_cases():
            with self.subTest(name):
                self.check(text)


if __name__ == "__main__":
    PROGRAMS = sys.argv.pop(1)
    unittest.main()
