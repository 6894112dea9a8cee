#!/usr/bin/python3
"""Options of sluice compile in a file, --options: scenario 73 of the catalogue. The command line
wins over the file, of which graph wins over session and that over global; nobody can tell from a
product where an option came from.

usage: option_file_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import sys
import unittest

from onnx import helper

from models import floats, save
from programs import STAGES, ProgramCase, bytes_of, need

ROOT = "compile options"
# Of the options that the table knows and sluice compile has, those for services and sandboxes.
OF_COMMAND_LINE = {"key", "sandbox-memory", "sandbox-seconds", "sandbox-file-bytes"}


class OptionFile(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = self.path("model.onnx")
        nodes = [helper.make_node("Relu", ["x"], ["a"], "act"),
                 helper.make_node("Exp", ["a"], ["y"], "exp")]
        save(self.model, nodes, [floats("x", ["N", "M"])], [floats("y", ["N", "M"])])

    def file(self, content, name="options.json"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return "--options=" + self.path(name)

    def options(self, **scopes):
        return self.file({ROOT: scopes})

    def compile(self, *options, code=0):
        return self.program(code, "sluice-compile", self.model, "-o", self.path("model.om"),
                            *options)

    def made(self, *options):
        self.compile("-q", *options)
        return bytes_of(self.path("model.om"))

    def plan(self, *options):
        """What would run with which keys."""
        return self.compile("--plan", "--store=" + self.path("store"), "-q", *options)

    def fails(self, error, *words, options, more=()):
        said = self.compile(options, *more, code=3)
        for word in (f"sluice-compile: error {error}: ", "options.json]", *words):
            self.assertIn(word, said)

    def test_the_product_is_that_of_the_command_line(self):
        switches = self.path("switches.json")
        with open(switches, "w", encoding="utf-8") as file:
            json.dump({"Switch": {"GraphFusion": {"ALL": "off"}}}, file)
        for given in ({"profile": "cpu-generic"}, {"dim": "N=2;M=8"}, {"dim": "N=1..8"},
                      {"input-shape": "x:2,4"}, {"skip": "optimize:fuse-elementwise"},
                      {"passes": "optimize:eliminate-dead-nodes"}, {"opt-level": "O0"},
                      {"fusion-switch-file": switches}, {"optimization-switch": "ALL:off"},
                      {"enable-single-stream": "on"}, {"threads": "1", "verify": "each"},
                      {"symbolic": "off", "math": "high_precision", "denormals": "ieee"}):
            given.setdefault("profile", "cpu-generic")
            flags = {"enable-single-stream"}
            typed = [f"--{name}" if name in flags else f"--{name}={value}"
                     for name, value in given.items()]
            dashed = {"--" + name: value for name, value in given.items()}
            with self.subTest(given):
                expected, planned = self.made(*typed), self.plan(*typed)
                for options in (given, dashed):
                    self.assertEqual(self.made(self.options(graph=options)), expected)
                    self.assertEqual(self.plan(self.options(**{"global": options})), planned)

    def test_scenario_73_who_wins(self):
        def profile(*typed, **scopes):
            printed = self.plan(self.options(**{scope.replace("all", "global"): {"profile": name}
                                                for scope, name in scopes.items()}), *typed)
            return re.findall(r"--profile=(\S+)", printed)

        scopes = {"all": "cpu-avx512", "session": "cpu-avx2", "graph": "cpu-generic"}
        self.assertEqual(profile(**scopes), ["cpu-generic"])
        self.assertEqual(profile(graph="cpu-generic", session="cpu-avx2", all="cpu-avx512"),
                         ["cpu-generic"])
        self.assertEqual(profile(all="cpu-avx512", session="cpu-avx2"), ["cpu-avx2"])
        self.assertEqual(profile(all="cpu-avx512"), ["cpu-avx512"])
        self.assertEqual(profile("--profile=sim-310p", **scopes), ["sim-310p"])
        self.assertEqual(profile(), [])
        # A flag can be turned off again, and the other options of a scope stay.
        printed = self.plan(self.options(
            **{"global": {"enable-single-stream": "on", "math": "high_precision"},
               "graph": {"enable-single-stream": "off"}}))
        self.assertNotIn("--enable-single-stream", printed)
        self.assertIn("--math=high_precision", printed)
        # A list of the command line takes the place of that in the file.
        printed = self.plan(self.options(graph={"dim": "N=2"}), "--dim=M=3")
        self.assertEqual(re.findall(r"--dim=(\S+)", printed), ["M=3"])

    def test_scenario_73_unknown_options(self):
        options = self.options(graph={"profil": "cpu-generic"})
        self.fails("SL1006", "'graph.profil' is no option of sluice compile",
                   "hint: did you mean 'profile'?", options=options)
        self.assertIn("hint: did you mean 'optimization-switch'?", self.compile(
            self.options(graph={"optimisation-switch": "ALL:off"}), code=3))
        for name in ("soc_version", "out", "-o", "", "plan", "--"):
            self.fails("SL1006", f"'global.{name}' ", options=self.options(**{"global":
                                                                             {name: "x"}}))
        ignore = "--options-ignore-unknown"
        options = self.options(graph={"profil": "a", "profile": "cpu-generic"}, others={"a": "b"})
        said = self.compile(options, ignore)
        self.assertIn("warning 'graph.profil' is no option of sluice compile, and is ignored "
                      f"[{self.path('options.json')}]", said)
        self.assertIn("warning 'others' is unknown", said)
        self.assertEqual(self.made(options, ignore), self.made("--profile=cpu-generic"))
        self.fails("SL1006", "--profile", options=self.options(graph={"profile": ","}),
                   more=[ignore])

    def test_every_option_that_is_for_the_stages(self):
        """Those of the stages' help that sluice compile has, too, are taken, the others are not."""
        names = lambda program: set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", self.program(
            0, program, "--help"), re.MULTILINE)) - {"help", "version", "list-passes"}
        own = names("sluice-compile")
        of_stages = set().union(*(names("sluice-" + stage) for stage in STAGES))
        for name in sorted(own):
            said = self.compile(self.options(graph={name: ""}), code=3)
            taken = "is given without a value" in said
            self.assertEqual(taken, name in of_stages - OF_COMMAND_LINE, said)

    def test_scenario_73_required_arguments(self):
        options = self.options(graph={"<in>": self.model})
        said = self.program(2, "sluice-compile", "-o", self.path("model.om"), options)
        self.assertIn("error SL1001: an argument is missing", said)
        self.fails("SL1006", "'graph.<in>' is no option", options=options)

    def test_scenario_73_what_is_no_object(self):
        example = 'hint: such as {"compile options": {"global"'
        for content, *words in (
                ("[]", "this is no object", example), ("3", "this is no object"),
                ("{", "not valid JSON"), ("", "not valid JSON"),
                ({ROOT: []}, "'compile options' is no object", example),
                ({ROOT: {"graph": "profile"}}, "'graph' is no object"),
                ({ROOT: {"global": None}}, "'global' is no object"),
                ({ROOT: {"graphs": {}}}, "'graphs' is unknown, expected global, session or graph"),
                ({ROOT: {"graph": {"threads": 4}}}, "'graph.threads' is 4, expected a text"),
                ({ROOT: {"graph": {"strict": True}}}, "'graph.strict' is true, expected a text"),
                ({ROOT: {"session": {"dim": ["N=1"]}}}, "'session.dim' is [\"N=1\"], expected"),
                ({ROOT: {"graph": {"profile": "a\0b"}}}, "'graph.profile' contains a byte 0"),
                ({ROOT: {"graph": {"math": "default", "--math": "default"}}},
                 "'graph.--math' and 'graph.math' are one option"),
                ('{"%s": {"graph": {"math": "a", "math": "b"}}}' % ROOT, "math")):
            with self.subTest(content):
                self.fails("SL1011", *words, options=self.file(content))
        said = self.compile("--options=" + self.path("absent.json"), code=3)
        self.assertIn("sluice-compile: error SL1004: ", said)
        self.assertFalse(os.path.exists(self.path("model.om")))

    def test_scenario_73_other_members_are_ignored(self):
        options = {"version": 3, "run options": {"graph": 1},
                   ROOT: {"graph": {"profile": "cpu-generic"}}}
        self.assertEqual(self.made(self.file(options)), self.made("--profile=cpu-generic"))
        said = self.compile(self.file({"compile option": {}}), "--profile=cpu-generic")
        self.assertIn("warning 'compile options' is missing, so no option is taken", said)

    def test_values_are_checked_as_on_the_command_line(self):
        for name, value in (("threads", "many"), ("verify", "foo"), ("opt-level", "O2"),
                            ("static-model-ops-lower-limit", "-2"), ("input-shape", ";"),
                            ("dim", "N"), ("passes", "nothing:a"), ("stop-after", "nothing"),
                            ("profile", "cpu-foo"), ("modify-mixlist", self.path("absent")),
                            ("multi-stream-parallel-mode", "LoadBalance:65"),
                            ("optimization-switch", "fuse-gelo:on"), ("threads", "")):
            with self.subTest(name):
                errors = [re.search(r"error (SL\d+)", self.compile(options, code=3)).group(1)
                          for options in (f"--{name}={value}",
                                          self.options(graph={name: value}))]
                self.assertEqual(*errors)
        self.fails("SL1006", "'graph.threads': --threads is 'many', expected a whole number",
                   options=self.options(graph={"threads": "many"}))
        self.fails("SL1006", "'graph.strict': --strict is 'yes', expected on or off",
                   options=self.options(graph={"strict": "yes"}))

    def test_how_the_program_itself_reports(self):
        quiet = self.options(graph={"quiet": "on", "profile": "cpu-generic"})
        self.assertEqual(self.compile(quiet), "")
        self.assertNotEqual(self.compile(self.options(graph={"quiet": "off"})), "")
        said = self.compile(self.options(graph={"error-format": "json", "stop-after": "nothing"}),
                            code=3)
        self.assertEqual(json.loads(said)["code"], "SL1006")


if __name__ == "__main__":
    OptionFile.programs = need(sys.argv.pop(1), ["compile", *STAGES])
    unittest.main(verbosity=2)
