#!/usr/bin/python3
"""sluice compile --sandbox: the same bytes as without, over every transport and with a store; a
stage that is replaced by a program with bad intentions gets nowhere; limits are named when they are
exceeded. A layer that this kernel does not offer is skipped with a message.

usage: sandbox_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
from onnx import helper, save

from models import floats, make_convolutions, make_mlp, model_of
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "cpu-generic"  # runs everywhere

# Tries what a stage must not do, and prints what came of it.
EVIL = r"""
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <thread>

void report(const char* what, bool done) {
  fprintf(stderr, "%s: %s\n", what, done ? "DONE" : "refused");
}

bool writes(const char* path) { return open(path, O_WRONLY | O_CREAT, 0600) >= 0; }

bool forks() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0;
}

bool executes_descriptor(int number) {
  const int file = open("/usr/bin/true", O_RDONLY);
  if (dup2(file, number) < 0) return false;
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  return syscall(SYS_execveat, number, "", arguments, arguments + 1, AT_EMPTY_PATH) == 0;
}

void fill() {
  const std::string text(1 << 16, 'x');
  for (int i = 0; i < 1024; ++i)
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) {
      fprintf(stderr, "fill: %s\n", strerror(errno));
      _exit(5);
    }
  fprintf(stderr, "fill: DONE\n");
}

int tries() {
  signal(SIGXFSZ, SIG_IGN);
  const char* what = getenv("EVIL");
  if (strcmp(what, "fill") == 0) fill();
  if (strcmp(what, "spin") == 0) while (true) {}
  if (strcmp(what, "sleep") == 0) sleep(1000);
  report("fork", forks());
  if (strcmp(what, "all") != 0) return 3;
  report("exec", execl("/usr/bin/true", "true", nullptr) == 0);
  for (int number = 200; number < 2000; ++number)
    if (executes_descriptor(number)) report("execveat", true);
  report("execveat", false);
  for (int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK})
    report("socket", socket(family, SOCK_STREAM, 0) >= 0);
  report("read", open((std::string(getenv("HOME")) + "/secret").c_str(), O_RDONLY) >= 0);
  report("list", open(getenv("HOME"), O_RDONLY) >= 0);
  report("write", writes((std::string(getenv("HOME")) + "/planted").c_str()));
  report("temporary", writes((std::string(getenv("TMPDIR")) + "/planted").c_str()));
  report("model", open(getenv("MODEL"), O_WRONLY) >= 0);
  report("mode", chmod(getenv("MODEL"), 0777) == 0);
  report("signal", kill(getppid(), 0) == 0);
  report("parent",
         open(("/proc/" + std::to_string(getppid()) + "/environ").c_str(), O_RDONLY) >= 0);
  bool ran = false;
  std::thread([&] { ran = true; }).join();
  fprintf(stderr, "thread: %s\n", ran ? "runs" : "FAILS");
  return 3;
}

#ifdef PRELOADED  // into a service: its jobs call close() in their sandboxes
extern "C" int close(int file) {
  static bool has_tried = false;
  if (!has_tried && prctl(PR_GET_SECCOMP) != 0) {
    has_tried = true;
    tries();
  }
  return static_cast<int>(syscall(SYS_close, file));
}
#else
int main() { return tries(); }
#endif
"""
NEEDS_LANDLOCK = {"read", "list", "write", "temporary", "model", "parent"}


def make_external(path):
    """A product with weights in another file beside the model."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Exp", ["m"], ["y"])]
    weight = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    model = model_of(nodes, [floats("x", [4, 64])], [floats("y", [4, 64])], {"w": weight})
    save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


class Case(ProgramCase):
    def setUp(self):
        super().setUp()
        for name in ("tmp", "home", "models", "out"):
            os.mkdir(self.path(name))
        self.write("home/secret", "secret")
        self.model = self.path("models/model.onnx")
        self.out = self.path("out/model.om")
        self.environment = dict(os.environ, TMPDIR=self.path("tmp"), HOME=self.path("home"),
                                MODEL=self.model)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def compile(self, *options, source=None, stdout=subprocess.PIPE):
        profile = ["--profile=" + PROFILE] if source is None else []
        return subprocess.run([os.path.join(self.programs, "sluice-compile"), *options, *profile,
                               source or self.model],
                              stdout=stdout, stderr=subprocess.PIPE, timeout=300,
                              env=self.environment, cwd=self.path("out"))

    def made(self, *options, source=None):
        result = self.compile("-o", self.out, *options, source=source)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        made = bytes_of(self.out)
        os.remove(self.out)
        return made


class SameBytes(Case):
    def strategies(self):
        for transport in ("pipe", "files", "zmq"):
            yield ["--transport", transport]
            yield ["--transport", transport, "--stats", self.path("out/stats.json")]
            yield ["--transport", transport, "--dump-dir", self.path("out/dump")]
            yield ["--transport", transport, "--store", self.path("store-" + transport)]
            yield ["--transport", transport, "--dump-dir", self.path("out/dump"), "--store",
                   self.path("constants-" + transport)]
        yield ["--store", self.path("store-pipe")]  # all is found

    def check(self, make):
        make(self.model)
        expected = self.made("-q")
        for strategy in self.strategies():
            self.assertEqual(self.made("-q", "--sandbox", *strategy), expected,
                             strategy)
        result = self.compile("-q", "--sandbox")
        self.assertEqual(result.stdout, expected, "a pipe")

    def test_convolutions(self):
        self.check(make_convolutions)

    def test_products(self):
        self.check(make_mlp)

    def test_external_data(self):
        self.check(make_external)

    def test_goes_on_after_each_stage(self):
        make_external(self.model)
        expected = self.made("-q", "--dump-dir", self.path("dump"))
        for number, stage in enumerate(STAGES[:-1], 1):
            graph = self.path(f"dump/{number}-{stage}.sg")
            self.assertEqual(self.made("-q", "--sandbox", "--model", self.model, source=graph),
                             expected, stage)

    def test_weight_files(self):
        make_external(self.model)
        for kind in ("1", "2"):
            expected = self.made("-q", "--external-weight=" + kind)
            shutil.rmtree(self.path("out/weight"))
            self.assertEqual(self.made("-q", "--external-weight=" + kind, "--sandbox"), expected)
            self.assertTrue(os.listdir(self.path("out/weight")))

    def test_kernels_get_into_the_store(self):
        make_mlp(self.model)
        entries = lambda store: sorted(
            os.path.join(os.path.relpath(folder, store), name)
            for folder, _, names in os.walk(store) for name in names)
        kept = lambda store: [name for name in entries(store) if name.startswith("records")]
        for option, store in (("--threads=1", "without"), ("--sandbox", "with")):
            self.made("-q", option, "--store", self.path("store"))  # graphs name this folder
            os.rename(self.path("store"), self.path(store))
        # The lowered graph holds the kernels itself: the stage that wrote it could not store them.
        self.assertEqual(kept(self.path("with")), kept(self.path("without")))
        again = [set(entries(self.path(store))) for store in ("with", "without")]
        self.assertEqual(len(again[0] ^ again[1]), 2)

    def test_layers_are_told(self):
        make_mlp(self.model)
        result = self.compile("-o", self.out, "--sandbox")
        self.assertIn("sluice-compile: sandbox rlimits", result.stderr.decode())
        self.assertNotIn("sandbox", self.compile("-o", self.out).stderr.decode())


class ServiceCase(Case):
    def setUp(self):
        super().setUp()
        make_mlp(self.model)

    def serve(self, stage, *options):
        process = subprocess.Popen([os.path.join(self.programs, "sluice-" + stage), "--serve",
                                    "ipc://" + tempfile.mktemp(dir=self.folder), *options],
                                   stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        line = process.stderr.readline()
        return process, line, ["--transport=zmq", f"--service={stage}={line.split()[-1]}"]


class Services(ServiceCase):
    def test_tell_what_holds(self):
        self.assertIn("serves jobs of sluice-build in a sandbox (rlimits", self.serve("build")[1])
        self.assertNotIn("sandbox", self.serve("optimize", "--no-sandbox")[1])

    def test_give_the_same_bytes(self):
        expected = self.made("-q")
        for options in ([], ["--no-sandbox"]):
            uses = [self.serve(stage, *options)[2]
                    for stage in STAGES]
            self.assertEqual(self.made("-q", *(word for use in uses for word in use[1:]),
                                       "--transport=zmq"), expected)

    def test_keep_kernels(self):
        store = self.path("store")
        _, _, use = self.serve("subgraph-optimize", "--store", store)
        self.made("-q", "--store", store, *use)
        kinds = [bytes_of(os.path.join(folder, name)).splitlines()[1]
                 for folder, _, names in os.walk(os.path.join(store, "records")) for name in names]
        self.assertIn(b"kernel", kinds)

    def test_jobs_have_limits(self):
        process, _, use = self.serve("subgraph-optimize", "--sandbox-memory=12000000")
        for _ in range(2):  # the service stays up
            result = self.compile("-o", self.out, "-q", *use)
            self.assertEqual(result.returncode, 5)
            self.assertIn(b"SL1008", result.stderr)
            self.assertIsNone(process.poll())


class EvilJobs(ServiceCase):
    """A job of a service is taken over by what its model contained."""

    def setUp(self):
        super().setUp()
        self.write("evil.cc", EVIL)
        self.evil = self.path("models/evil.so")  # a job may read the folder of its model
        subprocess.run(["g++", "-std=c++20", "-O1", "-pthread", "-shared", "-fPIC", "-DPRELOADED",
                        self.path("evil.cc"), "-o", self.evil], check=True)

    def serve(self, stage, *options, evil="all"):
        clean = self.environment
        self.environment = dict(clean, EVIL=evil, LD_PRELOAD=self.evil)
        try:
            return super().serve(stage, *options)
        finally:
            self.environment = clean

    def test_get_nowhere(self):
        process, line, use = self.serve("optimize")
        if "seccomp" not in line:
            self.skipTest("SKIPPED: this machine has no seccomp: " + line)
        reported = []
        for _ in range(2):  # the service stays up
            reported += self.compile("-o", self.out, *use).stderr.decode().splitlines()
            self.assertIsNone(process.poll())
        skipped = set() if "landlock" in line else NEEDS_LANDLOCK
        for what in ("fork", "exec", "execveat", "socket", "read", "list", "write", "temporary",
                     "model", "mode", "signal", "parent"):
            if what not in skipped:
                self.assertIn(what + ": refused", reported)
                self.assertNotIn(what + ": DONE", reported)
        self.assertIn("thread: runs", reported)

    def test_that_spin_are_ended(self):
        process, line, use = self.serve("optimize", "--sandbox-seconds=1", evil="spin")
        if "seccomp" not in line:
            self.skipTest("SKIPPED: this machine has no seccomp: " + line)
        result = self.compile("-o", self.out, "-q", *use)
        self.assertEqual(result.returncode, 5)
        self.assertIn(b"SL1008", result.stderr)
        self.assertIsNone(process.poll())


class Limits(Case):
    def setUp(self):
        super().setUp()
        make_mlp(self.model)

    def refused(self, *options, says, transports=("pipe", "files")):
        for transport in transports:
            result = self.compile("-o", self.out, "-q", "--transport", transport, *options)
            text = result.stderr.decode()
            self.assertEqual(result.returncode, 5, text)
            self.assertEqual(text.count("error"), 1, text)
            self.assertIn("SL1008", text)
            self.assertIn(says, text)
            self.assertFalse(os.path.exists(self.out))
            self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_memory(self):
        self.refused("--sandbox-memory=12000000", says="12000000 bytes of memory that "
                     "--sandbox-memory allows")

    def test_files(self):
        self.refused("--sandbox-file-bytes=2000", says="2000 bytes of a file that "
                     "--sandbox-file-bytes allows", transports=("files",))

    def test_store(self):
        result = self.compile("-o", self.out, "-q", "--sandbox-memory=12000000", "--store",
                              self.path("store"))
        self.assertEqual(result.returncode, 5)
        self.assertIn(b"--sandbox-memory allows", result.stderr)

    def test_json(self):
        result = self.compile("-o", self.out, "-q", "--sandbox-memory=12000000",
                              "--error-format=json")
        self.assertEqual(result.returncode, 5)
        self.assertTrue(result.stderr.startswith(b"{"), result.stderr)

    def test_values(self):
        for option in ("--sandbox-memory=x", "--sandbox-seconds=0", "--sandbox-file-bytes=-1"):
            result = self.compile("-o", self.out, option)
            self.assertEqual(result.returncode, 3, option)


class Evil(Case):
    """One stage is another program."""

    def setUp(self):
        super().setUp()
        make_mlp(self.model)
        real = self.programs
        self.programs = self.path("bin")
        os.mkdir(self.programs)
        os.symlink(os.path.join(real, "..", "lib"), self.path("lib"))
        shutil.copy(os.path.join(real, "sluice-compile"), self.programs)
        for stage in STAGES:
            os.symlink(os.path.join(real, "sluice-" + stage), self.stage(stage))
        self.write("evil.cc", EVIL)
        self.evil = self.path("models/evil.so")  # a job may read the folder of its model
        subprocess.run(["g++", "-std=c++20", "-O1", "-pthread", self.path("evil.cc"), "-o",
                        self.path("evil")], check=True)
        result = self.compile("-o", self.out, "--sandbox")
        self.layers = result.stderr.decode().splitlines()[0]
        os.remove(self.out)

    def stage(self, name):
        return os.path.join(self.programs, "sluice-" + name)

    def replace(self, name):
        os.remove(self.stage(name))
        shutil.copy(self.path("evil"), self.stage(name))

    def needs(self, *layers):
        for layer in layers:
            if layer not in self.layers:
                self.skipTest(f"SKIPPED: this machine has no {layer}: {self.layers}")

    def test_gets_nowhere(self):
        self.needs("seccomp")
        self.replace("optimize")
        self.environment["EVIL"] = "all"
        for strategy in (["--transport=pipe"], ["--transport=files"],
                         ["--store", self.path("store")]):
            result = self.compile("-o", self.out, "-q", "--sandbox", *strategy)
            text = result.stderr.decode()
            self.assertEqual(result.returncode, 3, text)
            lines = [line.split(": ", 1) for line in text.splitlines()]
            self.assertGreater(len(lines), 14, text)
            for what, came_of_it in lines:
                if what in NEEDS_LANDLOCK and "landlock" not in self.layers:
                    continue
                self.assertIn(came_of_it, ("refused", "runs"), text)
        self.assertEqual(os.listdir(self.path("home")), ["secret"])

    def test_would_get_far_without(self):
        """So the test above can fail."""
        self.replace("optimize")
        self.environment["EVIL"] = "fork"
        self.assertIn("fork: DONE", self.compile("-o", self.out, "-q").stderr.decode())

    def test_does_not_fill_the_disk(self):
        self.replace("build")
        self.environment["EVIL"] = "fill"
        result = self.compile("-o", self.out, "-q", "--sandbox-file-bytes=1000000")
        self.assertEqual(result.returncode, 5)
        self.assertIn(b"1000000 bytes of a file that --sandbox-file-bytes allows", result.stderr)
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_does_not_compute_forever(self):
        self.replace("partition")
        self.environment["EVIL"] = "spin"
        for transport in ("pipe", "files"):
            result = self.compile("-o", self.out, "-q", "--sandbox-seconds=1", "--transport",
                                  transport)
            self.assertEqual(result.returncode, 5, result.stderr)
            self.assertIn(b"1 seconds of processor time that --sandbox-seconds allows",
                          result.stderr)

    def test_does_not_wait_forever(self):
        self.replace("partition")
        self.environment["EVIL"] = "sleep"
        for transport in ("pipe", "files"):
            start = time.monotonic()
            result = self.compile("-o", self.out, "-q", "--sandbox-seconds=1", "--transport",
                                  transport)
            self.assertEqual(result.returncode, 5, result.stderr)
            self.assertIn(b"has not ended after 5 seconds", result.stderr)
            self.assertLess(time.monotonic() - start, 60)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", *STAGES])
    unittest.main()
