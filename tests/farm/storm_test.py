#!/usr/bin/python3
"""A farm whose workers are killed one after the other, whose messages are lost, doubled, delayed
and cut, and whose dispatcher is killed, also inside commits: every compile ends with the bytes that
it has without a farm, and nothing is made twice with other bytes.

usage: storm_test.py FOLDER_OF_PROGRAMS [--models N] [--variants N] [--kills N] [--workers N]
                     [--dispatcher-kills N] [--store FOLDER] [--seed N]

Without options it is the short form: 40 compiles. The long one is scripts/check --long.
"""
import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from farm import Farm
from programs import need


def make_models(folder, count):
    make = os.path.join(HERE, "..", "..", "scripts", "models", "make")
    names = []
    for i in range(count):
        kind = ["tiny-mlp", "tiny-conv"][i % 2]
        subprocess.run([make, kind, "--dynamic", "--seed", str(i + 1), "-o",
                        os.path.join(folder, f"seed-{i}")], check=True, stdout=subprocess.DEVNULL)
        names.append(f"seed-{i}/{kind}.onnx")
    return names


def write_manifest(folder, models, variants):
    options = [{}, {"math": "high_precision"}]
    dims = [[f"N={n + 1}"] for n in range(max(1, variants // len(options)))]
    # Models of one name are distinguished by their folders.
    compiles = []
    for i, model in enumerate(models):
        for d in dims:
            for o, option in enumerate(options):
                compiles.append({"model": model, "output": f"{i}-{d[0]}-{o}.om",
                                 "options": {"dim": d, **option}})
    path = os.path.join(folder, "manifest.json")
    with open(path, "w") as file:
        json.dump({"options": {"profile": "cpu-avx2"}, "compiles": compiles}, file)
    return path, [c["output"] for c in compiles]


class Storm:
    def __init__(self, farm, arguments, random_numbers):
        self.farm, self.arguments, self.random = farm, arguments, random_numbers
        self.kills = self.kills_of_holders = self.dispatcher_kills = self.kills_at_write = 0
        self.is_over = threading.Event()

    def holders(self):
        """The numbers of workers that hold a lease."""
        status = self.farm.status()
        if status is None:
            return []
        pids = {int(w["name"].split(":")[-1]) for w in status["workers"] if w["jobs"] > 0}
        return [n for n, p in self.farm.workers.items() if p.pid in pids]

    def kill_workers(self):
        while not self.is_over.wait(self.arguments.pause):
            if self.kills_of_holders >= self.arguments.kills:
                return
            number = self.random.choice(list(self.farm.workers))
            self.kills += 1
            self.kills_of_holders += number in self.holders()
            self.farm.kill_worker(number)
            self.farm.start_worker(number)

    def kill_dispatcher(self):
        log = os.path.join(self.farm.folder, "state", "farm.db-wal")
        while self.dispatcher_kills < self.arguments.dispatcher_kills:
            if self.is_over.wait(self.random.uniform(1, 2 * self.arguments.spacing)):
                return
            # Right after its log of transactions has grown it is inside a commit, or just after.
            size, end = self.size(log), time.time() + 3
            while self.size(log) == size and time.time() < end:
                pass
            self.kills_at_write += self.size(log) != size
            self.farm.kill_dispatcher()
            self.dispatcher_kills += 1
            self.farm.start_dispatcher()

    @staticmethod
    def size(path):
        try:
            status = os.stat(path)
            return status.st_size, status.st_mtime_ns
        except OSError:
            return None

    def __enter__(self):
        self.threads = [threading.Thread(target=self.kill_workers),
                        threading.Thread(target=self.kill_dispatcher)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def compile_all(programs, folder, manifest, name, *options):
    out, result = os.path.join(folder, name), os.path.join(folder, name + ".json")
    process = subprocess.run(
        [os.path.join(programs, "sluice-compile-all"), manifest, "--store",
         os.path.join(folder, name + "-store"), "-o", out, "--result", result, "-q",
         "--keep-going", *options], capture_output=True, text=True)
    rows = []
    if os.path.exists(result):
        with open(result) as file:
            rows = json.load(file)["compiles"]
    return process, out, rows


def differences(outputs, reference, out):
    wrong = []
    for name in outputs:
        path = os.path.join(out, name)
        if not os.path.exists(path):
            wrong.append(name + " is missing")
            continue
        with open(path, "rb") as a, open(os.path.join(reference, name), "rb") as b:
            if a.read() != b.read():
                wrong.append(name + " has other bytes")
    return wrong


def products_with_other_bytes(farm):
    """Jobs that were done more than once, with different records of their products."""
    records = collections.defaultdict(set)
    for event in farm.events("job done"):
        if "record" in event:
            records[event["job"]].add(event["record"])
    return [job for job, seen in records.items() if len(seen) > 1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--models", type=int, default=4)
    parser.add_argument("--variants", type=int, default=10)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--dispatcher-kills", type=int, default=2)
    parser.add_argument("--spacing", type=float, default=3.0)
    parser.add_argument("--faults", type=float, default=5)
    parser.add_argument("--store", help="the dispatcher's store, on a small disk")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for logs and results")
    arguments = parser.parse_args()
    programs = need(arguments.programs, ["farm", "worker", "compile-all", "job"])
    if not os.path.exists(os.path.join(programs, "fault_proxy")):
        print("SKIPPED: not built: fault_proxy")
        sys.exit(77)
    folder = arguments.keep or tempfile.mkdtemp(prefix="sluice-storm-")
    os.makedirs(folder, exist_ok=True)
    models = make_models(folder, arguments.models)
    manifest, outputs = write_manifest(folder, models, arguments.variants)
    process, reference, _ = compile_all(programs, folder, manifest, "local")
    if process.returncode != 0:
        sys.exit("the local compile failed: " + process.stderr)

    options = ["--store", arguments.store] if arguments.store else []
    farm = Farm(programs, folder, arguments.faults, arguments.seed, options=options)
    for number in range(arguments.workers):
        farm.start_worker(number)
    storm = Storm(farm, arguments, random.Random(arguments.seed))
    begin = time.time()
    with storm:
        process, out, rows = compile_all(programs, folder, manifest, "farm", "--provider",
                                         farm.endpoint)
    seconds = time.time() - begin
    farm.stop()
    statuses = collections.Counter(row["status"] for row in rows)
    wrong = differences(outputs, reference, out)
    twice = products_with_other_bytes(farm)
    with open(os.path.join(folder, "proxy.txt")) as file:
        print("proxy:", file.read().strip())
    print(f"{len(outputs)} compiles, {arguments.workers} workers, {seconds:.0f} s: "
          f"{dict(statuses)}; {storm.kills} workers killed, {storm.kills_of_holders} of them with "
          f"a lease; dispatcher killed {storm.dispatcher_kills} times, {storm.kills_at_write} of "
          "them at a write; "
          f"{len(wrong)} lost or other bytes, {len(twice)} made twice with other bytes")
    was_calm = storm.kills_of_holders == 0 or storm.dispatcher_kills == 0
    if was_calm:
        print("that was no storm")
    failed = wrong or twice or was_calm or process.returncode != 0
    for text in wrong[:10]:
        print(text)
    if process.returncode != 0:
        print(process.stderr[-2000:])
    if failed:
        print(f"logs are in {folder}")
        sys.exit(7)
    if not arguments.keep:
        shutil.rmtree(folder)


main()
