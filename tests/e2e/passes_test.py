#!/usr/bin/python3
"""Passes of users in a compile: programs, plugins and Python, where they run, what a graph and a
store know of them, and what comes of those that fail.

usage: passes_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from onnx import helper

from models import floats, save
from programs import ProgramCase, bytes_of, need

POINTS = {"before-infer-shape": "preprocess", "after-infer-shape": "preprocess",
          "after-builtin-fusion": "optimize", "after-optimize": "optimize",
          "before-build": "build", "after-assign-streams": "build"}
# A pass in Python whose body is filled in.
PYTHON = """import sluice.graph as sg

class Own(sg.Pass):
    def run(self, graph, context):
        {}
"""
NEGATES = """import sluice.graph as sg
from sluice.graph import op

class Negates(sg.PatternPass):
    @sg.pattern
    def form(self, x):
        return op.Relu(x)
    def replacement(self, inputs):
        return -inputs.x
"""
RULES = """at = after-infer-shape
rule swish {
  match   { %s = Sigmoid(%x)  %y = Mul(%x, %s) }
  replace { %y = Swish(%x) }
}
"""
PARTITIONED = "sluice-show - | sed 's/^sluice 1 typed/sluice 1 partitioned/' | sluice-as -"


class Passes(ProgramCase):
    def write(self, name, text, mode=0o755):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def script(self, name, body):
        return self.write(name, "#!/bin/sh\nPATH=%s:$PATH\n%s\n" % (self.programs, body))

    def negating(self, name="negate"):
        """A program whose pass makes every Relu a Neg, where there is one."""
        return self.script(name, "sluice-show - | sed 's/ = Relu(/ = Neg(/' | sluice-as -")

    def plugin(self, name):
        built = os.path.join(os.path.dirname(self.programs), "tests", "passes_test_plugin.so")
        if not os.path.exists(built):
            self.skipTest("the plugin of tests is not built")
        return shutil.copy(built, self.path(name))

    def model(self, name="m.onnx"):
        save(self.path(name), [helper.make_node("Relu", ["x"], ["a"], "act"),
                               helper.make_node("Softmax", ["a"], ["b"], "soft"),
                               helper.make_node("Relu", ["b"], ["y"], "last")],
             [floats("x", [4, 64])], [floats("y", [4, 64])], {})
        return self.path(name)

    def typed(self):
        self.done(0, "sluice-preprocess", self.model(), "-o", self.path("typed.sg"))
        return self.path("typed.sg")

    def compiled(self, *options, name="m.om", code=0):
        done = self.done(code, "sluice-compile", self.model(), "--quiet", *options, "-o",
                         self.path(name))
        return done if code else bytes_of(self.path(name))

    def optimized(self, code, *options, **how):
        return self.done(code, "sluice-optimize", self.typed(), *options, "-o", self.path("o.sg"),
                         **how).stderr

    def ops(self, graph):
        return self.done(0, "sluice-show", graph).stdout

    # ---- what they do

    def test_a_program_that_copies_leaves_no_trace(self):
        copy = self.script("copy", "cat")
        plain = self.compiled()
        for point in POINTS:
            with self.subTest(point=point):
                self.assertEqual(self.compiled("--pass", point + "=" + copy), plain)

    def test_a_program_over_text(self):
        through = self.script("through", "sluice-show --header - | sluice-as -")
        plain = self.compiled()
        for point in POINTS:
            with self.subTest(point=point):
                self.assertEqual(self.compiled("--pass", point + "=" + through), plain)

    def test_a_program_changes_the_product_and_is_among_its_options(self):
        own = self.negating()
        self.assertNotEqual(self.compiled("--pass", "after-infer-shape=" + own), self.compiled())
        self.compiled("--pass", "after-infer-shape=" + own, "--stop-after=optimize", name="o.sg")
        shown = self.done(0, "sluice-show", "--header", self.path("o.sg")).stdout
        self.assertIn("pass.negate", shown)
        self.assertNotIn("Relu(", shown)
        self.compiled("--pass", "after-infer-shape=" + own)
        refused = self.done(3, "sluice-refit", "--weights=" + self.path("m.onnx"),
                            self.path("m.om"), "-o", self.path("r.om"))
        self.assertIn("passes of 'negate'", refused.stderr)

    def test_files_run_in_the_order_given(self):
        first = self.script("first", "sluice-show - | sed 's/ = Relu(/ = Tanh(/' | sluice-as -")
        second = self.script("second", "sluice-show - | sed 's/ = Tanh(/ = Sin(/' | sluice-as -")
        at = "after-infer-shape="
        self.compiled("--pass", at + first, "--pass", at + second, "--stop-after=preprocess",
                      name="o.sg")
        self.assertIn("Sin(", self.ops(self.path("o.sg")))
        self.compiled("--pass", at + second, "--pass", at + first, "--stop-after=preprocess",
                      name="o.sg")
        self.assertIn("Tanh(", self.ops(self.path("o.sg")))

    def test_they_run_at_every_level(self):
        for level in ("O0", "O1", "O3"):
            self.compiled("--pass", "after-optimize=" + self.negating(), "--opt-level=" + level,
                          "--stop-after=optimize", name="o.sg")
            self.assertIn("pass.negate",
                          self.done(0, "sluice-show", "--header", self.path("o.sg")).stdout)

    def test_a_plugin(self):
        own = self.plugin("negate.so")
        stats = self.path("stats.json")
        self.optimized(0, "--pass", "after-optimize=" + own, "--stats", stats)
        self.assertIn("Neg(", self.ops(self.path("o.sg")))
        with open(stats, encoding="utf-8") as file:
            row = [row for row in json.load(file)["passes"] if row["name"] == "negate.so"][0]
        self.assertEqual(row["rules"], [{"rule": "test-pass", "match_times": 1,
                                         "effect_times": 1}])
        plain = self.optimized(0)
        self.assertEqual(plain, self.optimized(0, "--pass", "after-optimize=" +
                                               self.plugin("nothing.so")))

    def test_python(self):
        own = self.write("own.py", NEGATES, 0o644)
        stats = self.path("stats.json")
        self.optimized(0, "--pass", "after-builtin-fusion=" + own, "--stats", stats)
        self.assertIn("Neg(", self.ops(self.path("o.sg")))
        with open(stats, encoding="utf-8") as file:
            row = [row for row in json.load(file)["passes"] if row["name"] == "own.py"][0]
        self.assertEqual(row["rules"][0]["rule"], "negates")
        self.assertEqual(row["rules"][0]["effect_times"], 2)

    def test_python_that_fails(self):
        for body, code, said in (
                ("1 / 0", 3, "own.py: at after-optimize: own.py:5: ZeroDivisionError"),
                ("graph.outputs[0].producer.erase()", 3, "own.py:5: node"),
                ("import os; os._exit(9)", 3, "ended with exit code 9"),
                ("import sys; sys.exit(4)", 3, "SystemExit: 4"),
                ("import os; os.abort()", 3, "signal 6"),
                ("while True: pass", 5, "--pass-seconds"),
                ("x = bytearray(1 << 40)", 3, "MemoryError"),
                ("import os; os.fork()", 3, "PermissionError"),
                ("import socket; socket.socket()", 3, "PermissionError"),
                ("open('written', 'w')", 3, "PermissionError"),
                ("open(__file__.replace('own.py', 'm.onnx'))", 3, "the digest of the pass"),
                ("graph.add_input('more', sg.Type('f32', [1]))", 3, "more"),
                ("graph.outputs[0].name = 'other'", 3, "other"),
                ("raise KeyboardInterrupt", 3, "KeyboardInterrupt")):
            with self.subTest(body=body):
                own = self.write("own.py", PYTHON.format(body), 0o644)
                self.failing(code, said, own, "--pass-seconds=3", "--pass-memory=400000000")
        for text, said in (("import nothing_here", "own.py:1: ModuleNotFoundError"),
                           ("x = (", "own.py:1: SyntaxError"), ("x = 1", "the file has no pass")):
            with self.subTest(text=text):
                self.failing(3, said, self.write("own.py", text, 0o644))
        own = self.write("own.py", PYTHON.format("print('said by the pass')"), 0o644)
        self.assertIn("said by the pass", self.optimized(0, "--pass", "after-optimize=" + own))

    def test_imports_of_python_are_part_of_it(self):
        self.write("shared/__init__.py", "", 0o644)
        self.write("shared/choice.py", "OP = 'Neg'\n", 0o644)
        own = self.write("own.py", NEGATES.replace("-inputs.x", "op[OP](inputs.x)").replace(
            "import op\n", "import op\nfrom shared.choice import OP\n"), 0o644)
        files = self.done(0, "sluice-pass-host", "--files", own).stdout.split()
        self.assertEqual([os.path.relpath(file, self.folder) for file in files],
                         ["own.py", "shared/__init__.py", "shared/choice.py"])
        options = ["--store", self.path("store"), "--pass", "after-infer-shape=" + own]
        for op in ("Neg", "Abs", "Neg"):
            self.write("shared/choice.py", f"OP = '{op}'\n", 0o644)
            self.done(0, "sluice-compile", "-q", self.model(), *options, "--stop-after=optimize",
                      "-o", self.path("c.sg"))
            self.assertIn(op + "(", self.done(0, "sluice-show", self.path("c.sg")).stdout)

    # ---- rows

    def test_rows_are_listed_skipped_and_dumped(self):
        own = self.negating()
        rules = self.write("mine.rules", RULES, 0o644)
        at = ["--rules", rules, "--unchecked-rules", "--pass", "after-infer-shape=" + own]
        listed = self.done(0, "sluice-preprocess", "--list-passes", "--rules", rules, "--pass",
                           "after-infer-shape=" + own).stdout
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual(names[-3:], ["resolve-shapes", "mine.rules", "negate"])
        listed = self.done(0, "sluice-build", "--list-passes", "--pass",
                           "before-build=" + own).stdout
        self.assertEqual(listed.split()[0], "negate")
        plain = self.done(0, "sluice-build", "--list-passes", "--pass",
                          "after-optimize=" + own).stdout
        self.assertNotIn("negate", plain)
        out = self.path("o.sg")
        self.done(0, "sluice-preprocess", self.model(), *at, "--dump-dir", self.path("dump"), "-o",
                  out)
        self.assertIn("8.negate.txt", os.listdir(self.path("dump")))
        self.done(0, "sluice-preprocess", self.model(), *at, "--skip=negate", "-o", out)
        self.assertIn("Relu(", self.ops(out))
        self.done(0, "sluice-preprocess", self.model(), *at,
                  "--passes=select-outputs,infer-types,negate", "-o", out)
        self.assertNotIn("Relu(", self.ops(out))

    def test_a_stopped_graph_knows_its_passes(self):
        own = self.negating()
        half = self.path("half.sg")
        at = ["--pass", "after-builtin-fusion=" + own]
        self.done(0, "sluice-optimize", self.typed(), *at, "--stop-after=negate", "-o", half)
        self.done(0, "sluice-optimize", half, *at, "-o", self.path("whole.sg"))
        self.done(0, "sluice-optimize", self.typed(), *at, "-o", self.path("once.sg"))
        self.assertEqual(bytes_of(self.path("whole.sg")), bytes_of(self.path("once.sg")))
        self.assertIn("--pass", self.done(3, "sluice-optimize", half, "-o", self.path("n")).stderr)
        self.script("negate", "cat")
        self.done(3, "sluice-optimize", half, *at, "-o", self.path("n"))

    def test_pass_is_no_short_form_of_passes(self):
        refused = self.done(3, "sluice-optimize", "--pass=fold-constants", self.typed(), "-o",
                            self.path("n")).stderr
        self.assertIn("expected POINT=FILE", refused)
        self.assertIn("after-assign-streams", refused)

    def test_wrong_options(self):
        own = self.negating()
        for value, said in (("nowhere=" + own, "the points are"), ("after-optimize", "POINT=FILE"),
                            ("after-optimize=" + self.path("none"), "cannot open"),
                            ("after-optimize=" + self.folder, "folder"),
                            ("after-optimize=" + self.model(), "chmod"),
                            ("after-optimize=" + self.write("no.so", "text"), "no shared object")):
            with self.subTest(value=value):
                self.assertIn(said, self.optimized(3, "--pass", value))
        at = "after-optimize=" + own
        self.assertIn("two passes called", self.optimized(3, "--pass", at, "--pass", at))
        self.compiled("--stop-after=optimize", name="o.sg")
        late = self.done(3, "sluice-compile", self.path("o.sg"), "--pass", at, "-o", self.path("n"))
        self.assertIn("comes too late", late.stderr)

    # ---- failures

    def processes(self):
        """Those that run files of this test."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                line = bytes_of("/proc/%s/cmdline" % pid)
            except OSError:
                continue
            if self.folder.encode() in line or b"sleep\0" + b"4711" in line:
                found.append(line)
        return found

    def failing(self, code, said, own, *options):
        scratch = self.path("scratch")
        os.makedirs(scratch, exist_ok=True)
        printed = self.optimized(code, "--pass", "after-optimize=" + own, *options,
                                 env={**os.environ, "TMPDIR": scratch})
        self.assertIn(said, printed)
        self.assertIn("%s: at after-optimize: " % os.path.basename(own), printed)
        self.assertEqual(printed.count(": error "), 1, printed)
        self.assertEqual(self.processes(), [])
        self.assertFalse(os.path.exists(self.path("o.sg")))
        self.assertEqual(os.listdir(scratch), [])

    def test_programs_that_fail(self):
        for said, body in (
                ("ended with exit code 1", "exit 1"),
                ("crashed with signal 11", "kill -SEGV $$"),
                ("wrote nothing", "cat > /dev/null"),
                ("no whole graph", "head -c 300"),
                ("no whole graph", "echo text; cat"),
                ("has failed", "echo nothing | sluice-optimize - 2> /dev/null; true"),
                ("of level 'partitioned'", PARTITIONED)):
            with self.subTest(body=body):
                self.failing(3, said, self.script("own", body))

    def test_programs_that_do_not_end(self):
        for body in ("sleep 4711", "cat; sleep 4711 & sleep 4711", "cat > /dev/null; sleep 4711",
                     "(setsid sleep 4711 &) ; sleep 4711"):
            with self.subTest(body=body):
                self.failing(5, "--pass-seconds", self.script("own", body), "--pass-seconds=1")

    def test_what_a_program_leaves_behind_ends_with_it(self):
        own = self.script("own", "sleep 4711 & (setsid sleep 4711 > /dev/null 2>&1 &) ; cat")
        self.optimized(0, "--pass", "after-optimize=" + own)
        self.assertEqual(self.processes(), [])

    def test_programs_that_make_too_much(self):
        self.failing(5, "--pass-memory", self.script("own", "cat /dev/zero"),
                     "--pass-memory=100000000")

    def test_an_interrupted_stage_takes_its_passes_along(self):
        own = self.script("own", "sleep 4711")
        for how in (signal.SIGINT, signal.SIGKILL):
            command = [os.path.join(self.programs, "sluice-optimize"), self.typed(), "--pass",
                       "after-optimize=" + own, "-o", self.path("o.sg")]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as stage:
                deadline = time.time() + 20
                while not any(b"4711" in line for line in self.processes()):
                    self.assertLess(time.time(), deadline)
                    time.sleep(0.05)
                stage.send_signal(how)
            deadline = time.time() + 20
            while self.processes():
                self.assertLess(time.time(), deadline, self.processes())
                time.sleep(0.05)

    def test_graphs_that_are_refused(self):
        for said, edit in (("and is nothing now", "s/^graph @main(%x: f32.4, 64.)/graph @main()/"),
                           ("is output 'z'", "s/%y/%z/g"),
                           ("does not verify", "s/ Softmax(/ Relu(/; s/f32.4, 64. =/f32[64] =/")):
            with self.subTest(edit=edit):
                own = self.script("own", "sluice-show - | sed '%s' | sluice-as -" % edit)
                printed = self.optimized(3, "--pass", "after-optimize=" + own)
                self.assertIn("own: at after-optimize: ", printed)

    def test_plugins_that_fail(self):
        for name, code, said in (("crash", 3, "crashed with signal 6"), ("exit", 3, "ended before"),
                                 ("loop", 5, "--pass-seconds"), ("memory", 5, "memory ran out"),
                                 ("throw", 3, "thrown by the pass"),
                                 ("fail", 3, "test-pass: it does not like the graph"),
                                 ("cycle", 3, "cycle"), ("input", 3, "is input 'another'"),
                                 ("type", 3, "output")):
            with self.subTest(name=name):
                self.failing(code, said, self.plugin(name + ".so"), "--pass-memory=200000000",
                             "--pass-seconds=%d" % (2 if name == "loop" else 60))

    def test_plugins_are_confined(self):
        for name in ("fork", "socket", "write"):
            with self.subTest(name=name):
                self.optimized(0, "--pass", "after-optimize=" + self.plugin(name + ".so"))
        self.assertIn("printed by the pass", self.optimized(
            0, "--pass", "after-optimize=" + self.plugin("print.so")))

    def test_plugins_of_others(self):
        other = self.path("other.so")
        source = self.write("other.c", "struct { unsigned abi, count; const char *release; const "
                            "void *passes; } sluice_plugin = {ABI, 0, RELEASE, 0};\n", 0o644)
        build = lambda *how: subprocess.run(["cc", "-shared", "-fPIC", source, "-o", other, *how],
                                            check=True)
        build("-DABI=99", "-DRELEASE=\"0.1.0\"")
        self.failing(3, "ABI 99", other)
        build("-DABI=1", "-DRELEASE=\"0.0.9\"")
        self.failing(3, "release 0.0.9", other)
        build("-DABI=1", "-DRELEASE=\"0.1.0\"", "-Dsluice_plugin=another")
        self.failing(3, "no record sluice_plugin", other)
        twice = self.plugin("twice.so")
        printed = self.optimized(3, "--pass", "after-optimize=" + self.plugin("once.so"),
                                 "--pass", "after-optimize=" + twice)
        self.assertIn("once.so' has a pass 'test-pass', too", printed)
        printed = self.optimized(3, "--pass", "after-builtin-fusion=" + twice)
        self.assertIn("after-optimize", printed)

    # ---- stores, workers

    def test_a_store_knows_passes_by_content(self):
        options = ["--store", self.path("store"), "--pass",
                   "after-infer-shape=" + self.negating("own")]
        first = self.compiled(*options)
        self.script("own", "cat")
        self.assertNotEqual(self.compiled(*options), first)
        self.assertEqual(self.compiled(*options), self.compiled())
        self.negating("own")
        self.assertEqual(self.compiled(*options), first)

    def test_other_ways_to_compile_give_the_same(self):
        own = ["--pass", "after-infer-shape=" + self.negating(), "--pass",
               "after-assign-streams=" + self.script("copy", "cat")]
        same = self.compiled(*own)
        self.assertEqual(self.compiled(*own, "--transport=files"), same)
        loop = self.script("loop", "while read -r line; do :; done; exit 7")
        for how in (["--sandbox"], ["--transport=zmq"]):
            with self.subTest(how=how):
                self.assertEqual(self.compiled("--pass", "before-build=/bin/cat", *how),
                                 self.compiled())
                failed = self.compiled("--pass", "before-build=" + loop, *how, code=3)
                self.assertIn("loop: at before-build: ended with exit code 7", failed.stderr)

        confined = self.compiled("--pass", "after-infer-shape=" + self.negating(), "--sandbox",
                                 code=3)
        self.assertIn("negate: at after-infer-shape: ", confined.stderr)

    def test_a_sandboxed_stage_has_its_plugins(self):
        own = ["--pass", "after-optimize=" + self.plugin("negate.so")]
        same = self.compiled(*own)
        self.assertNotEqual(same, self.compiled())
        self.assertEqual(self.compiled(*own, "--sandbox"), same)
        self.assertEqual(self.compiled(*own, "--transport=zmq"), same)
        failed = self.compiled("--pass", "after-optimize=" + self.plugin("crash.so"), "--sandbox",
                               code=3)
        self.assertIn("crashed with signal 6", failed.stderr)

    def test_a_service_takes_them_when_it_is_told_to(self):
        own = ["--pass", "after-optimize=" + self.plugin("negate.so")]
        same = self.compiled(*own)
        for endpoint in ("ipc://" + self.path("s"), "tcp://127.0.0.1:*"):
            for options in ([], ["--allow-passes"]):
                with self.subTest(endpoint=endpoint, options=options):
                    self.served(endpoint, options, own, same)

    def served(self, endpoint, options, own, same):
        command = [os.path.join(self.programs, "sluice-optimize"), "--serve=" + endpoint,
                   *options] + (["--insecure"] if endpoint.startswith("tcp") else [])
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            try:
                line = service.stderr.readline()
                at = line.split()[-1]
                how = ["--transport=zmq", "--service=optimize=" + at]
                if options:
                    self.assertEqual(self.compiled(*own, *how), same)
                    self.compiled("--pass", "after-optimize=" + self.plugin("crash.so"), *how,
                                  code=3)
                    self.assertEqual(self.compiled(*own, *how), same)
                else:
                    self.assertIn("--allow-passes", self.compiled(*own, *how, code=3).stderr)
            finally:
                service.terminate()
                service.wait()

    def test_compile_all(self):
        own = self.plugin("negate.so")
        manifest = {"compiles": [{"model": self.model(), "output": self.path("all.om"),
                                  "options": {"pass": "after-optimize=" + own}}]}
        with open(self.path("all.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        self.done(0, "sluice-compile-all", "--store", self.path("store"), self.path("all.json"))
        self.assertEqual(bytes_of(self.path("all.om")),
                         self.compiled("--pass", "after-optimize=" + own))

    def test_a_farm(self):
        own = self.plugin("negate.so")
        manifest = {"compiles": [{"model": self.model(), "output": self.path("farm.om"),
                                  "options": {"pass": "after-optimize=" + own}}]}
        with open(self.path("farm.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        farm = "ipc://" + self.path("f")
        path = lambda name: os.path.join(self.programs, name)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        start = lambda *words: subprocess.Popen([*words, "--quiet"], cwd=self.folder, **quiet)
        worker = [path("sluice-worker"), "--connect=" + farm, "--slots=1"]
        with start(path("sluice-farm"), "--bind=" + farm, "--state", self.path("state")) as server:
            with start(*worker, "--store", self.path("w1")) as plain:
                all_of_it = subprocess.Popen(
                    [path("sluice-compile-all"), "--store", self.path("fs"), "--provider", farm,
                     self.path("farm.json")], **quiet)
                time.sleep(6)
                status = self.done(0, "sluice-farm", "status", "--json", farm).stdout
                with start(*worker, "--allow-passes", "--store", self.path("w2")) as taking:
                    code = all_of_it.wait(120)
                    taking.terminate()
                plain.terminate()
            server.terminate()
        self.assertEqual(code, 0)
        self.assertIn("--allow-passes", status)
        self.assertEqual(bytes_of(self.path("farm.om")),
                         self.compiled("--pass", "after-optimize=" + own))


if __name__ == "__main__":
    Passes.programs = need(sys.argv.pop(1), ["preprocess", "optimize", "build", "compile",
                                             "pass-host", "as", "show"])
    unittest.main()
