#!/usr/bin/python3
"""sluice bisect: names the pass after which a model has other values, or whose graph cannot be
evaluated; says so when there is none. Faults of passes: bisect_faults_test.py.

usage: bisect_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
from onnx import helper

import models
from models import floats
from programs import STAGES, ProgramCase, need

F16 = "--precision-mode=force_fp16"  # other values, by choose-precision


class BisectCase(ProgramCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("tmp"))
        self.model = self.path("m.onnx")
        models.make_convolutions(self.model)

    def tearDown(self):
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def environment(self):
        return {**os.environ, "TMPDIR": self.path("tmp")}

    def bisect(self, code, *arguments, programs=None):
        """What is printed: standard output, standard error."""
        program = os.path.join(programs or self.programs, "sluice-bisect")
        done = subprocess.run([program, *arguments], text=True,
                              capture_output=True, check=False, timeout=300,
                              env=self.environment())
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def found(self, *arguments, **how):
        return json.loads(self.bisect(7, "--json", "-q", *arguments, **how)[0])

    def graph(self, *arguments):
        """The graph where a compile stops."""
        self.program(0, "sluice-compile", "-q", self.model, "-o", self.path("from.sg"), *arguments)
        return self.path("from.sg")

    def folder_with(self, name, script):
        """A folder of programs in which one is a shell script: $real is what it stands for."""
        folder = self.path("bin")
        os.mkdir(folder)
        for program in os.listdir(self.programs):
            os.symlink(os.path.join(self.programs, program), os.path.join(folder, program))
        os.symlink(os.path.join(self.programs, "..", "lib"), self.path("lib"))
        os.unlink(os.path.join(folder, "sluice-bisect"))  # programs are looked for beside it
        shutil.copy(os.path.join(self.programs, "sluice-bisect"), folder)
        path = os.path.join(folder, name)
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nreal={os.path.join(self.programs, name)}\n{script}")
        os.chmod(path, 0o755)
        return folder


class NoPass(BisectCase):
    def test_model(self):
        said, progress = self.bisect(0, self.model)
        self.assertEqual(said, "no pass gives other values: outputs differ by at most 1e-4 of the "
                               "largest\n")
        self.assertEqual(progress, "".join(f"sluice-bisect: {stage}: the same values\n"
                                           for stage in STAGES))
        self.assertEqual(self.bisect(0, self.model, "-q")[1], "")

    def test_json(self):
        said = self.bisect(0, self.model, "--json")[0]
        self.assertEqual(json.loads(said), {"found": False, "together": []})

    def test_levels_and_lists(self):
        self.bisect(0, self.model, "--opt-level=O0")
        self.bisect(0, self.model, "--passes=optimize:fold-constants", "--skip=build:remove-copies")

    def test_open_sizes_and_given_inputs(self):
        weight = np.ones((6, 4), np.float32)
        models.save(self.model, [helper.make_node("MatMul", ["x", "w"], ["y"])],
                    [floats("x", ["N", 6])], [floats("y", ["N", 4])], {"w": weight})
        np.save(self.path("x.npy"), np.ones((3, 6), np.float32))
        for options in (["--eval-dim=N=5"], ["--dim=N=2..8", "--eval-dim=N=5"], ["--dim=N=3"],
                        ["--random=7"], ["--input=x=" + self.path("x.npy")]):
            with self.subTest(options=options):
                self.bisect(0, self.model, *options)
        self.assertIn("'M'", self.bisect(3, self.model, "--eval-dim=M=5")[1])

    def test_graph_past_all_passes(self):
        graph = self.graph("--stop-after=build:plan-memory")
        self.assertEqual(self.bisect(0, graph, "-q")[1], "")


class PassFound(BisectCase):
    def check(self, told):
        self.assertEqual((told["stage"], told["pass"]), ("optimize", "choose-precision"))
        self.assertEqual(told["output"]["name"], "y")
        self.assertAlmostEqual(told["output"]["apart"],
                               abs(told["output"]["before"] - told["output"]["after"]))
        self.assertEqual((told["node"]["name"], told["node"]["op"]), ("conv1", "Conv"))

    def test_text(self):
        said = self.bisect(7, self.model, F16, "-q")[0]
        told = r"^optimize: choose-precision \(pass \d+ of \d+\) gives other values"
        self.assertRegex(said, told + r"""
  output 'y': -?[\d.]+ before, -?[\d.]+ after, off by [\d.e-]+ \([\d.]+ % of the largest\)
  first node: 'conv1' \(Conv\) \[from 'conv1'\]
$""")

    def test_json(self):
        told = self.found(self.model, F16)
        self.check(told)
        listed = self.program(0, "sluice-optimize", "--list-passes").splitlines()
        self.assertEqual(listed[told["number"] - 1].split()[0], "choose-precision")
        self.assertEqual(told["of"], len(listed))

    def test_tolerance_and_skip(self):
        self.bisect(0, self.model, F16, "--tolerance=0.5")
        self.bisect(0, self.model, F16, "--skip=optimize:choose-precision")

    def test_from_graphs(self):
        self.check(self.found(self.graph("--stop-after=preprocess", F16)))
        self.check(self.found(self.graph("--stop-after=preprocess:infer-types", F16)))
        self.check(self.found(self.graph("--stop-after=optimize:fuse-gelu", F16)))
        self.bisect(0, self.graph("--stop-after=optimize:choose-precision", F16))
        self.bisect(0, self.graph("--stop-after=partition", F16))

    def test_keep(self):
        said = self.bisect(7, self.model, F16, "-q", "--keep", self.path("kept"))[0]
        before, after = self.path("kept/before.sg"), self.path("kept/after.sg")
        self.assertIn(f"  the graphs: {before}, {after}\n  sluice diff {before} {after}\n", said)
        self.program(7, "sluice-diff", before, after)
        self.program(0, "sluice-verify", before)
        evaluated = [self.outputs_of("sluice-eval", graph, "--random=0")["y"]
                     for graph in (before, after)]
        self.assertTrue((evaluated[0] != evaluated[1]).any())
        told = self.found(self.model, F16, "--keep", self.path("kept"))
        self.assertEqual((told["before"], told["after"]), (before, after))
        self.assertEqual(sorted(os.listdir(self.path("kept"))), ["after.sg", "before.sg"])


class NoGraph(BisectCase):
    def test_pass_that_crashes(self):
        folder = self.folder_with("sluice-partition", """case "$*" in
*--stop-after=[1-3]*|*--list-passes*) exec $real "$@" ;;
esac
kill -SEGV $$
""")
        names = [line.split()[0] for line in
                 self.program(0, "sluice-partition", "--list-passes").splitlines()]
        said = self.bisect(7, self.model, "-q", "--keep", self.path("kept"), programs=folder)[0]
        self.assertIn(f"partition: {names[3]} (pass 4 of {len(names)}) makes a graph that cannot be"
                      " evaluated: SL8001: sluice-partition ended with signal 11", said)
        self.assertIn(f"  the graph before it: {self.path('kept/before.sg')}\n", said)
        self.assertEqual(os.listdir(self.path("kept")), ["before.sg"])

    def test_first_pass_that_fails(self):
        folder = self.folder_with("sluice-subgraph-optimize", """case "$*" in
*--list-passes*) exec $real "$@" ;;
esac
echo '{"code":"SL9001","message":"a rule is broken","hint":"","file":"x.sg"}' >&2
exit 6
""")
        told = self.found(self.model, programs=folder)
        first = self.program(0, "sluice-subgraph-optimize", "--list-passes").split()[0]
        self.assertEqual((told["stage"], told["pass"], told["number"]),
                         ("subgraph-optimize", first, 1))
        self.assertEqual(told["error"], {"code": "SL9001", "message": "a rule is broken"})

    def test_graph_that_cannot_be_evaluated(self):
        folder = self.folder_with("sluice-eval", """for graph; do :; done
case $("$(dirname "$0")/sluice-show" "$graph") in
*ConstantOfNothing*|*' = Fused('*) echo '{"code":"SL2005","message":"no kernel"}' >&2; exit 4 ;;
esac
exec $real "$@"
""")
        told = self.found(self.model, programs=folder)
        self.assertEqual((told["pass"], told["error"]["code"]),
                         ("fuse-contraction-epilogue", "SL2005"))

    def test_killed_stage_is_no_finding(self):
        folder = self.folder_with("sluice-optimize", "kill -KILL $$\n")
        self.assertIn("SL8004", self.bisect(5, self.model, programs=folder)[1])


class ValuesMadeUp(BisectCase):
    """sluice-eval adds to the output a number that depends on `k`, the passes of optimize done."""

    def programs_that_add(self, number):
        return self.folder_with("sluice-eval", f"""for graph; do :; done
for option; do case $option in --output-dir=*) folder=${{option#*=}} ;; esac; done
$real "$@" || exit
[ -z "$folder" ] || exec /usr/bin/python3 - "$graph" "$folder/y.npy" << 'END'
import os, re, sys
import numpy as np
stage, made = re.fullmatch(r"(\\d)-(end|\\d+)[.]sg", os.path.basename(sys.argv[1])).groups()
k = 0 if stage < "2" else 36 if stage > "2" or made == "end" else int(made)
y = np.load(sys.argv[2])
np.save(sys.argv[2], y + np.float32({number}) * np.abs(y).max())
END
""")

    def test_pass_that_denies_its_change(self):
        names = [line.split()[0] for line in
                 self.program(0, "sluice-optimize", "--list-passes").splitlines()]
        number = names.index("fuse-mish") + 1  # there is nothing to fuse
        told = self.found(self.model, programs=self.programs_that_add(f"k >= {number}"))
        self.assertEqual((told["pass"], told["number"]), ("fuse-mish", number))
        self.assertEqual((told["output"]["name"], told["node"]["op"]), ("y", "Conv"))

    def test_values_that_drift(self):
        folder = self.programs_that_add("k * 1e-5")
        self.assertEqual(self.bisect(0, self.model, "-q", programs=folder)[0].splitlines()[1],
                         "  optimize: all passes together do, none of them by itself")
        os.unlink(self.path("lib"))
        shutil.rmtree(folder)
        folder = self.programs_that_add("k * 1e-5 + (k >= 20) * 7e-5")
        told = self.found(self.model, "--tolerance=7.5e-5", programs=folder)
        self.assertEqual(told["number"], 20)


class Refused(BisectCase):
    def test_input(self):
        for code, name in ((3, self.path("none.onnx")), (2, "-"), (3, __file__)):
            with self.subTest(name=name):
                said, why = self.bisect(code, name)
                self.assertEqual(said, "")
                self.assertRegex(why, r"^sluice-bisect: error SL\d{4}: ")
        error = json.loads(self.bisect(3, self.path("none.onnx"), "--error-format=json")[1])
        self.assertEqual(error["code"], "SL1004")

    def test_options(self):
        for code, *options in ((3, "--tolerance=x"), (3, "--tolerance=-1"), (3, "--random=x"),
                               (3, "--input=none=none.npy"), (3, "--passes=fold-constants"),
                               (3, "--passes=optimize:none"), (3, "--precision-mode=some"),
                               (2, "--no-such-option"), (2, self.model)):
            with self.subTest(options=options):
                why = self.bisect(code, self.model, *options)[1]
                self.assertIn("error SL", why)
                self.assertNotIn(self.path("tmp"), why)
        self.assertIn("past it", self.bisect(3, self.graph("--stop-after=optimize"), F16)[1])

    def test_folder_that_cannot_be_made(self):
        self.bisect(5, self.model, "--keep", os.path.join(self.model, "kept"))

    def test_interrupted(self):
        folder = self.folder_with("sluice-partition", "sleep 60\n")
        with subprocess.Popen([os.path.join(folder, "sluice-bisect"), self.model], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment()) as process:
            while "optimize" not in process.stderr.readline():
                pass
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.communicate(timeout=30), ("", ""))
            self.assertEqual(process.returncode, -signal.SIGTERM)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), [*STAGES, "bisect", "compile", "eval", "diff",
                                                  "show", "verify"])
    unittest.main()
