#!/usr/bin/python3
"""docs/farm.md, "Two machines", in two network namespaces: a dispatcher in one, a worker and a
client in the other, with keys; the bytes are those of a local compile, and both sides agree on the
keys of jobs.

usage: two_machines_test.py FOLDER_OF_PROGRAMS [unittest arguments]

Ends as skipped, and says why, where namespaces cannot be made.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from farm import wait_until
from programs import ProgramCase, need
from store_test import make_model

FARM, NODE = "10.213.7.1", "10.213.7.2"


def run(*words, code=0):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (words, done.stdout + done.stderr)
    return done.stdout + done.stderr


class TwoMachinesTest(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.names = [f"sluice-{side}-{os.getpid()}" for side in ("farm", "node")]
        links = [f"slf{os.getpid()}", f"sln{os.getpid()}"]
        try:
            for name in cls.names:
                run("ip", "netns", "add", name)
            run("ip", "link", "add", links[0], "type", "veth", "peer", "name", links[1])
            for name, link, address in zip(cls.names, links, (FARM, NODE)):
                run("ip", "link", "set", link, "netns", name)
                run("ip", "-n", name, "addr", "add", address + "/24", "dev", link)
                run("ip", "-n", name, "link", "set", link, "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
        except (OSError, AssertionError) as error:
            cls.tearDownClass()
            print(f"SKIPPED: no network namespaces here: {error}")
            sys.exit(77)

    @classmethod
    def tearDownClass(cls):
        for name in cls.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def setUp(self):
        super().setUp()
        self.farm, self.node = self.path("farm"), self.path("node")
        os.mkdir(self.farm)
        os.mkdir(self.node)
        self.processes = []
        self.addCleanup(self.stop)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=20)

    def at(self, side, program, *words):
        """The command line of a program on one of the machines."""
        return ["ip", "netns", "exec", self.names[side], os.path.join(self.programs, program),
                *words]

    def start(self, side, folder, log, *words):
        with open(os.path.join(folder, log), "w", encoding="utf-8") as file:
            self.processes.append(subprocess.Popen(self.at(side, *words), cwd=folder, stderr=file))

    def test_as_the_page_says(self):
        for folder, name in ((self.farm, "farm"), (self.node, "node1"), (self.node, "alice")):
            run(os.path.join(self.programs, "sluice-farm"), "keygen", name, "-o", folder)
        for kind, name in (("workers", "node1"), ("clients", "alice")):
            os.makedirs(os.path.join(self.farm, "allowed", kind))
            shutil.copy(os.path.join(self.node, name + ".pub"),
                        os.path.join(self.farm, "allowed", kind))
        shutil.copy(os.path.join(self.farm, "farm.pub"), self.node)
        endpoint = f"tcp://{FARM}:5555"
        self.start(0, self.farm, "farm.log", "sluice-farm", "--bind", "tcp://*:5555", "--state",
                   "state", "--key", "farm.key", "--allow-keys", "allowed")
        self.start(1, self.node, "worker.log", "sluice-worker", "--connect", endpoint, "--key",
                   "node1.key", "--peer-key", "farm.pub")
        make_model(os.path.join(self.node, "model.onnx"))
        manifest = {"options": {"profile": "cpu-generic"}, "compiles": [{"model": "model.onnx"}]}
        with open(os.path.join(self.node, "models.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        keys = ["--key", "alice.key", "--peer-key", "farm.pub"]
        done = subprocess.run(
            self.at(1, "sluice-compile-all", "models.json", "--store", "store", "-o", "compiled",
                    "--result", "result.json", "--provider", endpoint, *keys),
            cwd=self.node, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        status = run(*self.at(1, "sluice-farm", "status", endpoint, "--key",
                              os.path.join(self.node, "alice.key"), "--peer-key",
                              os.path.join(self.node, "farm.pub")))
        self.assertIn("idle", status)
        # The other machine makes the same bytes, under the same key.
        shutil.copy(os.path.join(self.node, "model.onnx"), self.farm)
        shutil.copy(os.path.join(self.node, "models.json"), self.farm)
        done = subprocess.run(
            self.at(0, "sluice-compile-all", "models.json", "--store", "own", "-o", "compiled",
                    "--result", "result.json"),
            cwd=self.farm, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = []
        for folder in (self.farm, self.node):
            with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
                results.append(json.load(file)["compiles"][0]["key"])
        self.assertEqual(results[0], results[1])
        with open(os.path.join(self.farm, "compiled/model.om"), "rb") as a, \
                open(os.path.join(self.node, "compiled/model.om"), "rb") as b:
            self.assertTrue(a.read() == b.read())

    def test_a_cable_that_is_pulled(self):
        """A worker that cannot be reached is lost, and comes back."""
        for folder, name in ((self.farm, "farm"), (self.node, "node1")):
            run(os.path.join(self.programs, "sluice-farm"), "keygen", name, "-o", folder)
        os.makedirs(os.path.join(self.farm, "allowed"))
        shutil.copy(os.path.join(self.node, "node1.pub"), os.path.join(self.farm, "allowed"))
        shutil.copy(os.path.join(self.farm, "farm.pub"), self.node)
        endpoint = f"tcp://{FARM}:5556"
        self.start(0, self.farm, "farm.log", "sluice-farm", "--bind", "tcp://*:5556", "--state",
                   "state", "--key", "farm.key", "--allow-keys", "allowed")
        self.start(1, self.node, "worker.log", "sluice-worker", "--connect", endpoint, "--key",
                   "node1.key", "--peer-key", "farm.pub")
        keys = ["--key", os.path.join(self.node, "node1.key"), "--peer-key",
                os.path.join(self.node, "farm.pub")]

        def workers():
            done = subprocess.run(self.at(0, "sluice-farm", "status", "--json", endpoint, *keys),
                                  capture_output=True, text=True)
            return len(json.loads(done.stdout)["workers"]) if done.returncode == 0 else -1

        self.assertTrue(wait_until(lambda: workers() == 1))
        link = f"sln{os.getpid()}"
        run("ip", "-n", self.names[1], "link", "set", link, "down")
        self.assertTrue(wait_until(lambda: workers() == 0))
        run("ip", "-n", self.names[1], "link", "set", link, "up")
        self.assertTrue(wait_until(lambda: workers() == 1, seconds=60))


if __name__ == "__main__":
    TwoMachinesTest.programs = need(sys.argv[1], ["farm", "worker", "compile-all", "job"])
    unittest.main(argv=sys.argv[1:])
