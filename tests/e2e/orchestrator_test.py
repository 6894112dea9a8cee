#!/usr/bin/python3
"""The orchestrator with stages made of shell: what it starts, what it passes on, what it leaves
behind.

usage: orchestrator_test.py FOLDER_OF_PROGRAMS [unittest arguments]

A fake stage notes its arguments in $NOTES/<stage>.args, copies its input and adds a line with its
name. $FAIL_<stage> makes it fail with that code before it writes anything, $SIGNAL_<stage> end by
that signal, $SLEEP_<stage> wait.
"""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from programs import STAGES

FAKE = r"""#!/bin/sh
name=$(basename "$0"); stage=${name#sluice-}; key=$(echo $stage | tr - _)
for in; do case $in in --stats=*) stats=${in#--stats=} ;; esac; done
echo "$@" > "$NOTES/$stage.args"
eval "fail=\$FAIL_$key signal=\$SIGNAL_$key sleep=\$SLEEP_$key early=\$EARLY_$key"
[ -n "$early" ] && { echo "$name: error SL1006: early" >&2; exit $early; }
text=$(if [ "$in" = - ]; then cat; else tail -c +"${SKIP:-1}" "$in"; fi; echo .)
[ -n "$sleep" ] && { echo $$ > "$NOTES/$stage.pid"; sleep $sleep > /dev/null 2>&1; }
[ -n "$fail" ] && { echo "$name: error SL2001: broken on purpose" >&2; exit $fail; }
[ -n "$signal" ] && kill -$signal $$
[ -n "$stats" ] && echo '{"passes": [{"name": "p", "nodes_after": 7}]}' > "$stats"
echo "$name: warning noted" >&2
[ -n "$BIG" ] && head -c $BIG /dev/zero
printf '%s%s\n' "${text%.}" "$stage"
"""
PROGRAMS = None


def graph_header(level, last_stage):
    """The 128 bytes of common/graphfile/header.h, written independently of it."""
    head = b"SLUICEG1" + struct.pack("<IBBH4Q", 6, level, last_stage, 0, 0, 0, 0, 0) + bytes(64)
    return head + struct.pack("<I", zlib.crc32(head)) + bytes(12)


class Orchestrator(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.bin, self.notes, self.tmp = (os.path.join(self.folder, d)
                                          for d in ("bin", "notes", "tmp"))
        for folder in (self.bin, self.notes, self.tmp):
            os.mkdir(folder)
        for program in ("sluice", "sluice-compile"):
            shutil.copy(os.path.join(PROGRAMS, program), self.bin)
        for stage in STAGES:
            self.fake("sluice-" + stage)
        self.model = self.path("model.onnx", "model\n")
        self.out = self.path("model.om")

    def fake(self, name, text=FAKE):
        path = os.path.join(self.bin, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def environment(self, extra):
        return {"PATH": "/usr/bin:/bin", "NOTES": self.notes, "TMPDIR": self.tmp, **extra}

    def run_sluice(self, *arguments, **extra):
        return subprocess.run([os.path.join(self.bin, "sluice"), *arguments], capture_output=True,
                              text=True, timeout=60, env=self.environment(extra))

    def compile(self, *arguments, source=None, **extra):
        return self.run_sluice("compile", source or self.model, "-o", self.out, *arguments, **extra)

    def arguments_of(self, stage):
        with open(os.path.join(self.notes, stage + ".args")) as file:
            return file.read().split()

    def ran(self):
        return [stage for stage in STAGES
                if os.path.exists(os.path.join(self.notes, stage + ".args"))]

    def text_of(self, path):
        with open(path) as file:
            return file.read()

    def assert_nothing_left(self):
        left = sorted(set(os.listdir(self.folder)) - {"bin", "notes", "tmp", "model.onnx", "dump"})
        self.assertEqual(left, [])
        self.assertEqual(os.listdir(self.tmp), [])

    def test_stages_run_in_order(self):
        result = self.compile()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.text_of(self.out),
                         "model\n" + "".join(stage + "\n" for stage in STAGES))
        lines = [line.split()[1] for line in result.stderr.splitlines()
                 if line.startswith("sluice-compile: ")]
        self.assertEqual(lines, STAGES)
        for stage in STAGES:
            self.assertIn("sluice-%s: warning noted\n" % stage, result.stderr)
        self.assertRegex(result.stderr, r"sluice-compile: preprocess +\d+\.\d ms +17 B\n")

    def test_progress_that_programs_read(self):
        result = self.compile("--progress=json")
        self.assertEqual(result.returncode, 0, result.stderr)
        reported = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
        self.assertEqual([(each["stage"], each["number"], each["of"]) for each in reported],
                         [(name, i + 1, 5) for i, name in enumerate(STAGES)])
        self.assertEqual([each["bytes"] for each in reported[:1]], [17])
        self.assertTrue(all(each["seconds"] >= 0 for each in reported))
        self.assertIn("sluice-build: warning noted\n", result.stderr)
        self.assertEqual(self.compile("--progress=json", "--quiet").stderr, "")
        wrong = self.compile("--progress=xml")
        self.assertEqual(wrong.returncode, 3)
        self.assertIn("error SL1006: --progress is 'xml', expected text or json", wrong.stderr)

    def test_quiet_and_standard_output(self):
        result = self.run_sluice("compile", "-q", self.model)
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.endswith("\nbuild\n"))
        self.assertEqual(result.stderr, "")
        broken = self.run_sluice("compile", "-q", self.model, FAIL_partition="4")
        self.assertIn("sluice-partition: error SL2001", broken.stderr)

    def test_more_bytes_than_a_pipe_holds(self):
        result = self.compile(BIG="3000000")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(os.path.getsize(self.out), 3000000)

    def test_options_go_where_they_are_read(self):
        result = self.compile("--external-dir=d", "--dim", "n=1", "--dim=m=2", "--profile",
                              "cpu-avx2", "--threads=3", "--verify=each", "--input-shape=x:1,2",
                              "--input-shape=y:")
        self.assertEqual(result.returncode, 0, result.stderr)
        first = self.arguments_of("preprocess")
        for option in ("--external-dir=d", "--dim=n=1", "--dim=m=2", "--profile=cpu-avx2",
                       "--threads=3", "--verify=each", "--input-shape=x:1,2;y:"):
            self.assertIn(option, first)
        self.assertEqual(first[-1], self.model)
        for stage in STAGES[1:]:
            self.assertEqual(self.arguments_of(stage), ["--threads=3", "--verify=each", "-"])

    def test_passes_go_to_their_stage(self):
        result = self.compile("--skip=optimize:a,b;build:c", "--skip", "optimize:d",
                              "--passes=partition:e", "--segments=inline", "--model=m")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.arguments_of("preprocess"), ["--segments=inline", self.model])
        self.assertEqual(self.arguments_of("optimize"),
                         ["--skip=a,b,d", "--segments=inline", "--model=m", "-"])
        self.assertEqual(self.arguments_of("partition"),
                         ["--passes=e", "--segments=inline", "--model=m", "-"])
        self.assertEqual(self.arguments_of("build"), ["--skip=c", "--model=m", "-"])
        for wrong in ("--skip=a", "--skip=nothing:a", "--passes=optimize"):
            result = self.compile(wrong)
            self.assertEqual(result.returncode, 3, wrong)
            self.assertIn("SL1006", result.stderr)
        source = self.path("from.sg", graph_header(1, 2))
        self.assertEqual(self.compile("--skip=optimize:a", source=source).returncode, 3)

    def test_build_is_told_the_name_that_the_model_gets(self):
        self.compile("--external-weight=2")
        self.assertEqual(self.arguments_of("build"), ["--weights-beside=" + self.out, "-"])
        self.assertIn("--external-weight=2", self.arguments_of("preprocess"))
        self.compile("--external-weight=2", "--weights-beside=other.om")
        self.assertEqual(self.arguments_of("build"), ["--weights-beside=other.om", "-"])
        for none in ("--external-weight=0", "--external-weight=1 --stop-after=build:p"):
            self.compile(*none.split())
            self.assertNotIn("--weights-beside=" + self.out, self.arguments_of("build"))
        source = self.path("from.sg", graph_header(3, 4))  # which may carry the option
        self.compile(source=source)
        self.assertEqual(self.arguments_of("build"), ["--weights-beside=" + self.out, source])
        for output in ("-", "/dev/null"):
            result = self.run_sluice("compile", "--external-weight=1", self.model, "-o", output)
            self.assertEqual(result.returncode, 2)
            self.assertIn("SL1001: --external-weight puts files beside", result.stderr)

    def test_real_stages_know_the_options_they_are_given(self):
        given = ["--input-shape=x:1", "--dim=n=1", "--out-nodes=y", "--zipmap=tensor",
                 "--overridable-inputs=on", "--state=y=x", "--profile=cpu-avx2", "--opt-level=O1",
                 "--symbolic=off", "--stable-order=on",
                 "--static-model-ops-lower-limit=2", "--host-scheduling-max-threshold=1",
                 "--denormals=ieee", "--math=high_precision", "--disable-reuse-memory=a*",
                 "--sync=notify", "--multi-stream-parallel-mode=cv", "--enable-single-stream",
                 "--threads=1", "--external-weight=1", "--weights-beside=w",
                 "--precision-mode=allow_mix_precision", "--modify-mixlist=l",
                 "--customize-dtypes=t", "--fusion-switch-file=f",
                 "--optimization-switch=ALL:on", "--options-ignore-unknown",
                 "--options=" + self.path("options.json", b"{}"),
                 "--rules=r", "--unchecked-rules", "--pass=after-optimize=/bin/cat",
                 "--pass-seconds=5", "--pass-memory=100000000",
                 "--export-compile-stat=" + self.path("fusion.json"),
                 "--dump-dir", self.path("dump"), "--stats", self.path("stats.json"),
                 "--verify=each",
                 "--max-constant-bytes=1000", "--error-format=text", "--progress=text", "--model=m",
                 "--external-dir=d", "--annotate=a", "--transport=pipe",
                 "--stop-after=build:p", "--format=sg", "--strict", "--quiet", "--segments=inline",
                 "--graph-key=k",
                 *("--skip=%s:p" % stage for stage in STAGES),
                 *("--passes=%s:p" % stage for stage in STAGES)]
        options_of = lambda text: set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.MULTILINE))
        own = options_of(subprocess.run([os.path.join(PROGRAMS, "sluice-compile"), "--help"],
                                        capture_output=True, text=True).stdout)
        self.assertEqual({option.split("=")[0] for option in given if option.startswith("--")},
                         own - {"--help", "--version", "--plan", "--service", "--farm", "--key",
                                "--peer-key",
                                # stores, which look into graphs; store_test.py
                                "--store", "--remote", "--graph-compiler-cache-dir",
                                # which runs no scripts; sandbox_test.py
                                "--sandbox", "--sandbox-memory", "--sandbox-seconds",
                                "--sandbox-file-bytes"})
        result = self.compile(*given)
        self.assertEqual(result.returncode, 0, result.stderr)
        for stage in STAGES:
            program = os.path.join(PROGRAMS, "sluice-" + stage)
            if not os.path.exists(program):
                continue  # only part of Sluice was built
            known = options_of(subprocess.run([program, "--help"], capture_output=True,
                                              text=True).stdout)
            passed = {argument.split("=")[0] for argument in self.arguments_of(stage)
                      if argument.startswith("--")}
            self.assertEqual(passed - known, set(), stage)

    def test_errors_as_json(self):
        result = self.compile("--error-format=json", FAIL_optimize="9")
        self.assertEqual(result.returncode, 6)
        self.assertEqual(json.loads(result.stderr.splitlines()[-1])["code"], "SL8001")

    def test_first_failure_decides_and_alone_speaks(self):
        for k, stage in enumerate(STAGES):
            for code in (3, 4, 5, 6, 7):
                result = self.compile(**{"FAIL_" + stage.replace("-", "_"): str(code)})
                self.assertEqual(result.returncode, code, stage)
                self.assertEqual(result.stderr.count("error"), 1, result.stderr)
                self.assertIn("sluice-%s: error SL2001: broken on purpose\n" % stage, result.stderr)
                self.assertEqual(result.stderr.count(" ms"), k)
                self.assert_nothing_left()

    def test_a_later_stage_that_fails_at_once_does_not_hide_an_earlier_one(self):
        result = self.compile(EARLY_partition="2", FAIL_preprocess="4", SLEEP_preprocess="0.3")
        self.assertEqual(result.returncode, 4)
        self.assertNotIn("early", result.stderr)
        result = self.compile(EARLY_partition="2", BIG="300000")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("error"), 1)
        self.assertEqual(result.stderr.count(" ms"), 2)
        self.assert_nothing_left()

    def test_a_killed_stage_is_a_matter_of_resources(self):
        for name in ("KILL", "TERM", "INT", "HUP", "QUIT", "XCPU"):
            result = self.compile(SIGNAL_optimize=name)
            self.assertEqual(result.returncode, 5, name)
            self.assertIn("SL8004: sluice-optimize ended with signal %d" %
                          signal.Signals["SIG" + name], result.stderr)

    def test_a_stage_that_cannot_start_is_a_matter_of_resources(self):
        result = self.compile(FAIL_optimize="127")
        self.assertEqual(result.returncode, 5)
        # what it said is passed on
        self.assertIn("sluice-optimize: error SL2001: broken on purpose", result.stderr)
        self.assertIn("SL8004: sluice-optimize ended with exit code 127", result.stderr)

    def test_codes_outside_the_table_and_signals_are_our_bugs(self):
        for failure, text in (({"FAIL_optimize": "1"}, "sluice-optimize ended with exit code 1"),
                              ({"SIGNAL_optimize": "SEGV"},
                               "sluice-optimize ended with signal 11")):
            result = self.compile(**failure)
            self.assertEqual(result.returncode, 6)
            self.assertIn("sluice-compile: error SL8001: " + text, result.stderr)
            self.assert_nothing_left()

    def test_missing_program_is_named(self):
        for stage in STAGES:
            os.rename(os.path.join(self.bin, "sluice-" + stage), self.path("away"))
            result = self.compile()
            os.rename(self.path("away"), os.path.join(self.bin, "sluice-" + stage))
            self.assertEqual(result.returncode, 3)
            self.assertIn("SL8002: the program 'sluice-%s'" % stage, result.stderr)
            self.assertEqual(self.ran(), [])
            self.assert_nothing_left()

    def test_programs_are_found_in_path_too(self):
        other = self.path("tmp/other")
        os.mkdir(other)
        os.rename(os.path.join(self.bin, "sluice-build"), os.path.join(other, "sluice-build"))
        result = self.compile(PATH=other + ":/usr/bin:/bin")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_dump_dir(self):
        dump = self.path("dump")
        result = self.compile("--dump-dir", dump)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(dump)),
                         ["%d-%s.sg" % (k + 1, stage) for k, stage in enumerate(STAGES[:4])])
        for k, stage in enumerate(STAGES):
            self.assertIn("--dump-dir=%s/%d-%s" % (dump, k + 1, stage), self.arguments_of(stage))
        for k, stage in enumerate(STAGES[:4]):
            text = self.text_of("%s/%d-%s.sg" % (dump, k + 1, stage))
            self.assertEqual(text, "model\n" + "".join(s + "\n" for s in STAGES[:k + 1]))
        os.remove(self.out)
        shutil.rmtree(dump)
        self.assertEqual(self.compile("--dump-dir", dump, FAIL_partition="3").returncode, 3)
        self.assertEqual(sorted(os.listdir(dump)), ["1-preprocess.sg", "2-optimize.sg"])

    def test_resume_after_the_last_stage_done(self):
        for level, last in ((1, 1), (1, 2), (2, 3), (3, 4), (4, 5)):
            source = self.path("from.sg", graph_header(level, last) + b"graph\n")
            shutil.rmtree(self.notes)
            os.mkdir(self.notes)
            result = self.compile("--denormals=ieee", source=source, SKIP="129")
            self.assertEqual(result.returncode, 0, result.stderr)
            going_on = STAGES[min(last, 4):]  # a scheduled graph is packaged
            self.assertEqual(self.ran(), sorted(going_on, key=STAGES.index))
            self.assertEqual(self.text_of(self.out),
                             "graph\n" + "".join(stage + "\n" for stage in going_on))
            self.assertIn("--denormals=ieee", self.arguments_of(going_on[0]))

    def test_options_that_come_too_late_are_refused(self):
        source = self.path("from.sg", graph_header(2, 3))
        for late in ("--dim=n=1", "--profile=cpu-avx2", "--opt-level=O1"):
            result = self.compile(late, source=source)
            self.assertEqual(result.returncode, 3, late)
            self.assertIn("work goes on with sluice-subgraph-optimize", result.stderr)
        self.assertEqual(self.ran(), [])

    def test_resume_of_assembled_files_goes_by_level(self):
        for level, stage in ((1, "optimize"), (2, "subgraph-optimize"), (3, "build"), (4, "build")):
            shutil.rmtree(self.notes)
            os.mkdir(self.notes)
            self.assertEqual(self.compile(source=self.path("from.sg", graph_header(level, 0)))
                             .returncode, 0)
            self.assertEqual(self.ran()[0], stage)

    def test_damaged_graph_file(self):
        header = bytearray(graph_header(1, 2))
        header[20] ^= 1
        result = self.compile(source=self.path("from.sg", bytes(header)))
        self.assertEqual(result.returncode, 3)
        self.assertIn("SL1003", result.stderr)
        self.assertEqual(self.ran(), [])

    def test_stats(self):
        stats = self.path("stats.json")
        result = self.compile("--stats", stats)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"preprocess +\d+\.\d ms +7 nodes")
        with open(stats) as file:
            stages = json.load(file)["stages"]
        self.assertEqual([stage["stage"] for stage in stages], STAGES)
        self.assertEqual(stages[0]["passes"][0]["name"], "p")
        self.assertEqual(stages[0]["bytes"], 17)
        self.assertEqual(os.listdir(self.tmp), [])

    def start_and_wait_for(self, stage):
        process = subprocess.Popen([os.path.join(self.bin, "sluice-compile"), self.model, "-o",
                                    self.out], stderr=subprocess.PIPE,
                                   env=self.environment({"SLEEP_" + stage: "30"}))
        note = os.path.join(self.notes, stage + ".pid")
        deadline = time.monotonic() + 20
        while not (os.path.exists(note) and self.text_of(note).strip()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return process, int(self.text_of(note))

    def is_running(self, pid):
        try:
            return "Z" not in self.text_of("/proc/%d/stat" % pid).rsplit(")", 1)[1][:3]
        except FileNotFoundError:
            return False

    def assert_ends(self, pid):
        deadline = time.monotonic() + 20
        while self.is_running(pid):
            self.assertLess(time.monotonic(), deadline, "a stage outlived the orchestrator")
            time.sleep(0.01)

    def test_killed_halfway_leaves_nothing(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            for stage in ("optimize", "build"):
                process, stage_pid = self.start_and_wait_for(stage)
                process.send_signal(number)
                _, errors = process.communicate(timeout=20)
                self.assertEqual(process.returncode, -number)
                self.assertNotIn(b"error", errors)
                self.assert_ends(stage_pid)
                self.assert_nothing_left()
                os.remove(os.path.join(self.notes, stage + ".pid"))

    def test_an_old_output_stays_when_compilation_fails(self):
        self.path("model.om", "old")
        self.assertEqual(self.compile(FAIL_build="6").returncode, 6)
        self.assertEqual(self.text_of(self.out), "old")
        self.assertEqual(self.compile().returncode, 0)
        self.assertNotEqual(self.text_of(self.out), "old")

    def test_wrong_arguments(self):
        for arguments in (["compile"], ["compile", "a", "b"], ["compile", "--nothing", "a"],
                          ["nonsense"], []):
            self.assertEqual(self.run_sluice(*arguments).returncode, 2, arguments)
        self.assertIn("did you mean 'sluice compile'?", self.run_sluice("compiel").stderr)
        result = self.run_sluice("compile", self.path("absent.onnx"), "-o", self.out)
        self.assertEqual(result.returncode, 3)
        self.assertIn("absent.onnx", result.stderr)

    def test_verbs(self):
        self.fake("sluice-loader", '#!/bin/sh\necho loader "$@"\n')
        self.fake("sluice-mine", '#!/bin/sh\necho mine "$@"\n')
        self.assertEqual(self.run_sluice("run", "m.om", "--threads", "2").stdout,
                         "loader m.om --threads 2\n")
        self.assertEqual(self.run_sluice("bench", "m.om").stdout, "loader --bench m.om\n")
        self.assertEqual(self.run_sluice("mine", "x y").stdout, "mine x y\n")
        help_text = self.run_sluice("--help").stdout
        for verb in ("compile", "run", "bench", "show", "as", "verify", "eval", "diff",
                     "conformance", *STAGES):
            self.assertRegex(help_text, r"\n  %s +\w" % verb)
        missing = self.run_sluice("show", "x")
        self.assertEqual(missing.returncode, 3)
        self.assertIn("SL8002: the program 'sluice-show'", missing.stderr)


if __name__ == "__main__":
    PROGRAMS = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
