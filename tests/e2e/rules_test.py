#!/usr/bin/python3
"""Files of rules in a compile: their rows, what a graph and a store know of them, other transports.

usage: rules_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import argparse
import json
import os
import random
import sys
import unittest

import numpy as np
from onnx import helper

from models import floats, save
from programs import ProgramCase, bytes_of, need

SWISH = """rule swish {
  match   { %s = Sigmoid(%x)  %y = Mul(%x, %s) commuted }
  replace { %y = Swish(%x) }
}
"""
NONE = """rule none {
  match   { %a = Exp(%x)  %y = Log(%a) }
  replace { %y = %x }
}
"""
ACME = """at = before-infer-shape
rule squared-relu {
  match   { %y = "com.acme::SquaredRelu"(%x) }
  replace { %r = Relu(%x)  %q = Mul(%r, %r)  %y = Mul(%q, attr(%y, slope)) }
}
"""
SKIP = "--skip=optimize:fuse-swish"


class Rules(ProgramCase):
    edits, seed = 40, 20261130

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def model(self, name="m.onnx"):
        save(self.path(name), [helper.make_node("Sigmoid", ["x"], ["s"], "sigmoid"),
                               helper.make_node("Mul", ["s", "x"], ["y"], "product")],
             [floats("x", [4, 64])], [floats("y", [4, 64])], {})
        return self.path(name)

    def compiled(self, *options, name="m.om"):
        self.done(0, "sluice-compile", self.model(), "--quiet", SKIP, *options, "-o",
                  self.path(name))
        return bytes_of(self.path(name))

    def ops(self, graph):
        return self.done(0, "sluice-show", graph).stdout

    def test_a_rule_changes_the_product_and_is_among_its_options(self):
        rules = self.write("mine.rules", SWISH)
        self.assertNotEqual(self.compiled(), self.compiled("--rules", rules))
        self.compiled("--rules", rules, "--stop-after=optimize", name="o.sg")
        self.assertIn("rules.mine.rules", self.done(0, "sluice-show", "--header",
                                                    self.path("o.sg")).stdout)
        refused = self.done(3, "sluice-refit", "--weights=" + self.path("m.onnx"),
                            self.path("m.om"), "-o", self.path("r.om"))
        self.assertIn("mine.rules", refused.stderr)

    def test_rules_that_match_nothing_leave_no_trace(self):
        rules = self.write("none.rules", NONE)
        self.assertEqual(self.compiled(), self.compiled("--rules", rules))
        stop = "--stop-after=optimize"
        self.assertEqual(self.compiled(stop, name="a.sg"),
                         self.compiled(stop, "--rules", rules, name="b.sg"))
        self.write("none.rules", "at = after-infer-shape\n" + NONE)
        self.assertEqual(self.compiled(stop, name="a.sg"),
                         self.compiled(stop, "--rules", rules, name="b.sg"))

    def test_files_run_in_the_order_given(self):
        first = self.write("z.rules", SWISH.replace("Swish(%x)", "Identity(%n)").replace(
            "replace {", "replace { %t = Sigmoid(%x)  %n = Mul(%t, %x) "))
        first = self.write("z.rules", "rule a {\n match { %y = Sigmoid(%x) }\n"
                           " replace { %t = Div(%x, 2)  %h = Tanh(%t)  %p = Div(%h, 2)"
                           "  %y = Add(%p, 0.5) }\n}\n")
        second = self.write("a.rules", SWISH)
        for order in ((first, second), (second, first)):
            self.done(0, "sluice-optimize", self.typed(), "--opt-level=O0", "--rules", order[0],
                      "--rules", order[1], "-o", self.path("o.sg"))
            self.assertEqual("Swish" in self.ops(self.path("o.sg")), order[0] == second)

    def typed(self):
        self.done(0, "sluice-preprocess", self.model(), "-o", self.path("typed.sg"))
        return self.path("typed.sg")

    def test_rows_are_listed_skipped_and_dumped(self):
        rules = self.write("mine.rules", SWISH)
        listed = self.done(0, "sluice-optimize", "--list-passes", "--rules", rules).stdout
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual(names[names.index("mine.rules") - 1], "fuse-mish")
        self.done(0, "sluice-optimize", self.typed(), "--rules", rules,
                  "--skip=mine.rules,fuse-swish", "-o", self.path("o.sg"))
        self.assertNotIn("Swish", self.ops(self.path("o.sg")))
        self.done(0, "sluice-optimize", self.typed(), "--rules", rules, "--opt-level=O0",
                  "--optimization-switch=mine.rules:off", "-o", self.path("o.sg"))
        self.assertNotIn("Swish", self.ops(self.path("o.sg")))
        self.done(0, "sluice-optimize", self.typed(), "--rules", rules, "--skip=fuse-swish",
                  "--dump-dir", self.path("dump"), "-o", self.path("o.sg"))
        self.assertTrue([name for name in os.listdir(self.path("dump")) if "mine.rules" in name])
        self.write("late.rules", "after = eliminate-identities\n" + SWISH)
        listed = self.done(0, "sluice-optimize", "--list-passes", "--rules",
                           self.path("late.rules")).stdout
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual(names[names.index("late.rules") - 1], "eliminate-identities")

    def test_a_stopped_graph_knows_its_rules(self):
        rules = self.write("mine.rules", SWISH)
        whole = self.compiled("--rules", rules)
        self.compiled("--rules", rules, "--stop-after=optimize:mine.rules", name="half.sg")
        half = [self.path("half.sg"), "--quiet", "-o", self.path("again.om")]
        self.done(0, "sluice-compile", *half, "--rules", rules)
        self.assertEqual(whole, bytes_of(self.path("again.om")))
        refused = self.done(3, "sluice-compile", *half)
        self.assertIn("--rules", refused.stderr)
        self.write("mine.rules", SWISH + NONE)
        self.assertIn("mine.rules@", self.done(3, "sluice-compile", *half, "--rules",
                                               rules).stderr)

    def test_a_store_knows_rules_by_content(self):
        rules = self.write("mine.rules", SWISH)
        store = "--store=" + self.path("store")
        plain = self.compiled()
        first = self.compiled(store, "--rules", rules)
        self.assertEqual(first, self.compiled(store, "--rules", rules))
        plan = self.done(0, "sluice-compile", self.model(), "--plan", SKIP, store, "--rules",
                         rules).stdout
        self.assertIn("found", plan)
        self.write("mine.rules", NONE)
        self.assertEqual(plain, self.compiled(store, "--rules", rules))
        self.write("mine.rules", SWISH)
        self.assertEqual(first, self.compiled(store, "--rules", rules))

    def test_edits_never_give_an_old_product(self):
        """Each edit of one character, with a store that has the products of all before it, is the
        same as without: the same error, or the same bytes."""
        draw, text = random.Random(self.seed), "# A rule.\n" + SWISH + NONE
        store, model = "--store=" + self.path("store"), self.model()
        stop = ["-q", "--stop-after=optimize", "--unchecked-rules", SKIP]
        codes = set()
        for i in range(self.edits):
            at = draw.randrange(len(text))
            letter = draw.choice("%{}()=,.-|#\n aSsx09")
            rules = self.write("mine.rules", draw.choice(
                [text[:at] + letter + text[at + 1:], text[:at] + letter + text[at:],
                 text[:at] + text[at + 1:]]))
            done = []
            for name, more in (("a.sg", []), ("b.sg", [store])):
                ran = self.run_program("sluice-compile", model, *stop, *more, "--rules", rules,
                                       "-o", self.path(name))
                self.assertIn(ran.returncode, (0, 3), ran.stderr)
                # With a store, constants lie there: the text of the graph says what it is.
                shown = "" if ran.returncode else self.done(
                    0, "sluice-show", "--header", self.path(name)).stdout
                done.append((ran.returncode, ran.stderr, shown))
            self.assertEqual(*done, (i, self.seed))
            codes.add(done[0][0])
        self.assertEqual(codes, {0, 3})

    def test_other_ways_to_compile_give_the_same(self):
        rules = self.write("folder/mine.rules", SWISH)
        other = self.write("other.rules", NONE)
        options = ("--rules", rules, "--rules", other)
        whole = self.compiled(*options)
        for strategy in (("--transport=files",), ("--transport=zmq",), ("--sandbox",)):
            self.assertEqual(whole, self.compiled(*options, *strategy), strategy)

    def test_a_manifest_has_rules(self):
        rules = self.write("mine.rules", SWISH)
        whole = self.compiled("--rules", rules)
        manifest = self.path("jobs.json")
        with open(manifest, "w", encoding="ascii") as file:
            json.dump({"compiles": [{"model": "m.onnx", "output": "all.om",
                                     "options": {"rules": [rules],
                                                 "skip": "optimize:fuse-swish"}}]}, file)
        self.done(0, "sluice-compile-all", manifest, "--store", self.path("store"), "-o",
                  self.path("out"))
        self.assertEqual(whole, bytes_of(self.path("out/all.om")))

    def test_an_operator_of_another_domain(self):
        node = helper.make_node("SquaredRelu", ["x"], ["y"], "act", domain="com.acme", slope=2.0)
        save(self.path("m.onnx"), [node], [floats("x", [4, 6])], [floats("y", [4, 6])], {},
             domains=[("com.acme", 1)])
        rules = self.write("acme.rules", ACME)
        self.done(4, "sluice-compile", self.path("m.onnx"), "-o", self.path("m.om"))
        self.done(0, "sluice-compile", "-q", self.path("m.onnx"), "--rules", rules, "-o",
                  self.path("m.om"))
        x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
        np.save(self.path("x.npy"), x)
        self.done(0, "sluice-loader", self.path("m.om"), "--input=x=" + self.path("x.npy"),
                  "--output-dir", self.path("out"))
        np.testing.assert_allclose(np.load(self.path("out/y.npy")), 2 * np.maximum(x, 0) ** 2,
                                   rtol=1e-5)
        self.write("acme.rules", ACME.replace("(%x)  }", "(%x, %w) }").replace(
            '"(%x) }', '"(%x, %w) }'))
        refused = self.done(4, "sluice-compile", self.path("m.onnx"), "--rules", rules, "-o",
                            self.path("n.om"))
        self.assertIn("com.acme::SquaredRelu", refused.stderr)
        self.assertFalse(os.path.exists(self.path("n.om")))

    def test_wrong_and_missing_files(self):
        wrong = self.write("wrong.rules", SWISH.replace("Swish(%x)", "Relu(%x)"))
        self.assertIn("are not the same",
                      self.done(3, "sluice-compile", self.model(), "--rules", wrong, "-o",
                                self.path("m.om")).stderr)
        self.compiled("--rules", wrong, "--unchecked-rules")
        self.done(3, "sluice-compile", self.model(), "--rules", self.path("no.rules"), "-o",
                  self.path("n.om"))
        twice = self.write("folder/wrong.rules", SWISH)
        self.assertIn("two files called",
                      self.done(3, "sluice-compile", self.model(), "--rules", wrong, "--rules",
                                twice, "-o", self.path("n.om")).stderr)
        late = self.done(0, "sluice-compile", self.model(), "-q", "--stop-after=partition", "-o",
                         self.path("p.sg"))
        late = self.done(3, "sluice-compile", self.path("p.sg"), "--rules", twice, "-o",
                         self.path("n.om"))
        self.assertIn("too late", late.stderr)
        self.assertFalse(os.path.exists(self.path("n.om")))

    def test_statistics_of_patterns(self):
        rules = self.write("two.rules", SWISH.replace(
            "  replace", "  or      { %s = Tanh(%x)  %y = Add(%x, %s) }\n  replace"))
        self.done(0, "sluice-optimize", self.typed(), "--skip=fuse-swish,fuse-mish", "--rules",
                  rules, "--unchecked-rules", "--stats", self.path("s.json"), "-o",
                  self.path("o.sg"))
        with open(self.path("s.json"), encoding="ascii") as file:
            passes = {row["name"]: row for row in json.load(file)["passes"]}
        once, never = [{"match_times": n, "effect_times": n} for n in (1, 0)]
        self.assertEqual(passes["two.rules"]["rules"],
                         [{"rule": "swish", **once, "patterns": [once, never]}])

    def test_statistics_of_fusion(self):
        rules = self.write("mine.rules", SWISH)
        self.compiled("--rules", rules, "--export-compile-stat=1")
        with open(self.path("fusion_result.json"), encoding="ascii") as file:
            fusions = json.load(file)["session_and_graph_id_0_0"]["graph_fusion"]
        self.assertEqual(fusions["mine.rules/swish"], {"effect_times": "1", "match_times": "1"})
        self.compiled("--export-compile-stat", self.path("f.json"))
        self.compiled("--export-compile-stat=0")
        with open(self.path("f.json"), encoding="ascii") as file:
            self.assertNotIn("mine.rules", file.read())


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "show", "rules", "loader"])
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=Rules.edits)
    parser.add_argument("--seed", type=int, default=Rules.seed)
    known, more = parser.parse_known_args()
    Rules.edits, Rules.seed = known.edits, known.seed
    unittest.main(argv=sys.argv[:1] + more)
