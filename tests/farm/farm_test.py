#!/usr/bin/python3
"""A dispatcher with workers and clients: jobs get workers in the right order, are run once, and
survive whatever dies; what people see of it is true.

usage: farm_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from farm import Farm, programs_with, wait_until
from programs import ProgramCase, bytes_of, need
from store_test import make_model


FILE_DIGEST = slice(80, 112)  # of a graph file, common/graphfile/header.h


class FarmTest(ProgramCase):
    def farm(self, **arguments):
        farm = Farm(self.programs, self.folder, **arguments)
        self.addCleanup(farm.stop)
        return farm

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.path.dirname(self.programs))
        self.addCleanup(shutil.rmtree, self.folder)
        for i, axis in enumerate((0, 1)):
            make_model(self.path(f"{i}.onnx"), axis=axis)

    def start(self, farm, name, options=({}, {"denormals": "ieee"}), models=2, words=()):
        content = {"options": {"profile": "cpu-generic"},
                   "matrix": {"models": [f"{i}.onnx" for i in range(models)],
                              "options": list(options), "output": "{model}-{options}.om"}}
        with open(self.path(name + ".manifest"), "w") as file:
            json.dump(content, file)
        process = subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile-all"), self.path(name + ".manifest"),
             "--store", self.path(name + "-store"), "-o", self.path(name), "--result",
             self.path(name + ".json"), "--provider", farm.endpoint, *words],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def finish(self, process, code=0):
        errors = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, code, errors)
        return errors

    def same_bytes(self, name):
        for file in os.listdir(self.path(name)):
            model, option = re.fullmatch(r"(\d+)-(\d+)\.om", file).groups()
            words = ["--denormals=ieee"] if option == "1" else []
            self.program(0, "sluice-compile", self.path(model + ".onnx"), "-o", self.path("a.om"),
                         "-q", "--profile=cpu-generic", *words)
            self.assertTrue(bytes_of(self.path("a.om")) ==
                            bytes_of(os.path.join(self.path(name), file)))

    def jobs(self, farm):
        return farm.status()["jobs"]

    # ---- the good case

    def test_compiles_what_local_compiles_make(self):
        farm = self.farm()
        farm.start_worker(0)
        self.finish(self.start(farm, "out"))
        self.assertEqual(len(os.listdir(self.path("out"))), 4)
        self.same_bytes("out")
        status = farm.status()
        self.assertEqual(status["since_start"]["ended"], 4)
        self.assertEqual(sum(status["jobs"].values()), 0, "a client that has left wants nothing")

    def test_what_was_made_for_one_client_is_found_for_another(self):
        farm = self.farm()
        farm.start_worker(0)
        self.finish(self.start(farm, "one"))
        sent = farm.status()["since_start"]
        self.finish(self.start(farm, "two"))
        now = farm.status()["since_start"]
        self.assertEqual(now["found"], 4)
        self.assertEqual(len(farm.events("job begun")), 4)
        self.same_bytes("two")
        self.assertGreater(now["sent_bytes"], sent["sent_bytes"])

    def test_equal_jobs_in_flight_run_once(self):
        farm = self.farm()
        one, two = self.start(farm, "one"), self.start(farm, "two")
        self.assertTrue(wait_until(lambda: len(farm.status()["clients"]) == 2 and
                                   self.jobs(farm)["ready"] == 4))
        farm.start_worker(0)
        self.finish(one)
        self.finish(two)
        self.assertEqual(len(farm.events("job begun")), 4)
        self.same_bytes("two")

    def test_a_warm_worker_gets_no_constants_again(self):
        farm = self.farm()
        farm.start_worker(0)
        self.finish(self.start(farm, "one", options=[{}], models=1))
        before = farm.status()["since_start"]["sent_bytes"]
        self.finish(self.start(farm, "two", options=[{"denormals": "ieee"}], models=1))
        after = farm.status()["since_start"]["sent_bytes"]
        size = os.path.getsize(os.path.join(self.path("two"), "0-0.om"))
        self.assertLess(after - before - size, 20000, "more than the graph and the list")

    def test_kernels_of_one_model(self):
        subprocess.run([os.path.join(HERE, "..", "..", "scripts", "models", "make"), "large",
                        "--nodes", "300", "-o", self.folder], check=True, capture_output=True)
        model = self.path("large-300.onnx")
        self.program(0, "sluice-compile", model, "-o", self.path("plain.om"), "-q")
        for words in ([], ["--no-sandbox"]):
            with self.subTest(words=words):
                shutil.rmtree(self.path("state"), ignore_errors=True)
                farm = self.farm()
                farm.start_worker(len(words), *words)
                text = self.program(0, "sluice-compile", model, "-o", self.path("farm.om"),
                                    "--farm", farm.endpoint)
                self.assertRegex(text, r"farm +[0-9.]+ ms +[1-9]\d* kernels\n")
                self.assertTrue(bytes_of(self.path("plain.om")) == bytes_of(self.path("farm.om")))
                self.assertGreater(farm.status()["since_start"]["ended"], 10)
                self.assertEqual(farm.status()["since_start"]["failed"], 0)
                farm.stop()

    # ---- order

    def test_what_is_looked_at_is_as_without_a_farm(self):
        """The lowered graph, dumps and statistics, of which a worker made the kernels."""
        farm = self.farm()
        farm.start_worker(0)
        looked = []
        for name, words in (("here", []), ("there", ["--farm", farm.endpoint, "--store",
                                                     self.path("store")])):
            os.mkdir(self.path(name))
            self.program(0, "sluice-compile", self.path("0.onnx"), "-q", "--profile=cpu-generic",
                         "--stop-after=subgraph-optimize", "--dump-dir", self.path(name + "/dump"),
                         "--stats", self.path(name + "/stats"), "-o", self.path(name + "/lowered"),
                         *words)
            with open(self.path(name + "/stats"), encoding="utf-8") as file:
                stages = json.load(file)["stages"]
            passes = [[(row["name"], row["nodes_after"], row["visits"]) for row in stage["passes"]]
                      for stage in stages]
            generated = sum(row["work"].get("kernels_generated", 0)
                            for stage in stages for row in stage["passes"])
            texts = {os.path.relpath(path, self.path(name)): bytes_of(path)
                     for path in glob.glob(self.path(name) + "/**/*.txt", recursive=True)}
            looked.append((passes, texts, bytes_of(self.path(name + "/lowered"))[FILE_DIGEST]))
            self.assertEqual(generated > 0, name == "here")
        self.assertEqual(looked[0], looked[1])
        self.assertGreater(len(looked[0][1]), 5)
        self.assertGreater(farm.status()["since_start"]["ended"], 0)

    def test_jobs_of_higher_priority_come_first(self):
        farm = self.farm(slots=1)
        low = self.start(farm, "low", models=2)
        self.assertTrue(wait_until(lambda: self.jobs(farm)["ready"] == 4))
        high = self.start(farm, "high", options=[{"math": "high_precision"}], models=1,
                          words=["--priority=5"])
        self.assertTrue(wait_until(lambda: self.jobs(farm)["ready"] == 5))
        farm.start_worker(0)
        self.finish(high)
        self.finish(low)
        begun = [event["job"] for event in farm.events("job begun")]
        with open(self.path("high.json")) as file:
            key = json.load(file)["compiles"][0]["key"]
        self.assertEqual(begun[0], key[:16])

    # ---- what dies

    def test_a_worker_ends_without_its_dispatcher(self):
        farm = self.farm()
        farm.start_worker(0)
        self.assertTrue(wait_until(lambda: len(farm.status()["workers"]) == 1))
        process = self.start(farm, "out", models=1)
        self.assertTrue(wait_until(lambda: farm.events("job begun")))
        farm.kill_dispatcher()
        farm.workers[0].send_signal(signal.SIGTERM)
        self.assertEqual(farm.workers[0].wait(timeout=30), 0)
        farm.start_dispatcher()
        farm.start_worker(1)
        self.finish(process)
        self.same_bytes("out")

    def test_a_killed_dispatcher_forgets_nothing(self):
        farm = self.farm()
        process = self.start(farm, "out")
        self.assertTrue(wait_until(lambda: self.jobs(farm)["ready"] == 4))
        farm.kill_dispatcher()
        farm.start_dispatcher()
        self.assertTrue(wait_until(lambda: farm.status() and self.jobs(farm)["ready"] == 4))
        farm.start_worker(0)
        self.finish(process)
        self.same_bytes("out")

    def test_work_goes_on_while_the_dispatcher_is_away(self):
        slow = programs_with(self.programs, self.path("slow"), "sluice-job",
                             "sleep 3\nexec REAL \"$@\"\n")
        farm = self.farm(slots=4)
        farm.start_worker(0, programs=slow)
        process = self.start(farm, "out")
        self.assertTrue(wait_until(lambda: self.jobs(farm)["running"] == 4))
        farm.kill_dispatcher()
        farm.start_dispatcher()
        self.finish(process)
        self.assertEqual(len(farm.events("job begun")), 4, "the worker's jobs were taken over")
        self.same_bytes("out")

    def test_a_worker_that_is_told_to_end_gives_back_what_it_has_not_begun(self):
        slow = programs_with(self.programs, self.path("slow"), "sluice-job",
                             "sleep 2\nexec REAL \"$@\"\n")
        farm = self.farm(slots=1)
        farm.start_worker(0, programs=slow)
        process = self.start(farm, "out")
        self.assertTrue(wait_until(lambda: self.jobs(farm)["running"] > 0))
        farm.workers[0].send_signal(signal.SIGTERM)
        self.assertEqual(farm.workers[0].wait(timeout=20), 0)
        farm.start_worker(1)
        self.finish(process)
        self.assertEqual(farm.status()["since_start"]["lost_workers"], 0)
        self.assertEqual(len(farm.events("job begun")), 4)
        self.same_bytes("out")

    def test_an_interrupted_client_takes_its_jobs_along(self):
        farm = self.farm()
        process = self.start(farm, "out")
        self.assertTrue(wait_until(lambda: self.jobs(farm)["ready"] == 4))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertTrue(wait_until(lambda: sum(self.jobs(farm).values()) == 0))
        farm.start_worker(0)
        self.finish(self.start(farm, "out"))
        self.same_bytes("out")

    def test_a_job_that_takes_workers_with_it_is_quarantined(self):
        # Its key is found by its --denormals; another job of the same worker is harmless.
        evil = programs_with(self.programs, self.path("evil"), "sluice-job",
                             "store=${1#--store=}\nfor key; do :; done\n"
                             "grep -q ieee $store/jobs/*/$key && kill -9 $PPID\nexec REAL \"$@\"\n")
        farm = self.farm(slots=1)
        process = self.start(farm, "out", models=1, words=["--keep-going"])
        for number in range(3):
            farm.start_worker(number, programs=evil)
            farm.workers[number].wait(timeout=30)
            self.assertTrue(wait_until(
                lambda: farm.status()["since_start"]["lost_workers"] > number))
        farm.start_worker(9, programs=evil)
        errors = self.finish(process, code=5)
        self.assertIn("is quarantined: 3 workers were lost while they ran nothing else", errors)
        self.assertEqual(os.listdir(self.path("out")), ["0-0.om"])
        key = farm.status()["quarantined"][0]
        replayed = self.program(0, "sluice-farm", "replay", key, "--state", self.path("state"))
        self.assertIn("made", replayed)
        # Released, and run by a good worker, it is what it should be.
        process = self.start(farm, "out", models=1)
        self.finish(process, code=5)
        farm.kill_worker(9)
        self.program(0, "sluice-farm", "release", farm.endpoint, key)
        farm.start_worker(10)
        self.finish(self.start(farm, "out", models=1))
        self.same_bytes("out")

    def test_a_job_that_cannot_succeed_is_told_as_it_is_locally(self):
        farm = self.farm()
        farm.start_worker(0)
        with open(self.path("list.json"), "w") as file:
            file.write("no JSON")
        process = self.start(farm, "out", models=1,
                             options=[{"modify-mixlist": self.path("list.json")}])
        errors = self.finish(process, code=3)
        self.assertIn("sluice-optimize: error SL1011", errors)
        self.assertEqual(len(farm.events("job begun")), 1, "it fails everywhere")

    def test_a_worker_of_other_programs_gets_no_jobs(self):
        other = programs_with(self.programs, self.path("other"), "sluice-build",
                              "exec REAL \"$@\"\n")
        farm = self.farm()
        farm.start_worker(0, programs=other)
        process = self.start(farm, "out", models=1)
        self.assertTrue(wait_until(lambda: self.jobs(farm)["ready"] == 2 and
                                   farm.status()["workers"]))
        self.assertFalse(wait_until(lambda: self.jobs(farm)["running"] > 0, seconds=2))
        farm.start_worker(1)
        self.finish(process)
        self.same_bytes("out")

    def test_a_damaged_artifact_of_the_dispatcher_is_made_again(self):
        farm = self.farm()
        farm.start_worker(0)
        self.finish(self.start(farm, "one", models=1))
        store = self.path("state/store")
        for folder in os.listdir(store):
            for file in os.listdir(os.path.join(store, folder)) if len(folder) == 2 else []:
                path = os.path.join(store, folder, file)
                os.chmod(path, 0o644)
                with open(path, "r+b") as artifact:
                    artifact.seek(30)
                    artifact.write(b"damage")
        self.finish(self.start(farm, "two", models=1))
        self.same_bytes("two")

    # ---- who lies

    def builds(self, name):
        """STAGE BUILD of the programs, as the jobs of a client name them."""
        jobs = self.path(name + "-store/jobs")
        folder = os.path.join(jobs, os.listdir(jobs)[0])
        text = bytes_of(os.path.join(folder, os.listdir(folder)[0])).decode()
        lines = re.findall(r"^program\.(.+)$", text, re.M)
        return [word for line in lines for word in line.split()]

    def lied_to(self, lie, why):
        farm = self.farm()
        process = self.start(farm, "out")
        self.assertTrue(wait_until(lambda: self.jobs(farm)["ready"] == 4))
        liar = subprocess.Popen([farm.path("lying_worker"), farm.endpoint, lie,
                                 *self.builds("out")])
        self.addCleanup(lambda: (liar.kill(), liar.wait()))
        self.assertTrue(wait_until(lambda: farm.events("product not accepted")), lie)
        self.assertTrue(wait_until(lambda: farm.events("worker excluded"), 90), lie)
        self.assertIn(why, farm.events("product not accepted")[0]["why"])
        farm.start_worker(0)
        self.finish(process)
        self.same_bytes("out")

    def test_a_product_with_other_bytes(self):
        self.lied_to("bytes", "its bytes do not have its digest")

    def test_a_product_that_is_no_model(self):
        self.lied_to("model", "sluice-verify ended with exit code")

    # ---- kinds of workers

    def test_a_job_that_lacks_memory_goes_to_a_larger_worker(self):
        farm = self.farm(slots=1)
        for number in range(3):
            farm.start_worker(number, *([] if number == 2 else ["--sandbox-memory=8000000"]))
        self.assertTrue(wait_until(lambda: len(farm.status()["workers"]) == 3))
        self.finish(self.start(farm, "out"))
        self.same_bytes("out")
        failed = [event["job"] for event in farm.events("job failed, goes on")]
        self.assertGreater(len(failed), 0)
        self.assertEqual(len(failed), len(set(failed)), "none fails twice")

    def test_jobs_that_fit_no_worker_are_told(self):
        farm = self.farm()
        process = self.start(farm, "out", models=1, words=["--keep-going"])
        self.assertTrue(wait_until(lambda: farm.events("jobs fit no worker")))
        other = programs_with(self.programs, self.path("other"), "sluice-optimize", "exit 3\n")
        self.addCleanup(shutil.rmtree, other)
        farm.start_worker(0, programs=other)
        self.assertTrue(wait_until(lambda: len(farm.events("jobs fit no worker")) == 2))
        why = "no worker has the sluice-optimize of the client, but another build of it"
        self.assertEqual(farm.events("jobs fit no worker")[1]["why"], why)
        self.assertIn({"owner": farm.status()["clients"][0]["owner"], "jobs": 2, "why": why},
                      farm.status()["unfit"])
        self.assertIn(why, self.program(0, "sluice-farm", "status", farm.endpoint))
        time.sleep(2)  # the client's next beats
        farm.start_worker(1)
        errors = self.finish(process)
        for text in (why, "no worker is connected"):
            self.assertEqual(errors.count(text), 1, errors)
        self.same_bytes("out")
        self.assertTrue(wait_until(lambda: farm.status()["unfit"] == []))

    # ---- what people see

    def test_nobody_there(self):
        errors = self.program(5, "sluice-farm", "status", "ipc://" + self.path("nobody"))
        self.assertIn("no dispatcher answers", errors)

    def test_two_dispatchers_do_not_share_a_state(self):
        self.farm()
        self.assertTrue(wait_until(lambda: os.path.exists(self.path("state/farm.db"))))
        errors = self.program(5, "sluice-farm", "--bind", "ipc://" + self.path("other"), "--state",
                              self.path("state"))
        self.assertIn("farm.db", errors)
        self.assertIn("another program uses", errors)

    def test_status_is_a_table_or_json(self):
        farm = self.farm()
        farm.start_worker(0)
        self.assertTrue(wait_until(lambda: farm.status()["workers"]))
        table = self.program(0, "sluice-farm", "status", farm.endpoint)
        self.assertRegex(table, r"worker +slots +jobs +done +profile +state")
        self.assertRegex(table, r":\d+ +2 +0 +0 +cpu-\S+ +idle")

    def test_metrics(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        farm = self.farm(options=[f"--metrics={port}"])
        farm.start_worker(0)
        self.finish(self.start(farm, "out", models=1))
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        self.assertIn("sluice_farm_jobs_ended_total 2\n", text)
        self.assertIn('sluice_farm_jobs{state="ready"} 0\n', text)
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) \w+ .+|\w+(\{\w+=\"\w+\"\})? [0-9.e+-]+)$")
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/other", timeout=5)

    def test_a_drained_dispatcher_ends(self):
        farm = self.farm()
        self.assertTrue(wait_until(farm.status))
        self.program(0, "sluice-farm", "drain", farm.endpoint)
        self.assertEqual(farm.dispatcher.wait(timeout=10), 0)

    def test_an_idle_worker_ends(self):
        farm = self.farm()
        farm.start_worker(0, "--idle-exit=1")
        self.assertEqual(farm.workers[0].wait(timeout=20), 0)
        self.assertTrue(wait_until(lambda: farm.status()["workers"] == []))

    def test_wrong_options(self):
        for words, text in [(["--bind=here"], "neither ipc:// nor tcp://"),
                            (["--bind=ipc://" + self.path("x"), "--metrics=no"], "--metrics"),
                            (["--bind=ipc:///x", "--max-jobs=0"], "--max-jobs is '0'"),
                            (["--bind=ipc:///x", "--log-format=xml"], "text or json"),
                            (["--bind=ipc:///x", "--provider=cloud"], "expected slurm")]:
            errors = self.program(3, "sluice-farm", *words, "--state", self.path("s"))
            self.assertIn(text, errors)
        self.assertIn("64 hex digits", self.program(2, "sluice-farm", "replay", "12"))


if __name__ == "__main__":
    FarmTest.programs = need(sys.argv[1], ["farm", "worker", "compile-all", "job", "compile"])
    unittest.main(argv=sys.argv[1:])
