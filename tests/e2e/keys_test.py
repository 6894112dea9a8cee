#!/usr/bin/python3
"""Keys of a farm and of services: who has the right ones compiles, everybody else is refused with a
message and logged, and those who listen go on.

usage: keys_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import ProgramCase, need
from store_test import make_model

SOON = 20  # seconds, on a busy machine
PROFILE = "--profile=cpu-generic"


class Process:
    """A program that runs, and what it has printed on standard error."""

    def __init__(self, case, name, *arguments):
        self.case, self.path = case, case.path("%s-%d.log" % (name, len(os.listdir(case.folder))))
        self.log = open(self.path, "w", encoding="utf-8")
        self.process = subprocess.Popen([os.path.join(case.programs, name), *arguments],
                                        stdout=self.log, stderr=self.log)
        case.addCleanup(self.log.close)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def wait_for(self, pattern, seconds=SOON):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.text())
            if found:
                return found
            time.sleep(0.05)
        self.case.fail("no '%s' in: %s" % (pattern, self.text()))

    def end(self, code):
        self.case.assertEqual(self.process.wait(timeout=SOON), code, self.text())
        return self.text()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.end(0)


class KeyCase(ProgramCase):
    def setUp(self):
        super().setUp()
        for folder in ("allowed/clients", "allowed/workers"):
            os.makedirs(self.path(folder))
        for name in ("farm", "alice", "node", "stranger"):
            self.program(0, "sluice-farm", "keygen", name, "-o", self.folder)
        self.allow("alice", "clients")
        self.allow("node", "workers")

    def allow(self, name, folder=""):
        shutil.copy(self.path(name + ".pub"), os.path.join(self.path("allowed"), folder))

    def listener(self):
        return ["--key", self.path("farm.key"), "--allow-keys", self.path("allowed")]

    def keys(self, name, peer="farm"):
        return ["--key", self.path(name + ".key"), "--peer-key", self.path(peer + ".pub")]

    def public(self, name):
        with open(self.path(name + ".pub"), encoding="utf-8") as file:
            return file.read().split()[-1]


class Farm(KeyCase):
    def setUp(self):
        super().setUp()
        make_model(self.path("a.onnx"))
        with open(self.path("models.json"), "w", encoding="utf-8") as file:
            json.dump({"options": {"profile": "cpu-generic"},
                       "compiles": [{"model": "a.onnx", "output": "a.om"}]}, file)

    def farm(self, *options, bind="tcp://127.0.0.1:*"):
        farm = Process(self, "sluice-farm", "--bind", bind, "--state", self.path("state"),
                       *(options or self.listener()))
        farm.endpoint = farm.wait_for(r"listening endpoint=(\S+)").group(1)
        return farm

    def worker(self, farm, *keys):
        return Process(self, "sluice-worker", "--connect", farm.endpoint, "--slots=1",
                       "--store", self.path("worker-store"), *keys)

    def status(self, code, farm, *keys):
        begin = time.monotonic()
        text = self.program(code, "sluice-farm", "status", farm.endpoint, *keys)
        self.assertLess(time.monotonic() - begin, SOON)
        return text

    def compile(self, code, farm, *keys):
        return self.program(code, "sluice-compile-all", self.path("models.json"), "--store",
                            self.path("store"), "-o", self.path("out"), "--provider",
                            farm.endpoint, *keys)

    def assert_serves(self, farm):
        self.status(0, farm, *self.keys("alice"))

    def test_right_keys_compile(self):
        farm = self.farm()
        client = Process(self, "sluice-compile-all", self.path("models.json"), "--store",
                         self.path("store"), "-o", self.path("out"), "--provider", farm.endpoint,
                         *self.keys("alice"))
        end = time.monotonic() + SOON
        while ('"owner":"alice"' not in self.status(0, farm, *self.keys("alice"), "--json") and
               time.monotonic() < end):
            time.sleep(0.1)
        self.assertIn('"owner":"alice"', self.status(0, farm, *self.keys("alice"), "--json"))
        worker = self.worker(farm, *self.keys("node"))
        client.end(0)
        self.program(0, "sluice-compile", self.path("a.onnx"), "-o", self.path("b.om"), PROFILE,
                     "--quiet")
        with open(self.path("out/a.om"), "rb") as ours, open(self.path("b.om"), "rb") as other:
            self.assertTrue(ours.read() == other.read())
        self.assertNotIn("refused", worker.stop() + farm.stop())

    def test_an_unknown_key_is_refused(self):
        farm = self.farm()
        for _ in range(2):
            self.assertIn("SL8009: " + farm.endpoint + ": our key is not allowed there",
                          self.status(3, farm, *self.keys("stranger")))
        self.assertIn("SL8009", self.compile(3, farm, *self.keys("stranger")))
        self.assertIn("SL8009", self.worker(farm, *self.keys("stranger")).end(3))
        farm.wait_for("peer refused key=.* address=127.0.0.1 why=its key is not allowed")
        self.assert_serves(farm)
        self.assertEqual(farm.text().count("peer refused"), 1)
        self.assertIn(self.public("stranger"), farm.text().replace("\\", ""))

    def test_a_wrong_key_of_the_farm_is_noticed(self):
        farm = self.farm()
        self.assertIn("--peer-key is not its key",
                      self.status(3, farm, *self.keys("alice", peer="node")))
        self.assertIn("SL8009", self.worker(farm, *self.keys("node", peer="alice")).end(3))
        farm.wait_for("peer refused key= address= why=it does not have our public key")
        self.assert_serves(farm)

    def test_keys_on_one_side_alone(self):
        farm = self.farm()
        self.assertIn("it wants keys", self.status(3, farm))
        self.assertIn("it wants keys", self.compile(3, farm))
        self.assertIn("it wants keys", self.worker(farm).end(3))
        farm.wait_for("peer refused key= address= why=it (has no key|left before)")
        self.assert_serves(farm)
        farm.stop()
        farm = self.farm("--insecure")
        self.assertIn("it has no key", self.status(3, farm, *self.keys("alice")))
        self.status(0, farm)

    def test_a_key_may_be_added_and_removed(self):
        farm = self.farm()
        self.status(3, farm, *self.keys("stranger"))
        self.allow("stranger")
        self.status(0, farm, *self.keys("stranger"))
        os.remove(self.path("allowed/stranger.pub"))
        self.status(3, farm, *self.keys("stranger"))
        worker = self.worker(farm, *self.keys("node"))
        farm.wait_for("worker came")
        os.remove(self.path("allowed/workers/node.pub"))
        worker.wait_for("refused why=")            # although the connection stays
        farm.wait_for("worker left")
        farm.wait_for("its key is not allowed any more")
        self.allow("node", "workers")
        end = time.monotonic() + SOON
        while farm.text().count("worker came") < 2 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(farm.text().count("worker came"), 2, farm.text())
        worker.stop()

    def test_a_refused_worker_returns_to_another_farm(self):
        farm = self.farm()
        worker = self.worker(farm, *self.keys("node"))
        farm.wait_for("worker came")
        os.remove(self.path("allowed/workers/node.pub"))
        farm.stop()
        farm = self.farm(bind=farm.endpoint)
        farm.wait_for("its key is not allowed")
        worker.wait_for("refused why=")
        self.allow("node", "workers")
        farm.wait_for("worker came")
        worker.stop()

    def test_roles(self):
        farm = self.farm()
        self.assertIn("the key 'alice' is that of a client, not of a worker",
                      self.worker(farm, *self.keys("alice")).end(3))
        self.assertIn("the key 'node' is that of a worker, not of a client",
                      self.compile(3, farm, *self.keys("node")))
        self.assertIn("not of a client", self.program(3, "sluice-farm", "drain", farm.endpoint,
                                                      *self.keys("node")))
        farm.wait_for("peer refused key=alice")
        farm.wait_for("peer refused key=node")
        self.assertNotIn("worker came", farm.text())
        self.allow("alice", "workers")  # a key of both kinds
        self.worker(farm, *self.keys("alice"))
        farm.wait_for("worker came")
        self.compile(0, farm, *self.keys("alice"))

    def test_strangers_bytes(self):
        farm = self.farm()
        port = int(farm.endpoint.rsplit(":", 1)[1])
        greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00"
        for k, content in enumerate((
                b"", b"GET / HTTP/1.1\r\n\r\n", bytes(100), b"\xff" * 5000, os.urandom(100000),
                greeting + b"CURVE".ljust(20, b"\0") + bytes(32) + os.urandom(5000),
                greeting + b"CURVE".ljust(20, b"\0") + bytes(32) + b"\x06" + b"\xff" * 8,
                greeting + b"NULL".ljust(20, b"\0") + bytes(32) + b"\x04\x05READY",
                greeting + b"PLAIN".ljust(20, b"\0") + bytes(32))):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                try:
                    stranger.sendall(content)
                    if k % 2:
                        stranger.settimeout(0.3)
                        stranger.recv(1000)
                except OSError:
                    pass
        farm.wait_for("peer refused key= address= why=")
        self.assert_serves(farm)
        self.assertLess(farm.text().count("peer refused"), 20)

    def test_many_strangers_do_not_fill_the_log(self):
        farm = self.farm()
        port = int(farm.endpoint.rsplit(":", 1)[1])
        for _ in range(500):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"x" * 100)
        self.assert_serves(farm)
        self.assertLess(farm.text().count("peer refused"), 20)

    def test_endpoints_that_need_keys(self):
        for bind, options, code, words in (
                ("tcp://127.0.0.1:*", [], 3, ["keygen", "--insecure"]),
                ("tcp://0.0.0.0:*", [], 3, ["open to other machines", "keygen"]),
                ("tcp://*:*", ["--insecure"], 3, ["open to other machines", "keygen"]),
                ("tcp://127.0.0.1:*", ["--insecure", *self.listener()], 2, ["--insecure"]),
                ("tcp://127.0.0.1:*", self.listener()[:2], 2, ["without --allow-keys"]),
                ("tcp://127.0.0.1:*", self.listener()[2:], 2, ["without --key"])):
            text = self.program(code, "sluice-farm", "--bind", bind, "--state", self.path("state"),
                                *options)
            for word in words:
                self.assertIn(word, text)
        self.assertIn("there are no keys",
                      self.program(3, "sluice-farm", "status", "tcp://192.0.2.1:5555"))
        self.assertIn("there are no keys", self.program(
            3, "sluice-compile-all", self.path("models.json"), "--store", self.path("store"),
            "--provider", "tcp://farm.example.org:5555"))
        farm = self.farm(bind="tcp://*:*")
        farm.endpoint = re.sub(r"//.*:", "//127.0.0.1:", farm.endpoint)
        self.assert_serves(farm)
        farm.stop()
        farm = self.farm(bind="ipc://" + self.path("socket"))
        self.assert_serves(farm)
        self.status(3, farm)

    def test_files_that_cannot_be(self):
        farm = self.farm()
        os.chmod(self.path("alice.key"), 0o644)
        self.assertIn("others than its owner can use the secret key",
                      self.status(3, farm, *self.keys("alice")))
        os.chmod(self.path("alice.key"), 0o600)
        for options in (["--key", self.path("alice.pub"), "--peer-key", self.path("farm.pub")],
                        ["--key", self.path("alice.key"), "--peer-key", self.path("farm.key")],
                        ["--key", self.path("nobody.key"), "--peer-key", self.path("farm.pub")]):
            self.assertIn("error SL", self.status(3, farm, *options))
        with open(self.path("allowed/bad.pub"), "w", encoding="utf-8") as file:
            file.write("nothing\n")
        self.assert_serves(farm)  # who has no key in the folder is not allowed; the others are
        self.assertIn("bad.pub", self.program(3, "sluice-farm", "--bind", "tcp://127.0.0.1:*",
                                              "--state", self.path("other"), *self.listener()))
        text = self.program(5, "sluice-farm", "keygen", "alice", "-o", self.folder)
        self.assertIn("alice.key' exists", text)
        self.program(3, "sluice-farm", "keygen", "../alice", "-o", self.folder)


class Services(KeyCase):
    def setUp(self):
        super().setUp()
        make_model(self.path("a.onnx"))

    def serve(self, *options, endpoint="tcp://127.0.0.1:*"):
        service = Process(self, "sluice-optimize", "--serve", endpoint,
                          *(options or self.listener()))
        service.endpoint = service.wait_for(r"serves .*?(\S+://\S+)\n").group(1)
        return service

    def compile(self, code, service, *keys):
        return self.program(code, "sluice-compile", self.path("a.onnx"), "-o", self.path("a.om"),
                            PROFILE, "--transport=zmq", "--service=optimize=" + service.endpoint,
                            *keys)

    def test_right_keys_compile(self):
        service = self.serve()
        self.compile(0, service, *self.keys("alice"))
        self.program(0, "sluice-compile", self.path("a.onnx"), "-o", self.path("b.om"), PROFILE)
        with open(self.path("a.om"), "rb") as ours, open(self.path("b.om"), "rb") as other:
            self.assertTrue(ours.read() == other.read())
        self.assertNotIn("refused", service.stop())

    def test_wrong_keys_are_refused(self):
        service = self.serve()
        for keys, words in ((self.keys("stranger"), "our key is not allowed there"),
                            (self.keys("alice", peer="node"),
                             "--peer-key is not its key"),
                            ([], "it wants keys")):
            text = self.compile(3, service, *keys)
            self.assertIn(f"SL8009: sluice-optimize: {service.endpoint}: ", text)
            self.assertIn(words, text)
            self.assertEqual(text.count("error"), 1, text)
        service.wait_for("peer refused key=.* address=127.0.0.1 why=its key is not allowed")
        service.wait_for("peer refused key= address= why=it (has no key|left before)")
        self.compile(0, service, *self.keys("alice"))
        os.remove(self.path("allowed/clients/alice.pub"))
        self.compile(3, service, *self.keys("alice"))

    def test_without_keys(self):
        text = self.program(3, "sluice-optimize", "--serve", "tcp://127.0.0.1:*")
        self.assertIn("--insecure", text)
        service = self.serve("--insecure")
        self.compile(0, service)
        self.assertIn("it has no key", self.compile(3, service, *self.keys("alice")))
        self.program(3, "sluice-optimize", "--serve", "tcp://0.0.0.0:*", "--insecure")
        self.program(2, "sluice-compile", self.path("a.onnx"), "-o", self.path("c.om"),
                     *self.keys("alice"))


if __name__ == "__main__":
    KeyCase.programs = need(sys.argv.pop(1), ["farm", "worker", "compile-all", "compile", "job",
                                              "optimize"])
    unittest.main()
