#!/usr/bin/python3
"""Artifacts from worker to worker: the dispatcher sends constants about once, and whatever happens
to a holder, every compile ends with the bytes that it has without a farm.

usage: peers_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
from onnx import helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from farm import Farm, programs_with, wait_until
from models import floats, save
from programs import ProgramCase, bytes_of, need

OPTIONS = [{"profile": profile, "denormals": denormals, "math": math}
           for profile in ("cpu-generic", "cpu-avx2") for denormals in ("flush", "ieee")
           for math in ("high_performance", "high_precision")]


def make_model(path, megabytes):
    """A product with a weight of so many MiB."""
    weight = np.random.default_rng(1).standard_normal((megabytes * 256, 1024), np.float32)
    save(path, [helper.make_node("MatMul", ["x", "w"], ["y"])],
         [floats("x", [1, megabytes * 256])], [floats("y", [1, 1024])], {"w": weight})
    return weight.nbytes


class PeersTest(ProgramCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.path.dirname(self.programs))  # for links to programs
        self.addCleanup(shutil.rmtree, self.folder)
        self.client_keys = []
        self.compiles = 0

    def start_farm(self, **arguments):
        self.farm = Farm(self.programs, self.folder, slots=1, **arguments)
        self.addCleanup(self.farm.stop)

    def start_workers(self, *numbers, programs=None):
        for number in numbers:
            self.farm.start_worker(number, "--bind", self.endpoint(number), programs=programs)
        self.wait_for_workers()

    def wait_for_workers(self):
        count = len(self.farm.workers)
        self.assertTrue(wait_until(lambda: len(self.farm.status()["workers"]) == count))

    def endpoint(self, number):
        return "ipc://" + self.path(f"peer-{number}")

    def start(self, count):
        """Compiles of the model with options that were not used yet, one for each worker."""
        numbers = range(self.compiles, self.compiles + count)
        self.compiles += count
        manifest = {"compiles": [{"model": "model.onnx", "output": f"{k}.om",
                                  "options": OPTIONS[k]} for k in numbers]}
        with open(self.path("models.json"), "w") as file:
            json.dump(manifest, file)
        process = subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile-all"), self.path("models.json"),
             "--store", self.path("client"), "-o", self.path("out"), "--provider",
             self.farm.endpoint, *self.client_keys],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def finish(self, process):
        errors = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 0, errors)

    def compile(self, count):
        self.finish(self.start(count))

    def same_bytes(self):
        self.assertEqual(len(os.listdir(self.path("out"))), self.compiles)
        for k in range(self.compiles):
            words = [f"--{key}={value}" for key, value in OPTIONS[k].items()]
            self.program(0, "sluice-compile", self.path("model.onnx"), "-o", self.path("own.om"),
                         "-q", *words)
            self.assertTrue(bytes_of(self.path("own.om")) ==
                            bytes_of(self.path(f"out/{k}.om")), words)

    def sent_inputs(self):
        """The bytes that the dispatcher has sent to workers."""
        products = [os.path.getsize(os.path.join(self.path("out"), name))
                    for name in os.listdir(self.path("out"))]
        return self.since()["sent_bytes"] - sum(products)

    def since(self):
        return self.farm.status()["since_start"]

    def constant(self, number, size):
        """The path of the constant in a worker's store."""
        for folder, _, files in os.walk(self.path(f"worker-{number}")):
            for file in files:
                path = os.path.join(folder, file)
                if os.path.getsize(path) == size and len(file) == 64:
                    return path
        return None

    # ---- the good case

    def test_the_dispatcher_sends_constants_about_once(self):
        size = make_model(self.path("model.onnx"), 8)
        self.start_farm()
        self.start_workers(0, 1, 2, 3)
        self.compile(4)
        self.same_bytes()
        self.assertEqual([worker["done"] for worker in self.farm.status()["workers"]], [1] * 4)
        self.assertGreaterEqual(self.sent_inputs(), size)
        self.assertLess(self.sent_inputs(), 1.2 * size)
        self.assertTrue(wait_until(lambda: self.since()["peer_bytes"] >= 3 * size))
        self.assertLess(self.since()["peer_bytes"], 3.2 * size)
        self.assertEqual(self.farm.events("peer failed"), [])
        text = self.program(0, "sluice-farm", "status", self.farm.endpoint)
        self.assertIn(f" {self.since()['peer_bytes']} from worker to worker\n", text)
        for number in range(4):
            self.farm.workers[number].send_signal(signal.SIGTERM)
            self.farm.workers[number].wait(timeout=20)
            self.assertFalse(os.path.exists(self.path(f"peer-{number}")), "it removes its socket")

    def test_a_worker_that_serves_nobody_gets_them_elsewhere_too(self):
        size = make_model(self.path("model.onnx"), 4)
        self.start_farm()
        self.start_workers(0)
        self.compile(1)
        self.farm.start_worker(1)
        self.wait_for_workers()
        self.compile(2)
        self.same_bytes()
        self.assertLess(self.sent_inputs(), 1.2 * size)

    # ---- holders that fail

    def test_a_holder_that_is_killed_while_it_sends(self):
        size = make_model(self.path("model.onnx"), 48)
        self.start_farm()
        self.start_workers(0)
        self.compile(1)
        self.start_workers(1)
        holder = self.farm.workers[0]
        holder.send_signal(signal.SIGSTOP)
        process = self.start(2)
        self.assertTrue(wait_until(lambda: self.farm.events("fetching from peer")))

        def has_some():  # the holder runs for a moment each time
            holder.send_signal(signal.SIGCONT)
            time.sleep(0.005)
            holder.send_signal(signal.SIGSTOP)
            return any(0 < os.path.getsize(os.path.join(self.path("worker-1/partial"), name)) < size
                       for name in os.listdir(self.path("worker-1/partial")))

        self.assertTrue(wait_until(has_some, seconds=3))
        self.assertTrue(wait_until(lambda: self.farm.events("peer failed")))
        self.farm.kill_worker(0)
        self.finish(process)
        self.same_bytes()
        failed = self.farm.events("peer failed")[0]
        self.assertEqual((failed["level"], failed["why"]), ("warning", "it does not answer"))
        self.assertGreater(self.sent_inputs(), size, "the remainder")
        self.assertLess(self.sent_inputs(), 2 * size, "what had come was kept")

    def test_a_damaged_file_of_a_holder(self):
        size = make_model(self.path("model.onnx"), 4)
        busy = programs_with(self.programs, self.path("busy"), "sluice-job",
                             f"while [ -e {self.path('hold')} ]; do sleep 0.1; done\n"
                             "exec REAL \"$@\"\n")
        self.start_farm()
        self.start_workers(0, programs=busy)
        self.compile(1)
        with open(self.path("hold"), "w"):
            pass
        path = self.constant(0, size)
        content = bytes_of(path)
        os.remove(path)
        with open(path, "wb") as file:
            file.write(content[:-1] + bytes([content[-1] ^ 1]))
        self.start_workers(1)
        process = self.start(2)
        self.assertTrue(wait_until(lambda: self.farm.events("peer failed")))
        self.assertTrue(wait_until(lambda: self.constant(1, size)))
        self.assertTrue(wait_until(lambda: not os.path.exists(path)), "the holder was notified")
        self.start_workers(2)
        another = self.start(2)
        self.assertTrue(wait_until(lambda: self.constant(2, size)))
        os.remove(self.path("hold"))
        self.finish(process)
        self.finish(another)
        self.same_bytes()
        self.assertEqual([event["why"] for event in self.farm.events("peer failed")],
                         ["its bytes do not have their digest"])
        fetches = sorted(self.farm.events("fetching from peer"), key=lambda event: event["time"])
        self.assertEqual([event["peer"] for event in fetches][:2],
                         [self.endpoint(0), self.endpoint(1)])
        self.assertEqual(self.farm.events("worker excluded"), [])

    # ---- keys

    def keygen(self, *names):
        for name in names:
            self.program(0, "sluice-farm", "keygen", name, "-o", self.folder)

    def key_words(self, name):
        return ["--key", self.path(name + ".key"), "--peer-key", self.path("farm.pub")]

    def allow(self, folder, *names):
        os.makedirs(self.path(folder), exist_ok=True)
        for name in names:
            shutil.copy(self.path(name + ".pub"), self.path(folder))
        return ["--allow-keys", self.path(folder)]

    def test_keys(self):
        size = make_model(self.path("model.onnx"), 4)
        self.keygen("farm", "alice", "node0", "node1", "node2")
        self.client_keys = self.key_words("alice")
        self.start_farm(keys=self.client_keys, options=[
            "--key", self.path("farm.key"),
            *self.allow("allowed", "alice", "node0", "node1", "node2")])
        self.farm.start_worker(0, *self.key_words("node0"), "--bind", "tcp://127.0.0.1:*",
                               *self.allow("peers", "node1"))
        self.wait_for_workers()
        self.compile(1)
        self.farm.start_worker(1, *self.key_words("node1"))
        self.wait_for_workers()
        self.compile(2)
        self.assertLess(self.sent_inputs(), 1.2 * size)
        self.assertTrue(wait_until(lambda: self.since()["peer_bytes"] >= size))
        self.assertEqual(self.farm.events("peer failed"), [])
        self.farm.start_worker(2, *self.key_words("node2"))
        self.wait_for_workers()
        self.compile(3)
        self.same_bytes()
        failed = self.farm.events("peer failed")
        self.assertEqual(len(failed), 1)
        self.assertIn("our key is not allowed there", failed[0]["why"])
        self.assertEqual([event["program"] for event in self.farm.events("peer refused")],
                         ["sluice-worker"])
        self.assertGreater(self.sent_inputs(), 2 * size)
        self.assertLess(self.since()["peer_bytes"], 1.2 * size)

    def test_only_pieces_are_given(self):
        """Others than workers get nothing, and the worker goes on."""
        self.start_farm()
        self.start_workers(0)
        self.program(5, "sluice-farm", "status", self.endpoint(0))
        make_model(self.path("model.onnx"), 1)
        self.compile(1)
        self.same_bytes()

    def test_options_that_cannot_be(self):
        self.keygen("node")
        key = ["--key", self.path("node.key"), "--peer-key", self.path("node.pub")]
        allowed = self.allow("peers", "node")
        for options, code, words in (
                (["--bind", "tcp://127.0.0.1:*"], 3, "--insecure"),
                (["--bind", "tcp://*:*", "--insecure"], 3, "open to other machines"),
                (["--bind", "tcp://*:*", *key, *allowed], 3, "--reached-at"),
                (["--bind", "tcp://127.0.0.1:*", *allowed], 2, "without --key"),
                (["--bind", "tcp://127.0.0.1:*", *key, *allowed, "--reached-at", "tcp://x"], 3,
                 "--reached-at: the endpoint 'tcp://x' has no port"),
                (allowed, 2, "--allow-keys is given without --bind"),
                (["--insecure"], 2, "--insecure is given without --bind")):
            text = self.program(code, "sluice-worker", "--connect",
                                "ipc://" + self.path("nobody"), "--store", self.path("store"),
                                *options)
            self.assertIn(words, text)


if __name__ == "__main__":
    PeersTest.programs = need(sys.argv[1], ["farm", "worker", "compile-all", "compile", "job"])
    unittest.main(argv=sys.argv[1:])
