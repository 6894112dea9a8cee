#!/usr/bin/python3
"""Options of sluice compile in drawn combinations, by each strategy: over a pipe, files, services
that files are named or sent to, with a store, with a farm, in a sandbox or not. Product and dumps
have the bytes of the pipe's, and statistics say the same but for times; stages that were found in a
store have no rows of passes.

usage: combinations_test.py FOLDER_OF_PROGRAMS [--count N] [--seed S]
"""
import argparse
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from models import make_mlp
from programs import STAGES, bytes_of, need

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
from farm import Farm  # noqa: E402 pylint: disable=wrong-import-position

TIMES = {"ms", "waiting_ms", "reading_ms", "work_ms", "writing_ms"}
# How often a store was asked depends on what it has.
OF_STORES = {"kernels_found", "kernels_generated"}
FILE_DIGEST = slice(80, 112)  # of a graph file, common/graphfile/header.h
STRATEGIES = ["pipe", "files", "zmq", "port", "store", "store and files", "store and zmq", "farm",
              "farm and store", "farm and store and zmq"]


def drawn_work(random_):
    """Options that change the product, and where it ends."""
    work = ["--profile=cpu-generic"]
    for option in ("--denormals=ieee", "--math=high_precision", "--stable-order=on",
                   "--skip=optimize:fuse-elementwise", "--opt-level=O0", "--symbolic=off",
                   "--sync=notify", "--enable-single-stream",
                   "--optimization-switch=ALL:off;fuse-contraction-epilogue:on"):
        work += [option] * (random_.random() < 0.2)
    if random_.random() < 0.4:
        work.append("--stop-after=" + random_.choice(
            [*STAGES, "optimize:fold-constants", "build:order-tasks"]))
    elif random_.random() < 0.2:
        work.append("--external-weight=2")
    return work


def drawn_view(random_):
    """Options that show what the stages do, and which files there are."""
    chosen = [option for option in ("--dump-dir", "--stats", "--verify=each", "--segments=inline",
                                    "--threads=1", "--quiet", "--progress=json", "-o -")
              if random_.random() < 0.3]
    if "-o -" in chosen and random_.random() < 0.5:
        chosen.remove("-o -")
    return chosen


class Place:
    """A folder with what one compile writes."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        self.product, self.dump, self.stats = (os.path.join(folder, name)
                                               for name in ("product", "dump", "stats.json"))

    def compile(self, programs, source, work, view, strategy):
        """The exit code, and the command with what it printed."""
        options = [{"--dump-dir": f"--dump-dir={self.dump}",
                    "--stats": f"--stats={self.stats}"}.get(option, option)
                   for option in view if option != "-o -"]
        to_stdout = "-o -" in view and "--external-weight=2" not in work
        weights = ["--weights-beside=" + os.path.join(self.folder, "m.om")]
        command = [os.path.join(programs, "sluice-compile"), source, *work, *options, *strategy,
                   *(weights if "--external-weight=2" in work else []),
                   "-o", "-" if to_stdout else self.product]
        with open(self.product, "wb") if to_stdout else open(os.devnull, "wb") as out:
            done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True,
                                  timeout=300, check=False)
        return done.returncode, f"{' '.join(command)}: {done.stderr}"

    def files(self, is_stored):
        """Bytes by name. Where constants are in a store, or were sent with the graphs, these are
        compared by their digests."""
        found = {}
        for path in glob.glob(self.folder + "/**", recursive=True):
            if os.path.isdir(path) or path == self.stats:
                continue
            data = bytes_of(path)
            is_graph = data.startswith(b"SLUICEG1")
            found[os.path.relpath(path, self.folder)] = (
                data[FILE_DIGEST] if is_stored and is_graph else data)
        return found

    def statistics(self, without=()):
        """Each stage's numbers but times; of the stages in `without` the names alone."""
        if not os.path.exists(self.stats):
            return None
        with open(self.stats, encoding="utf-8") as file:
            stages = json.load(file)["stages"]
        return {stage["stage"]: None if stage["stage"] in without else
                [(row["name"], row["nodes_before"], row["nodes_after"], row["changed"],
                  row["visits"], {k: v for k, v in row["work"].items() if k not in OF_STORES})
                 for row in stage["passes"]] for stage in stages}

    def found_stages(self):
        if not os.path.exists(self.stats):
            return set()
        with open(self.stats, encoding="utf-8") as file:
            stages = json.load(file)["stages"]
        found = {stage["stage"] for stage in stages if stage.get("from") == "store"}
        assert all("passes" not in stage for stage in stages if stage["stage"] in found)
        return found


class Combinations:
    def __init__(self, programs, folder, seed):
        self.programs, self.folder, self.random = programs, folder, random.Random(seed)
        self.refused = 0  # by every strategy
        self.model = os.path.join(folder, "model.onnx")
        make_mlp(self.model)
        self.typed, self.inline = (os.path.join(folder, name) for name in ("typed.sg", "inline.sg"))
        for graph, options in ((self.typed, []), (self.inline, ["--segments=inline"])):
            subprocess.run([os.path.join(programs, "sluice-preprocess"), "--profile=cpu-generic",
                            self.model, "-o", graph, *options], check=True)
        self.farm = Farm(programs, folder)
        self.farm.start_worker(0)
        # All stages at a service to which files are sent.
        self.service = subprocess.Popen(
            [os.path.join(programs, "sluice-worker"), "--listen=tcp://127.0.0.1:*", "--insecure"],
            stderr=subprocess.PIPE, text=True)
        self.port = self.service.stderr.readline().split()[-1]
        self.has_sandbox = subprocess.run(
            [os.path.join(programs, "sluice-compile"), self.model, "--sandbox", "-q", "-o",
             os.devnull], capture_output=True, check=False).returncode == 0

    def stop(self):
        self.farm.stop()
        self.service.terminate()
        self.service.communicate()

    def strategy(self, name):
        options = ["--sandbox"] * (self.has_sandbox and self.random.random() < 0.25)
        store = os.path.join(self.folder, f"store-{self.random.randrange(3)}")
        if "store" in name:
            options += ["--store", store]
        if "farm" in name:
            options += ["--farm", self.farm.endpoint]
        if name == "port":
            options.append("--transport=zmq")
            options += [f"--service={stage}={self.port}" for stage in STAGES]
        for transport in ("files", "zmq"):
            if transport in name:
                options.append(f"--transport={transport}")
        return options

    def check(self, number):
        """What is wrong with a combination; empty when nothing is."""
        source = self.typed if self.random.random() < 0.2 else self.model
        work, view = drawn_work(self.random), drawn_view(self.random)
        if source == self.typed:
            work = [option for option in work if not option.endswith(("preprocess", "=2"))]
        name = STRATEGIES[number % len(STRATEGIES)]
        keeps_graphs = "--dump-dir" in view or any(option.startswith("--stop") for option in work)
        if name == "farm" and keeps_graphs:
            name = "farm and store"
        if name == "port" and source == self.typed:
            source = self.inline  # the service does not see the model
        options = self.strategy(name)
        places = [Place(os.path.join(self.folder, place)) for place in ("wanted", "found")]
        wanted, found = places
        try:
            code, _ = wanted.compile(self.programs, source, work, view, [])
            code_found, text = found.compile(self.programs, source, work, view, options)
            if code_found != code:
                return f"ends with {code_found}, not {code}: {text}"
            if code != 0:  # a pass that the options leave out, for example
                self.refused += 1
                return ""
            return self.difference(wanted, found, name not in ("pipe", "files", "zmq"),
                                   f"{source} {work} {view} {options}")
        finally:
            for place in places:
                shutil.rmtree(place.folder)

    @staticmethod
    def difference(wanted, found, is_stored, what):
        before, after = wanted.files(is_stored), found.files(is_stored)
        names = sorted(name for name in before.keys() | after.keys()
                       if before.get(name) != after.get(name))
        if names:
            return f"{what}: these files differ: {names}"
        without = found.found_stages()
        if wanted.statistics(without) != found.statistics(without):
            return f"{what}: the statistics differ"
        return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    programs = need(options.programs, ["compile", "farm", "worker", "job", *STAGES])
    with tempfile.TemporaryDirectory() as folder:
        combinations = Combinations(programs, folder, options.seed)
        try:
            faults = [text for text in map(combinations.check, range(options.count)) if text]
        finally:
            combinations.stop()
    for text in faults:
        print(text)
    print(f"{options.count} combinations, of which {combinations.refused} are refused by each "
          f"strategy, {len(faults)} wrong (seed {options.seed})")
    return 7 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
