#!/usr/bin/python3
"""Switches of passes: --fusion-switch-file and --optimization-switch, which wins over it. Among
them scenario 58 of the catalogue: a file that is missing or wrong switches nothing and ends no
program by a signal; here it is an error.

usage: switches_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import sys
import unittest

from onnx import helper

from models import floats, save
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "--profile=cpu-generic"  # runs everywhere
ELEMENTWISE = "fuse-elementwise"  # level O3; what the model below needs


class Switches(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = self.path("model.onnx")
        nodes = [helper.make_node("Relu", ["x"], ["a"], "act"),
                 helper.make_node("Exp", ["a"], ["b"], "exp"),
                 helper.make_node("Identity", ["b"], ["c"], "same"),
                 helper.make_node("Neg", ["c"], ["y"], "neg")]
        save(self.model, nodes, [floats("x", [2, 8])], [floats("y", [2, 8])])

    def file(self, content, name="switches.json"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return "--fusion-switch-file=" + self.path(name)

    def switches(self, names, name="switches.json"):
        return self.file({"Switch": {"GraphFusion": names}}, name)

    def compile(self, *options, code=0, source=None, product="model.om"):
        """What is printed; a graph that work goes on with has the profile."""
        begun = [self.path(source)] if source else [self.model, PROFILE]
        return self.program(code, "sluice-compile", "-q", *begun, "-o", self.path(product),
                            *options)

    def passes_run(self, *options):
        """Names of passes, of all stages."""
        self.compile("--stats=" + self.path("stats.json"), *options)
        with open(self.path("stats.json"), encoding="utf-8") as file:
            return [row["name"] for stage in json.load(file)["stages"] for row in stage["passes"]]

    def made(self, *options):
        self.compile(*options)
        return bytes_of(self.path("model.om"))

    def passes_of(self, stage):
        printed = self.program(0, "sluice-" + stage, "--list-passes")
        return [line.split()[0] for line in printed.splitlines()]

    def test_the_table_of_names_is_that_of_the_stages(self):
        """A name that any stage has is taken by each stage, and one that none has by none."""
        self.compile("--stop-after=preprocess", product="typed.sg")
        names = [name for stage in STAGES for name in self.passes_of(stage)]
        self.assertEqual(len(names), len(set(names)))
        everything = "--optimization-switch=" + ";".join(name + ":on" for name in names)
        self.program(0, "sluice-optimize", self.path("typed.sg"), "-o", self.path("x.sg"),
                     everything)
        for program, code in [("sluice-" + stage, 3) for stage in STAGES] + [("sluice-check", 3)]:
            printed = self.program(code, program, self.model,
                                   "--optimization-switch=fuse-elementwize:on")
            self.assertIn(f"{program}: error SL1006: --optimization-switch: no stage has the pass "
                          "'fuse-elementwize'", printed)
            self.assertIn("hint: did you mean 'fuse-elementwise'?", printed)
        printed = self.compile("--optimization-switch=GeluFusionPass:off", code=3)
        self.assertIn("sluice-compile: error SL1006", printed)
        self.assertIn("--list-passes", printed)

    def test_passes_are_turned_off_and_on(self):
        usual, needed = self.passes_run(), self.passes_run("--opt-level=O0")
        for name in (ELEMENTWISE, "fold-constants", "merge-equal-nodes"):
            without = [each for each in usual if each != name]
            for option in (self.switches({name: "off"}), f"--optimization-switch={name}:off"):
                self.assertEqual(self.passes_run(option), without)
            for option in (self.switches({name: "on"}), f"--optimization-switch={name}:on"):
                self.assertEqual(sorted(self.passes_run("--opt-level=O0", option)),
                                 sorted([*needed, name]))

    def test_all_of_them(self):
        usual, clean = self.passes_run(), self.passes_run("--opt-level=O1")
        self.assertEqual(self.passes_run("--optimization-switch=ALL:off"), clean)
        self.assertEqual(self.passes_run(self.switches({"ALL": "off"})), clean)
        self.assertEqual(self.passes_run("--opt-level=O0", "--optimization-switch=ALL:on"), usual)
        self.assertEqual(
            sorted(self.passes_run(self.switches({"ALL": "off", ELEMENTWISE: "on"}))),
            sorted([*clean, ELEMENTWISE]))

    def test_the_option_wins_over_the_file(self):
        file = self.switches({"ALL": "off", "merge-equal-nodes": "on"})
        ran = self.passes_run(file, f"--optimization-switch={ELEMENTWISE}:on")
        self.assertIn(ELEMENTWISE, ran)
        self.assertIn("merge-equal-nodes", ran)
        self.assertNotIn("fuse-gelu", ran)
        ran = self.passes_run(file, "--optimization-switch=merge-equal-nodes:off")
        self.assertNotIn("merge-equal-nodes", ran)
        # Its ALL wins over names of the file.
        self.assertNotIn("merge-equal-nodes",
                         self.passes_run(file, "--optimization-switch=ALL:off"))

    def test_beside_other_lists(self):
        on = f"--optimization-switch={ELEMENTWISE}:on"
        printed = self.compile(f"--skip=optimize:{ELEMENTWISE}", on, code=3)
        self.assertIn(f"error SL1006: --optimization-switch turns '{ELEMENTWISE}' on and --skip",
                      printed)
        self.assertNotIn(ELEMENTWISE, self.passes_run(f"--skip=optimize:{ELEMENTWISE}",
                                                      "--optimization-switch=ALL:on"))
        exact = "--passes=optimize:eliminate-dead-nodes"
        printed = self.compile(exact, on, code=3)
        self.assertIn(f"--optimization-switch has '{ELEMENTWISE}' beside --passes", printed)
        self.assertNotIn(ELEMENTWISE, self.passes_run(exact, "--optimization-switch=ALL:on"))

    def test_scenario_58(self):
        """What is wrong with the file is said, with file and key; nothing is written."""
        example = 'hint: such as {"Switch": {"GraphFusion": {"ALL": "off", "fuse-gelu": "on"}}}'
        self.assertIn("error SL1004",
                      self.compile("--fusion-switch-file=" + self.path("absent.json"), code=3))
        for content, words in (
                ("{", ["not valid JSON"]), ("", ["not valid JSON"]),
                ("[1]", ["this is no object", example]),
                ("{}", ["'Switch' is missing", example]),
                ({"Switch": "off"}, ["'Switch' is no object", example]),
                ({"Switch": {"GraphFusion": ["ALL"]}}, ["'Switch.GraphFusion' is no object"]),
                ({"Switch": {"GraphFusion": {"ALL": 1}}},
                 ["'Switch.GraphFusion.ALL' is 1, expected \"on\" or \"off\""]),
                ({"Switch": {"UBFusion": {"ALL": "true"}}},
                 ["'Switch.UBFusion.ALL'", "is 'true', expected on or off"]),
                ({"Switch": {"GraphFusion": {"fuse-gelo": "on"}}},
                 ["'Switch.GraphFusion.fuse-gelo'", "did you mean 'fuse-gelu'?"])):
            with self.subTest(content):
                said = self.compile(self.file(content), code=3)
                for word in ("sluice-preprocess: error SL1011", "switches.json]", *words):
                    self.assertIn(word, said)
                self.assertFalse(os.path.exists(self.path("model.om")))

    def test_rules_of_users_are_passes_of_some_stage(self):
        self.assertEqual(self.passes_run("--optimization-switch=mine.rules:off"),
                         self.passes_run())

    def test_switches_travel_by_content(self):
        """The place of the file and its form are in no product, and each way is the same."""
        names = {"ALL": "off", ELEMENTWISE: "on"}
        first = self.made(self.switches(names))
        self.assertNotEqual(first, self.made())
        copy = self.file('{"Switch":\n {"UBFusion": {"%s": "on"},\n "GraphFusion": {"ALL": "off"}}}'
                         % ELEMENTWISE, "copy.json")
        store = "--store=" + self.path("store")
        for options in ([copy], [copy, "--transport=files"], [copy, "--transport=zmq"],
                        [copy, store], [copy, store], ["--threads=1", copy]):
            self.assertEqual(self.made(*options), first, options)
        self.assertIn(b"fuse-elementwise on", first)

    def test_keys_of_jobs(self):
        """Equal content has equal keys, other switches have others; so have equal compiles."""
        def keys(*options):
            printed = self.compile("--plan", "--store=" + self.path("store"), *options)
            return re.search(r"\noptimize +\w+ +(\w{16})", printed).group(1)

        first = keys(self.switches({"ALL": "off"}))
        self.assertEqual(keys(self.switches({"ALL": "off"}, "copy.json")), first)
        others = {first, keys(), keys(self.switches({"ALL": "on"})),
                  keys("--optimization-switch=ALL:off")}
        self.assertEqual(len(others), 4)

    def test_a_manifest_and_a_refit_take_them(self):
        self.switches({"ALL": "off", ELEMENTWISE: "on"})
        options = {"fusion-switch-file": self.path("switches.json"),
                   "optimization-switch": "merge-equal-nodes:on"}
        common = {"profile": "cpu-generic"}
        with open(self.path("manifest.json"), "w", encoding="utf-8") as file:
            json.dump({"options": common,
                       "compiles": [{"model": "model.onnx", "options": options}]}, file)
        self.program(0, "sluice-compile-all", "-q", "--store=" + self.path("store"),
                     self.path("manifest.json"))
        product = bytes_of(self.path("model.om"))
        self.assertEqual(self.made(*(f"--{name}={text}" for name, text in options.items())),
                         product)
        self.program(0, "sluice-refit", "-q", self.path("model.om"), "--weights=" + self.model,
                     "-o", self.path("again.om"))
        self.assertEqual(bytes_of(self.path("again.om")), product)

    def test_work_that_goes_on(self):
        switch = f"--optimization-switch={ELEMENTWISE}:off"
        whole = self.made(switch)
        for step in ("preprocess:infer-types", "preprocess", "optimize:fold-constants", "optimize",
                     "build:link-subgraphs"):
            self.compile(switch, "--stop-after=" + step, product="half.sg")
            self.compile(source="half.sg")
            self.assertEqual(bytes_of(self.path("model.om")), whole, step)
        self.compile("--stop-after=optimize:fold-constants", product="half.sg")
        self.assertIn("here the passes are",
                      self.compile(switch, source="half.sg", code=3))
        self.compile("--stop-after=optimize", product="after.sg")
        self.assertIn(f"--optimization-switch has '{ELEMENTWISE}' of sluice-optimize and this file "
                      "is past it", self.compile(switch, source="after.sg", code=3))
        self.compile("--optimization-switch=order-tasks:off", source="after.sg")

    def test_a_pass_that_is_needed(self):
        """Each pass alone can be turned off by its name: by a product, or an error of the input."""
        for stage in STAGES:
            for name in self.passes_of(stage):
                done = self.run_program("sluice-compile", "-q", self.model, "-o",
                                        self.path("model.om"), PROFILE,
                                        f"--optimization-switch={name}:off")
                self.assertIn(done.returncode, (0, 3, 4), done.stderr)

    def test_switches_that_a_text_carries(self):
        self.compile("--stop-after=preprocess", self.switches({"ALL": "off"}), product="half.sg")
        text = self.program(0, "sluice-show", "--header", self.path("half.sg"))
        self.assertIn('option "fusion-switch-file" = "ALL off\\n"\n', text)
        for wrong in ("ALL maybe", "ALL", "x on"):
            with open(self.path("bad.txt"), "w", encoding="utf-8") as file:
                file.write(text.replace("ALL off", wrong))
            self.program(0, "sluice-as", self.path("bad.txt"), "-o", self.path("bad.sg"))
            self.assertIn("error SL1003: the graph carries --fusion-switch-file",
                          self.compile(source="bad.sg", code=3))


if __name__ == "__main__":
    Switches.programs = need(sys.argv.pop(1), ["as", "check", "compile", "compile-all", "refit",
                                               "show", *STAGES])
    unittest.main(verbosity=2)
