#!/usr/bin/python3
"""The real stages over every transport: the same bytes; one error and the first failure's exit code
when something fails, breaks or misbehaves.

usage: transport_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
from onnx import helper

from models import floats, make_convolutions, make_mlp, save
from programs import STAGES, ProgramCase, bytes_of, has_nameless_files, need

PROFILE = "cpu-generic"  # runs everywhere


def program(name):
    return os.path.join(ProgramCase.programs, "sluice-" + name)


class Case(ProgramCase):
    def setUp(self):
        super().setUp()
        self.tmp = self.path("tmp")
        os.mkdir(self.tmp)
        self.model = self.path("model.onnx")
        make_mlp(self.model)
        self.out = self.path("out.om")
        self.environment = dict(os.environ, TMPDIR=self.tmp,
                                PATH=self.programs + ":" + os.environ["PATH"])

    def bytes_of(self, name):
        return bytes_of(self.path(name))

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def compile_process(self, *options, source=None, out=None):
        return subprocess.Popen([program("compile"), source or self.model, "-o", out or self.out,
                                 *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=self.environment)

    def finish(self, process):
        output, errors = process.communicate(timeout=200)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def compile(self, *options, **more):
        return self.finish(self.compile_process(*options, **more))

    def compiled(self, *options, **more):
        result = self.compile("--profile=" + PROFILE, *options, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.tmp), [])
        return self.bytes_of("out.om")

    def assert_one_error(self, result, code, *texts):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count(": error SL"), 1, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)


class SameBytes(Case):
    def compare(self, make):
        make(self.model)
        expected = self.compiled()
        self.assertGreater(len(expected), 4096)
        dumps = {}
        for transport in ("pipe", "files", "zmq"):
            self.assertTrue(self.compiled("--transport=" + transport) == expected, transport)
            dump = self.path(transport)
            stats = self.path(transport + ".json")
            self.assertTrue(self.compiled("--transport", transport, "--dump-dir", dump, "--stats",
                                          stats) == expected, transport + " with dumps")
            self.assertIn(b'"passes"', self.bytes_of(transport + ".json"))
            dumps[transport] = {name: self.bytes_of(transport + "/" + name)
                                for name in os.listdir(dump) if name.endswith(".sg")}
            self.assertEqual(sorted(dumps[transport]),
                             ["%d-%s.sg" % (k + 1, stage) for k, stage in enumerate(STAGES[:4])])
            self.assertTrue(self.compiled("--transport", transport, source="%s/2-optimize.sg" %
                                          dump) == expected, transport + " resumed")
        self.assertTrue(dumps["files"] == dumps["pipe"] and dumps["zmq"] == dumps["pipe"],
                        "the graphs between the stages differ")
        for transport in ("pipe", "files", "zmq"):
            done = subprocess.run([program("compile"), "-q", "--profile=" + PROFILE, "--transport",
                                   transport, self.model],
                                  capture_output=True, env=self.environment)
            self.assertTrue(done.stdout == expected, transport + " to standard output")

    def test_mlp(self):
        self.compare(make_mlp)

    def test_convolutions(self):
        self.compare(make_convolutions)

    def test_an_error_of_a_stage_is_the_same_over_all(self):
        texts = set()
        for transport in ("pipe", "files", "zmq"):
            result = self.compile("--transport", transport, "--passes=partition:nonsense")
            self.assert_one_error(result, 3, "sluice-partition: error SL1006")
            texts.add("\n".join(line for line in result.stderr.splitlines()
                                if not line.startswith("sluice-compile: ")))
            self.assertFalse(os.path.exists(self.out))
            self.assertEqual(os.listdir(self.tmp), [])
        self.assertEqual(len(texts), 1, texts)

    def test_constants_in_a_store(self):
        expected = self.compiled()
        store = self.path("store")
        for transport in ("pipe", "files", "zmq"):
            dump = self.path(transport)
            options = ["--transport", transport, "--segments=inline", "--store", store]
            self.assertTrue(self.compiled(*options, "--dump-dir", dump) == expected, transport)
            shutil.rmtree(store) if transport != "zmq" else None
        graph = self.path("zmq/2-optimize.sg")
        self.assertLess(os.path.getsize(graph), 4096)  # the weights have 6.6 kB
        os.rename(self.model, self.path("away"))
        self.assertTrue(self.compiled("--store", store, source=graph) == expected, "resumed")
        self.assert_one_error(self.compile(source=graph), 3, "lies in a store",
                              "hint: give the folder that the graph was written with: --store DIR")
        self.assert_one_error(self.compile("--store", self.folder, source=graph), 3,
                              "hint: is --store the folder")
        for name, option in (("eval", "--random"), ("verify", "--segments")):
            tool = lambda *more: subprocess.run([program(name), option, *more, graph],
                                                capture_output=True, text=True)
            self.assertEqual(tool("--store", store).returncode, 0)
            self.assert_one_error(tool(), 3, "error SL1009", "lies in a store")
        # weights
        shown = subprocess.run([program("show"), "--segments", graph], capture_output=True,
                               text=True, check=True).stdout
        digest = next(line.split()[0] for line in shown.splitlines() if line.endswith(" store"))
        entry = os.path.join(store, digest[:2], digest)
        os.rename(entry, self.path("entry"))
        os.mkfifo(entry)
        result = self.compile("--store", store, source=graph)
        self.assert_one_error(result, result.returncode, "is no regular file", "hint: delete it")
        self.assertIn(result.returncode, (3, 5))
        os.remove(entry)
        # a store's entries are files, so that nobody is led elsewhere
        os.symlink(self.path("entry"), entry)
        self.assert_one_error(self.compile("--store", store, source=graph), 3, "is no regular file",
                              "hint: delete it")
        os.replace(self.path("entry"), entry)
        with open(entry, "ab") as file:
            file.write(b"more")
        self.assert_one_error(self.compile("--store", store, source=graph), 3, "changed since")
        self.damage(store)
        self.assertTrue(self.compiled("--store", store, "--segments=inline",
                                      source=self.path("away")) == expected, "mended")
        self.damage(store)
        damaged = subprocess.run([program("verify"), "--segments", "--store", store, graph],
                                 capture_output=True, text=True)
        self.assert_one_error(damaged, 7, "damaged constants")

    def damage(self, store):
        for folder, _, files in os.walk(store):
            for name in files:
                self.assertNotIn(".tmp", name)
                with open(os.path.join(folder, name), "r+b") as file:
                    file.write(b"other")

    def test_wrong_options(self):
        for code, *options in ((3, "--transport=pigeon"), (3, "--transport=zmq", "--service=build"),
                               (3, "--transport=zmq", "--service=x=ipc:///x"),
                               (3, "--transport=zmq", "--service=build=tcp://10.0.0.1:5"),
                               (3, "--transport=zmq", "--service=build=ipc:///a",
                                "--service=build=ipc:///b"),
                               (2, "--service=build=ipc:///x")):
            self.assert_one_error(self.compile(*options), code)
            self.assertFalse(os.path.exists(self.out))


class FailureHeader(Case):
    """Five programs in a shell without pipefail: its status is the last program's."""

    def shell(self, options, behind="> out.om"):
        command = " | ".join("sluice-%s %s" % (stage, options.get(stage, "")) for stage in STAGES)
        return subprocess.run(["/bin/sh", "-c", command + " " + behind], capture_output=True,
                              text=True, cwd=self.folder, env=self.environment, timeout=200)

    FAILING = {"preprocess": "bad.onnx", "optimize": "--passes=nonsense",
               "partition": "--profile=nothing", "subgraph-optimize": "--stop-after=nonsense",
               "build": "--skip=nonsense"}

    def options(self, *failing):
        self.write("bad.onnx", b"\x08\x07\x12\x03abc" + bytes(range(100)))
        return {"preprocess": "model.onnx", **{stage: self.FAILING[stage] for stage in failing}}

    def test_a_pipe_that_succeeds_writes_the_model(self):
        result = self.shell({"preprocess": "--profile=%s model.onnx" % PROFILE})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(self.bytes_of("out.om") == self.compiled())

    def test_each_stage_that_fails_is_the_one_that_is_told(self):
        for stage in STAGES:
            result = self.shell(self.options(stage))
            self.assert_one_error(result, 3, "sluice-%s: error SL" % stage)
            self.assertEqual(self.bytes_of("out.om"), b"")

    def test_the_first_of_two_failures_counts(self):
        for first in range(len(STAGES)):
            for second in range(first + 1, len(STAGES)):
                result = self.shell(self.options(STAGES[first], STAGES[second]))
                self.assert_one_error(result, 3, "sluice-%s: error SL" % STAGES[first])

    def test_exit_codes_are_those_of_the_failure(self):
        self.assert_one_error(self.shell({"preprocess": "model.onnx", "optimize": "--nonsense"}), 2,
                              "sluice-optimize: error SL1001")
        self.assert_one_error(self.shell({"preprocess": "--stats=/nowhere/x model.onnx"}), 3,
                              "sluice-preprocess: error SL1004")
        save(self.path("odd.onnx"), [helper.make_node("Nonsense", ["x"], ["y"])],
             [floats("x", [1])], [floats("y", [1])])
        self.assert_one_error(self.shell({"preprocess": "odd.onnx"}), 4,
                              "sluice-preprocess: error SL3002")

    def test_files_are_not_made(self):
        result = self.shell({**self.options("optimize"), "build": "-o made.om"}, "")
        self.assert_one_error(result, 3)
        self.assertFalse(os.path.exists(self.path("made.om")))

    def test_a_program_that_writes_to_a_file_writes_no_header(self):
        with open(self.path("file"), "wb") as file:
            subprocess.run([program("preprocess"), self.path("absent")], stdout=file,
                           stderr=subprocess.DEVNULL)
        self.assertEqual(self.bytes_of("file"), b"")

    def test_tools_name_the_program_that_failed(self):
        header = subprocess.run([program("preprocess"), self.path("absent")],
                                capture_output=True).stdout
        self.assertEqual(len(header), 128)
        self.write("header", header)
        commands = ([[program(tool)] for tool in ("show", "eval", "verify")] +
                    [[program("diff"), "-", self.model], [program("loader"), "-"]])
        for command in commands:
            result = subprocess.run(command, input=header, capture_output=True)
            self.assertEqual(result.returncode, 3, command)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
            self.assertIn(b"sluice-preprocess failed", result.stderr)
        self.assert_one_error(self.compile(source=self.path("header")), 3,
                              "sluice-preprocess failed")

    def test_text_that_cannot_be_read_fails_into_the_pipe(self):
        result = subprocess.run(["/bin/sh", "-c", "echo sluice nonsense | sluice-as | "
                                 "sluice-optimize | sluice-partition > x.sg"], text=True,
                                capture_output=True, cwd=self.folder, env=self.environment)
        self.assert_one_error(result, 3, "sluice-as: error SL1010")

    def test_a_program_that_is_killed_is_not_told_as_a_bad_graph(self):
        done = subprocess.run(["sh", "-c", "sh -c 'kill -9 $$' | %s > %s" % (program("optimize"),
                                                                             self.path("x"))],
                              capture_output=True, text=True)
        self.assert_one_error(done, 3, "the input is empty",
                              "hint: in a pipe, the program before ended without a word")

    def test_a_damaged_header_is_a_bad_file(self):
        header = bytearray(subprocess.run([program("preprocess"), self.path("absent")],
                                          capture_output=True).stdout)
        header[20] ^= 1
        result = subprocess.run([program("optimize")], input=bytes(header), capture_output=True)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"error SL1003", result.stderr)

    def test_a_closed_reader_is_no_error_to_print(self):
        make_convolutions(self.model)
        result = subprocess.run(["/bin/bash", "-c", "sluice-preprocess --segments=inline "
                                 "model.onnx | true; echo ${PIPESTATUS[0]}"], text=True,
                                capture_output=True, cwd=self.folder, env=self.environment)
        self.assertEqual(result.stderr, "")
        self.assertIn(result.stdout.strip(), ("0", "5"))

    def test_a_closed_reader_ends_tools_in_silence(self):
        self.compiled("--dump-dir", self.path("dump"))
        for options in ([], ["--error-format=json"]):
            reader, writer = os.pipe()
            os.close(reader)
            tool = subprocess.run([program("show"), *options, self.path("dump/2-optimize.sg")],
                                  stdout=writer, stderr=subprocess.PIPE, timeout=60)
            os.close(writer)
            self.assertEqual((tool.stderr, tool.returncode), (b"", 5))


def wait_for(what, name, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.002)
    raise AssertionError("there never was " + name)


class Services(Case):
    def serve(self, stage, *options, endpoint=None, wait=True, listens="--serve"):
        endpoint = endpoint or "ipc://" + self.path(stage)
        if endpoint.startswith("tcp://127.0.0.1"):
            options += ("--insecure",)
        process = subprocess.Popen([program(stage), listens, endpoint, *options],
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if wait:
            line = process.stderr.readline()
            self.assertTrue(line.startswith("sluice-worker: serves jobs of "), line)
            endpoint = line.split()[-1]
        return process, endpoint

    def use(self, *services):
        return ["--transport=zmq", *("--service=%s=%s" % service for service in services)]

    def test_running_services_give_the_same_bytes(self):
        expected = self.compiled()
        for sent in ((), STAGES[2:3], STAGES):
            services = [(stage, self.serve(stage, endpoint="tcp://127.0.0.1:*" if stage in sent
                                           else "ipc://%s/%s%d" % (self.folder, stage, len(sent)))
                         [1]) for stage in STAGES]
            self.assertTrue(self.compiled(*self.use(*services)) == expected, sent)
            self.assertTrue(self.compiled(*self.use(*services)) == expected, "again")

    def test_a_worker_without_a_stage_runs_all(self):
        expected = self.compiled()
        process, endpoint = self.serve("worker", listens="--listen")
        self.assertTrue(self.compiled(*self.use(*((stage, endpoint) for stage in STAGES))) ==
                        expected)

    def test_what_stages_write_comes_back(self):
        """Dumps, statistics and files of weights, from services that see nothing of ours."""
        make_convolutions(self.model)
        folders = []
        places = {"here": [], "at a port": ["tcp://127.0.0.1:*"] * 5,
                  "named": ["ipc://%s/s%d" % (self.folder, k) for k in range(5)]}
        for name, endpoints in places.items():
            how = self.use(*((stage, self.serve(stage, endpoint=endpoint)[1])
                             for stage, endpoint in zip(STAGES, endpoints))) if endpoints else []
            folder = self.path(name)
            os.mkdir(folder)
            result = self.compile("--profile=" + PROFILE, "--segments=inline",
                                  "--external-weight=1", "--dump-dir", folder + "/dump",
                                  "--stats", folder + "/stats.json",
                                  *how, out=folder + "/out.om")
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(folder + "/stats.json", encoding="utf-8") as file:
                passes = [[row["name"] for row in stage["passes"]]
                          for stage in json.load(file)["stages"]]
            os.remove(folder + "/stats.json")
            folders.append((passes, {os.path.relpath(os.path.join(where, name), folder):
                                     bytes_of(os.path.join(where, name))
                                     for where, _, names in os.walk(folder) for name in names}))
        self.assertEqual(folders[0], folders[1])
        self.assertEqual(folders[0], folders[2])
        self.assertGreater(len(folders[0][1]), 10)
        self.assertEqual(os.listdir(self.tmp), [])

    def test_files_of_options_are_sent(self):
        self.write("dtypes.txt", b"* f32\n")
        options = ["--customize-dtypes", self.path("dtypes.txt")]
        expected = self.compiled(*options)
        _, endpoint = self.serve("preprocess", endpoint="tcp://127.0.0.1:*")
        self.assertTrue(self.compiled(*options, *self.use(("preprocess", endpoint))) == expected)

    def test_what_was_deleted_at_a_service_is_sent_again(self):
        store = self.path("store")
        _, endpoint = self.serve("optimize", "--store", store, endpoint="tcp://127.0.0.1:*")
        expected = self.compiled(*self.use(("optimize", endpoint)))
        for folder in os.listdir(store):
            shutil.rmtree(os.path.join(store, folder))
        self.assertTrue(self.compiled(*self.use(("optimize", endpoint))) == expected)

    def test_messages_name_files_as_they_were_given(self):
        self.write("bad.onnx", b"no model")
        texts = set()
        for how in ([], ["--transport=zmq"], self.use(("preprocess", self.serve(
                "preprocess", endpoint="tcp://127.0.0.1:*")[1]))):
            done = subprocess.run([program("compile"), "bad.onnx", "-o", "x.om", *how],
                                  capture_output=True, text=True, cwd=self.folder, check=False)
            self.assertEqual(done.returncode, 3)
            texts.add(done.stderr)
        self.assertEqual(len(texts), 1, texts)

    def test_a_path_up_from_a_link(self):
        """The system goes up from where a link leads."""
        for folder in ("real/deep", "other"):
            os.makedirs(self.path(folder))
        os.symlink(self.path("real/deep"), self.path("other/link"))
        shutil.copy(self.model, self.path("real/x.onnx"))
        make_convolutions(self.path("other/x.onnx"))
        expected = self.compiled()
        _, endpoint = self.serve("preprocess", endpoint="tcp://127.0.0.1:*")
        for how in ([], ["--transport=files"], ["--transport=zmq"],
                    self.use(("preprocess", endpoint))):
            self.assertTrue(self.compiled(*how, source=self.path("other/link/../x.onnx")) ==
                            expected, how)

    def test_large_inputs_are_refused(self):
        _, endpoint = self.serve("optimize", "--max-frame=1000", endpoint="tcp://127.0.0.1:*")
        self.assert_one_error(self.compile(*self.use(("optimize", endpoint))), 5,
                              "sluice-optimize: error SL1008", "--max-frame allows 1000")

    def test_with_a_store_of_both(self):
        expected = self.compiled()
        store = self.path("store")
        _, endpoint = self.serve("build", "--store", store, endpoint="tcp://127.0.0.1:*")
        use = self.use(("build", endpoint))
        self.assertTrue(self.compiled("--store", store, *use) == expected)
        self.assertTrue(self.compiled("--store", store, *use) == expected, "found")
        _, endpoint = self.serve("build", endpoint="tcp://127.0.0.1:*")
        self.assert_one_error(self.compile("--store", self.path("another"),
                                           *self.use(("build", endpoint))), 3,
                              "this service does not have", "--store")

    def test_several_clients_at_once(self):
        expected = self.compiled()
        services = [(stage, self.serve(stage, "--jobs=2")[1]) for stage in STAGES]
        processes = [self.compile_process("--profile=" + PROFILE, *self.use(*services),
                                          out=self.path("%d.om" % k)) for k in range(4)]
        for k, process in enumerate(processes):
            result = self.finish(process)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(self.bytes_of("%d.om" % k) == expected)

    def test_a_graph_leads_a_service_to_no_file(self):
        """A graph says where its constants lie: a service at a port must not read files by it."""
        make_convolutions(self.model)
        self.compiled("--dump-dir", self.path("dump"))
        _, endpoint = self.serve("build", endpoint="tcp://127.0.0.1:*")
        self.assert_one_error(self.compile(*self.use(("build", endpoint)),
                                           source=self.path("dump/4-subgraph-optimize.sg")), 3,
                              "sluice-build: error SL", "model.onnx")

    def test_endpoints_that_cannot_be(self):
        for endpoint in ("tcp://0.0.0.0:5555", "tcp://*:5555", "tcp://example.org:5555",
                         "udp://127.0.0.1:1", "ipc://"):
            process, _ = self.serve("optimize", endpoint=endpoint, wait=False)
            self.assertEqual(process.wait(timeout=60), 3, endpoint)
            self.assertIn("error SL1006", process.stderr.read())
        _, endpoint = self.serve("optimize")
        for used in (endpoint, "ipc://" + self.model):
            process, _ = self.serve("optimize", endpoint=used, wait=False)
            self.assertEqual(process.wait(timeout=60), 5)
            self.assertIn("cannot listen at", process.stderr.read())
        _, endpoint = self.serve("optimize", endpoint="tcp://127.0.0.1:*")
        self.compiled(*self.use(("optimize", endpoint)))

    def test_wrong_options(self):
        for options in (["x.sg"], ["-o", "x.sg"], ["--threads=2"], ["--opt-level=O1"]):
            process, _ = self.serve("optimize", *options, wait=False)
            self.assertEqual(process.wait(timeout=60), 2, options)

    def test_ends_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process, endpoint = self.serve("optimize")
            self.assertEqual(os.stat(self.path("optimize")).st_mode & 0o077, 0)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertFalse(os.path.exists(self.path("optimize")))

    def test_the_service_of_another_stage_is_told(self):
        _, endpoint = self.serve("partition")
        self.assert_one_error(self.compile(*self.use(("optimize", endpoint))), 3, "SL8005",
                              "a service of 'partition'")

    def test_a_stopped_service_is_given_up(self):
        process, endpoint = self.serve("optimize")
        process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        result = self.compile(*self.use(("optimize", endpoint)))
        self.assert_one_error(result, 5, "SL8006", "no worker answers at 'ipc://", "for 5 s")
        self.assertGreater(time.monotonic() - begin, 5)
        self.assertFalse(os.path.exists(self.out))
        process.send_signal(signal.SIGCONT)
        self.compiled(*self.use(("optimize", endpoint)))

    def test_nobody_there(self):
        result = self.compile(*self.use(("optimize", "ipc://" + self.path("nobody"))))
        self.assert_one_error(result, 5, "SL8006")
        self.assertEqual(sorted(os.listdir(self.folder)), ["model.onnx", "tmp"])
        self.assertEqual(os.listdir(self.tmp), [])

    def worker_of(self, process):
        def is_worker(child):
            return b"sluice-worker\0--listen" in bytes_of("/proc/%s/cmdline" % child)

        def workers():
            children = "/proc/%d/task/%d/children" % (process.pid, process.pid)
            return [int(child) for child in bytes_of(children).decode().split() if is_worker(child)]

        return wait_for(workers, "a worker")[0]

    def test_an_own_worker_that_stops_or_dies_is_one_error(self):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            process = self.compile_process("--transport=zmq")
            os.kill(self.worker_of(process), number)
            self.assert_one_error(self.finish(process), 5, "SL8006", "worker")
            self.assertEqual(sorted(os.listdir(self.folder)), ["model.onnx", "tmp"])
            self.assertEqual(os.listdir(self.tmp), [])

    def test_a_service_that_ends_or_dies_in_a_job_is_one_error(self):
        make_convolutions(self.model)
        for number, texts in ((signal.SIGTERM, ["SL8004", "was ended"]),
                              (signal.SIGKILL, ["SL8006", "no worker answers"])):
            stage = "subgraph-optimize"
            service, endpoint = self.serve(stage, endpoint="ipc://%s/%d" % (self.folder, number))
            process = self.compile_process(*self.use((stage, endpoint)))
            children = "/proc/%d/task/%d/children" % (service.pid, service.pid)
            wait_for(lambda: bytes_of(children), "a job")
            service.send_signal(number)
            self.assert_one_error(self.finish(process), 5, *texts)
            self.assertFalse(os.path.exists(self.out))

    def test_interrupted_compilation_leaves_nothing(self):
        process = self.compile_process("--transport=zmq")
        service = self.worker_of(process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).returncode, -signal.SIGTERM)
        self.assertEqual(os.listdir(self.tmp), [])
        self.assertFalse(os.path.exists("/proc/%d" % service))
        self.assertFalse(os.path.exists(self.out))

    def test_an_output_has_no_file_before_it_is_whole(self):
        """Nor any after a stop at any moment."""
        if not has_nameless_files(self.folder):
            self.skipTest("the file system has no nameless files")
        weight = np.ones((3000, 3000), np.float32)
        save(self.model, [helper.make_node("MatMul", ["x", "w"], ["y"])], [floats("x", [1, 3000])],
             [floats("y", [1, 3000])], {"w": weight})
        begin = time.monotonic()
        expected = self.compiled("--transport=zmq")
        seconds = time.monotonic() - begin
        os.remove(self.out)
        before, with_model = ["model.onnx", "tmp"], ["model.onnx", "out.om", "tmp"]
        moments = random.Random(3)
        for number in [None] + 5 * [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]:
            process = self.compile_process("--profile=" + PROFILE, "--transport=zmq")
            end = time.monotonic() + moments.uniform(0.5, 1) * seconds
            while process.poll() is None and (number is None or time.monotonic() < end):
                self.assertIn(sorted(os.listdir(self.folder)), (before, with_model))
            if number is not None:
                process.send_signal(number)
            self.finish(process)
            time.sleep(0.05)  # for the children of one that could not end them itself
            if os.path.exists(self.out):
                self.assertTrue(self.bytes_of("out.om") == expected)
                os.remove(self.out)
            self.assertEqual(sorted(os.listdir(self.folder)), before, number)

    def test_random_bytes_at_the_socket_harm_nobody(self):
        process, endpoint = self.serve("optimize")
        noise = random.Random(1)
        for size in (0, 1, 10, 64, 1000, 100000):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.path("optimize"))
                try:
                    client.sendall(noise.randbytes(size))
                except OSError:
                    pass
        self.compiled(*self.use(("optimize", endpoint)))
        self.assertIsNone(process.poll())

    def test_a_peer_that_is_no_service(self):
        noise = random.Random(2)
        for size in (0, 1, 64, 100000):
            path = self.path("odd%d" % size)
            server = socket.socket(socket.AF_UNIX)
            server.bind(path)
            server.listen(100)

            def answer():
                try:
                    while True:
                        peer, _ = server.accept()
                        try:
                            peer.sendall(noise.randbytes(size))
                        except OSError:
                            pass
                        peer.close()
                except OSError:
                    pass

            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            result = self.compile(*self.use(("optimize", "ipc://" + path)))
            server.close()
            self.assertIn(result.returncode, (3, 5))
            self.assertEqual(result.stderr.count(": error SL"), 1, result.stderr)
            self.assertFalse(os.path.exists(self.out))

    def test_memory_returns(self):
        make_convolutions(self.model)
        process, endpoint = self.serve("optimize")

        def resident():
            with open("/proc/%d/statm" % process.pid) as file:
                return int(file.read().split()[1]) * 4096

        self.compiled(*self.use(("optimize", endpoint)))
        before = resident()
        for _ in range(5):
            self.compiled(*self.use(("optimize", endpoint)))
        self.assertLess(resident() - before, 4 << 20)
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
            self.assertEqual(file.read(), "")


if __name__ == "__main__":
    tools = ["compile", "worker", "verify", "show", "eval", "diff", "as", "loader"]
    ProgramCase.programs = need(sys.argv.pop(1), [*tools, *STAGES])
    unittest.main(verbosity=2)
