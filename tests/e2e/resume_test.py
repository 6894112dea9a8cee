#!/usr/bin/python3
"""A graph that a stage stopped half-way records the list of passes and how many of it ran, and is
resumed in that list alone.

usage: resume_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import sys
import unittest

from onnx import helper

from models import floats, save
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "--profile=cpu-generic"  # runs everywhere


class Resume(ProgramCase):
    def setUp(self):
        super().setUp()
        nodes = [helper.make_node("Identity", ["x"], ["a"], "same"),
                 helper.make_node("Relu", ["a"], ["b"], "act"),
                 helper.make_node("Relu", ["a"], ["c"], "again"),
                 helper.make_node("Add", ["b", "c"], ["y"], "sum")]
        save(self.path("model.onnx"), nodes, [floats("x", [2, 8])], [floats("y", [2, 8])])
        self.program(0, "sluice-preprocess", self.path("model.onnx"), "-o", self.path("typed.sg"))

    def optimize(self, code, source, product, *options):
        return self.program(code, "sluice-optimize", self.path(source), "-o", self.path(product),
                            *options)

    def passes_run(self, source, *options):
        """The names of the passes that ran, in order."""
        self.optimize(0, source, "product.sg", "--stats=" + self.path("stats.json"), *options)
        with open(self.path("stats.json")) as file:
            return [entry["name"] for entry in json.load(file)["passes"]]

    def test_a_pass_that_is_now_skipped(self):
        self.optimize(0, "typed.sg", "half.sg", "--stop-after=eliminate-identities")
        printed = self.optimize(3, "half.sg", "product.sg", "--skip=eliminate-identities")
        self.assertIn("error SL1006", printed)
        before, now = printed.split("here the passes are: ", 1)
        self.assertIn("eliminate-identities", before)
        self.assertNotIn("eliminate-identities", now.split("\n")[0])
        self.assertIn("sluice-optimize: error SL1006",
                      self.program(3, "sluice-compile", "-q", self.path("half.sg"), "-o",
                                   self.path("m.om"), "--skip=optimize:eliminate-identities"))
        self.program(0, "sluice-compile", "-q", self.path("half.sg"), "-o", self.path("m.om"))

    def test_options_that_have_been_read(self):
        """What a stage read when it began cannot change when it goes on; the same again is no
        change."""
        model = self.path("model.onnx")
        self.program(0, "sluice-preprocess", model, "-o", self.path("half.sg"), "--out-nodes=y",
                     "--stop-after=infer-types")
        for option in ("--dim=N=2", "--input-shape=x:2,8", "--out-nodes=b", "--state=y=x",
                       "--zipmap=tensor", "--annotate=" + model, "--strict",
                       "--overridable-inputs=on", "--external-dir=" + self.path(".")):
            with self.subTest(option):
                name = option.split("=")[0]
                for command in (["sluice-preprocess"], ["sluice-compile", "-q"]):
                    printed = self.program(3, *command, self.path("half.sg"), "-o",
                                           self.path("none"), option)
                    self.assertIn(f"sluice-preprocess: error SL1006: {name} is ", printed)
        self.program(0, "sluice-preprocess", self.path("half.sg"), "-o", self.path("whole.sg"),
                     "--out-nodes=y")
        self.program(0, "sluice-preprocess", model, "-o", self.path("once.sg"), "--out-nodes=y")
        with open(self.path("whole.sg"), "rb") as resumed, open(self.path("once.sg"), "rb") as once:
            self.assertEqual(resumed.read(), once.read())

    def resumed_and_once(self, *options):
        """Stops within preprocess and goes on with the same options, and again without them;
        each result has the bytes of one that never stopped."""
        model = self.path("model.onnx")
        self.preprocess(0, model, "half.sg", "--stop-after=2", *options)
        self.preprocess(0, self.path("half.sg"), "more.sg", "--stop-after=infer-types")
        self.preprocess(0, model, "once.sg", *options)
        expected = bytes_of(self.path("once.sg"))
        for half in ("half.sg", "more.sg"):
            for again in (options, ()):
                self.preprocess(0, self.path(half), "whole.sg", *again)
                self.assertEqual(bytes_of(self.path("whole.sg")), expected)
        return expected

    def preprocess(self, code, source, product, *options):
        return self.program(code, "sluice-preprocess", source, "-o", self.path(product), *options)

    def save_rules(self, name, label):
        with open(self.path(name), "w") as file:
            json.dump([{"op": "Relu", "set": {"stream_label": label}}], file)
        return "--annotate=" + self.path(name)

    def test_rules_are_the_same_by_their_content(self):
        self.resumed_and_once(self.save_rules("rules.json", "left"))
        half = self.path("half.sg")
        self.preprocess(0, half, "whole.sg", self.save_rules("copy.json", "left"))
        printed = self.preprocess(3, half, "none", self.save_rules("rules.json", "right"))
        self.assertIn("had begun with another content of such a file", printed)
        self.preprocess(3, half, "none", "--annotate=" + self.path("absent.json"))

    def test_an_external_folder_is_the_same_by_its_place(self):
        folder = self.path("data")
        os.mkdir(folder)
        product = self.resumed_and_once("--external-dir=" + folder)
        self.assertNotIn(folder.encode(), product)
        half = self.path("half.sg")
        self.preprocess(0, half, "whole.sg", "--external-dir=" + folder + "/../data")
        printed = self.preprocess(3, half, "none", "--external-dir=" + self.path("."))
        self.assertIn(f"had begun with '{folder}'", printed)

    def test_strict_holds_until_the_stage_ends(self):
        strict = self.resumed_and_once("--strict")
        self.assertEqual(strict, self.resumed_and_once())
        x, wide = floats("x", [3, 2, 8]), floats("w", [2, 8])  # normalised are the last 8 alone
        save(self.path("wide.onnx"), [helper.make_node("LayerNormalization", ["x", "w"], ["y"])],
             [x, wide], [floats("y", [3, 2, 8])], opset=17)
        self.preprocess(0, self.path("wide.onnx"), "half.sg", "--strict", "--stop-after=2")
        for again in ([], ["--strict"]):
            self.assertIn("wider than the dims that are normalised",
                          self.preprocess(3, self.path("half.sg"), "none", *again))

    def test_text_keeps_the_options_that_have_been_read(self):
        rules = self.save_rules("rules.json", "left")
        self.preprocess(0, self.path("model.onnx"), "half.sg", "--strict", rules,
                        "--stop-after=infer-types")
        self.program(0, "sluice-show", "--header", self.path("half.sg"), "-o",
                     self.path("half.txt"))
        with open(self.path("half.txt")) as file:
            text = file.read()
        self.assertIn('option "preprocess.strict" = "on"\n', text)
        self.program(0, "sluice-as", self.path("half.txt"), "-o", self.path("again.sg"))
        self.preprocess(0, self.path("again.sg"), "whole.sg", "--strict", rules)
        with open(self.path("bad.txt"), "w") as file:
            file.write(text.replace('strict" = "on"', 'strict" = "maybe"'))
        self.program(0, "sluice-as", self.path("bad.txt"), "-o", self.path("bad.sg"))
        self.assertIn("error SL1003: the file carries an option that cannot be: --strict is "
                      "'maybe'", self.preprocess(3, self.path("bad.sg"), "none"))

    def test_passes_say_exactly_what_runs(self):
        chosen = "--passes=eliminate-identities,eliminate-dead-nodes"
        self.optimize(0, "typed.sg", "half.sg", chosen, "--stop-after=1")
        for source, more in (("half.sg", []), ("typed.sg", [chosen])):
            printed = self.optimize(3, source, "product.sg", *more, "--skip=eliminate-dead-nodes")
            self.assertIn("beside --passes, which says exactly what runs", printed)

    def test_a_pass_that_stands_twice_in_the_list(self):
        names = ["eliminate-identities", "eliminate-dead-nodes", "eliminate-identities",
                 "eliminate-common-subexpressions"]
        chosen = "--passes=" + ",".join(names)
        self.assertEqual(self.passes_run("typed.sg", chosen), names)
        for done in (1, 2, 3):
            self.optimize(0, "typed.sg", "half.sg", chosen, f"--stop-after={done}")
            self.assertEqual(self.passes_run("half.sg"), names[done:])
            self.assertEqual(self.passes_run("half.sg", chosen), names[done:])
            printed = self.program(0, "sluice-show", self.path("half.sg")).split("\n")[0]
            self.assertEqual(printed, "sluice 1 typed after preprocess stopped after %d of %s" %
                             (done, ", ".join(f'"{name}"' for name in names)))
        self.assertIn("here the passes are: " + ", ".join(f"'{name}'" for name in names[:3]),
                      self.optimize(3, "half.sg", "product.sg", "--passes=" + ",".join(names[:3])))
        self.assertIn("--stop-after is 2, and the graph has been through 3 passes",
                      self.optimize(3, "half.sg", "product.sg", "--stop-after=2"))

    def test_a_skipped_pass_stays_skipped(self):
        skip = "--skip=eliminate-identities"
        everything = self.passes_run("typed.sg", skip)
        self.assertNotIn("eliminate-identities", everything)
        self.optimize(0, "typed.sg", "half.sg", skip, "--stop-after=2")
        self.assertEqual(self.passes_run("half.sg"), everything[2:])
        self.assertIn("error SL1006", self.optimize(3, "half.sg", "product.sg", "--opt-level=O0"))

    def test_another_stage(self):
        self.optimize(0, "typed.sg", "half.sg", "--stop-after=1")
        printed = self.program(3, "sluice-partition", self.path("half.sg"), "-o",
                               self.path("product.sg"), PROFILE)
        self.assertIn("in another stage", printed)

    def test_text_keeps_the_record(self):
        self.optimize(0, "typed.sg", "half.sg", "--stop-after=1")
        self.program(0, "sluice-show", self.path("half.sg"), "-o", self.path("half.txt"))
        self.program(0, "sluice-as", self.path("half.txt"), "-o", self.path("again.sg"))
        self.assertEqual(self.passes_run("again.sg"), self.passes_run("half.sg"))
        with open(self.path("bad.txt"), "w") as file:
            file.write('sluice 1 typed after preprocess stopped after 1 of "a"\n'
                       'graph @main(%x: f32[4]) -> (%x) {\n}\n')
        self.assertIn("1 of 1 passes",
                      self.program(3, "sluice-as", self.path("bad.txt"), "-o", self.path("bad.sg")))


if __name__ == "__main__":
    Resume.programs = need(sys.argv.pop(1), ["as", "compile", "show", *STAGES])
    unittest.main(verbosity=2)
