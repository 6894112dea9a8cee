#!/usr/bin/python3
"""Gives damaged files to the programs that read them and to the rest of the pipe, each with a limit
of time and memory. Seeds are made by the programs themselves; damage is drawn from a fixed seed, so
every run makes the same files.

usage: tests/fuzz/mutate.py [options]
example: tests/fuzz/mutate.py --count 20

  --bin DIR      the programs, of any build           [default: out/release/bin]
  --count N      damaged files                        [default: 5000]
  --kinds LIST   onnx,typed,partitioned,lowered,scheduled,om,text,schedule,rules,profile
                 [default: all]
  --seed S       other damage                         [default: 1]
  --only KIND:I  that one file again, keeping all that it makes
  --keep DIR     where files with faults go           [default: out/fuzz/mutate]
  --seeds DIR    seeds made before, instead of new ones
  --messages     also every kind of message, with its count
  -j N           processes at once                    [default: 2]

When interrupted, it reports what is done by then. A fault is: a signal; an exit code that is not
documented, or that says usage (2) or a bug of Sluice (6); a sanitizer's report; a failure without a
message, or with two; a message of more than 64 KiB or with control characters; an output under its
final name after a failure; a temporary file left; a hang. It prints a table by kind and exits 7
when there is any fault. Programs with sanitizers have no memory limit by prlimit, which their
shadow memory exceeds: allocations beyond 2 GB are only counted, and a plain build has to show them.
"""
import argparse
import collections
import hashlib
import importlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from google.protobuf.message import DecodeError

import mutators
import seeds

KINDS = {"onnx": 30, "typed": 15, "partitioned": 10, "lowered": 10, "scheduled": 10, "om": 15,
         "text": 14, "schedule": 10, "rules": 3, "profile": 3, "rewrites": 5}
ENDINGS = {"onnx": ".onnx", "typed": ".sg", "partitioned": ".sg", "lowered": ".sg", "scheduled":
           ".sg", "om": ".om", "text": ".txt", "schedule": ".txt", "rules": ".json", "profile":
           ".json", "rewrites": ".rules"}
CPU_SECONDS, WALL_SECONDS, DATA_BYTES = 10, 60, 2_000_000_000
GOOD_CODES = {"verify": {0, 3, 4, 5, 7}}  # of the others: 0, 3, 4, 5
SANITIZER = re.compile(r"Sanitizer|runtime error:")
OUT_OF_MEMORY = re.compile(r"allocation-size-too-big|out-of-memory|hard rss limit|maximum "
                           r"supported size|failed to allocate")
HEADLINE = re.compile(r"^sluice[a-z-]*: error (SL\d+): (.*)", re.M)
AFTER = {"typed": ["optimize", "partition", "subgraph-optimize", "build"],
         "partitioned": ["subgraph-optimize", "build"], "lowered": ["build"],
         "scheduled": ["build"]}
LEVELS = {1: "typed", 2: "partitioned", 3: "lowered", 4: "scheduled"}


class Trial:
    """One damaged file: its folder, what was run on it, and what was wrong."""

    def __init__(self, settings, folder):
        self.settings, self.folder = settings, folder
        self.log, self.faults, self.messages = [], [], []
        self.memory = self.is_built = False  # is_built: by our stages, from a graph that verified
        self.is_long = False  # the model's own loops run on and on
        self.is_edited = False  # what was scheduled is damaged, not what the schedule is made from
        self.ran = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, name, *arguments, output=None):
        """The exit code of one program; faults are noted."""
        command = [*self.settings.limits, os.path.join(self.settings.bin, "sluice-" + name),
                   *arguments, *(["-o", self.path(output)] if output else [])]
        environment = {**os.environ,
                       "ASAN_OPTIONS": "detect_leaks=0:max_allocation_size_mb=2000:"
                                       "hard_rss_limit_mb=2500:allocator_may_return_null=0",
                       "UBSAN_OPTIONS": "print_stacktrace=1"}
        self.ran += 1
        try:
            done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=WALL_SECONDS, check=False,
                                  env=environment)
        except subprocess.TimeoutExpired:
            self.faults.append(f"{name}: hang: no end after {WALL_SECONDS} s")
            self.log.append(" ".join(command))
            return -1
        printed = done.stderr.decode("utf-8", "replace")
        self.log.append(" ".join(command) + f"\nexit {done.returncode}\n{printed[:20000]}")
        if SANITIZER.search(printed) and OUT_OF_MEMORY.search(printed):
            self.memory = True
        else:
            self.check(name, done.returncode, printed, output)
        return done.returncode

    def check(self, name, code, printed, output):
        def fault(text):
            self.faults.append(f"{name}: {text}")

        if code in (-24, 152) or (code == -9 and not SANITIZER.search(printed)):
            if name == "loader" and self.is_built:
                self.is_long = True
                return None
            return fault(f"hang: more than {CPU_SECONDS} s of CPU")
        if SANITIZER.search(printed):
            return fault("sanitizer: " +
                         next((line for line in printed.splitlines() if SANITIZER.search(line)),
                              ""))
        if code < 0 or code > 127:
            return fault(f"signal {-code}")
        headlines = HEADLINE.findall(printed)
        self.messages += [(name, number, text) for number, text in headlines]
        if code not in GOOD_CODES.get(name, {0, 3, 4, 5}):
            fault(f"exit code {code}: {printed[:300]}")
        if code == 0 and headlines:
            fault("an error and success")
        if code != 0 and len(headlines) != 1:
            fault(f"{len(headlines)} errors reported, expected one")
        if len(printed) > 65536:
            fault(f"a message of {len(printed)} characters")
        if any(ord(c) < 32 and c not in "\n\t" or c == "\x7f" for c in printed):
            fault("control characters in a message")
        if output and os.path.exists(self.path(output)) != (code == 0):
            fault("an output under its final name after a failure" if code
                  else "success without an output")
        left = [entry for entry in os.listdir(self.folder) if ".tmp" in entry]
        if left:
            fault(f"left behind: {left[0]}")
        return None

    def stages(self, current, stages):
        """The stages one after the other while they succeed, then what reads a compiled model. The
        last exit code."""
        for stage in stages:
            made = stage + (".om" if stage == "build" else ".sg")
            extra = ([seeds.PROFILE] if stage == "partition" and
                     "--profile" not in " ".join(self.log) else [])
            code = self.run(stage, *extra, current, output=made)
            if code != 0:
                return code
            current = self.path(made)
        self.is_built = True
        return self.compiled_model(current)

    def compiled_model(self, path):
        code = self.run("verify", path)
        self.run("show", "--format=json", path, output="shown.json")
        if code == 7 and self.is_built and not self.is_edited:
            self.faults.append("verify: what our own stages made breaks a rule")
        # By our own code generator, for the operands that it gets: may be run.
        if self.is_built and not (self.is_edited and (code != 0 or self.has_kernels())):
            ran = self.run("loader", "--random", "--threads=1", path)
            return code or (0 if self.is_long else ran)
        opened = self.run("loader", path)  # without inputs: up to binding; in_process.py goes on
        return code or (0 if opened == 3 and "SL7004" in self.log[-1] else opened)

    def has_kernels(self):
        with open(self.path("shown.json"), "rb") as file:
            return bool(json.load(file).get("kernels"))


def try_onnx(trial, path):
    code = trial.run("preprocess", path, output="preprocess.sg")
    return code or trial.stages(trial.path("preprocess.sg"), AFTER["typed"])


def try_graph(trial, path):
    code = trial.run("verify", path)
    trial.run("show", path, output="shown.txt")
    trial.run("show", "--format=json", path, output="shown.json")
    trial.run("show", "--format=onnx", path, output="shown.onnx")
    with open(path, "rb") as file:
        head = file.read(16)
    level = LEVELS.get(head[12] if len(head) > 12 else 1, "typed")
    trial.is_edited = level == "scheduled"
    if code != 0:
        trial.run(AFTER[level][0], path, output="refused.sg")  # every stage checks for itself
        return code
    return trial.stages(path, AFTER[level])


def try_text(trial, path):
    code = trial.run("as", path, output="as.sg")
    return code or try_graph(trial, trial.path("as.sg"))


def try_rules(trial, path):
    code = trial.run("preprocess", "--annotate=" + path, trial.settings.model,
                     output="preprocess.sg")
    return code or trial.stages(trial.path("preprocess.sg"), AFTER["typed"])


def try_rewrites(trial, path):
    trial.run("rules", "why", path, trial.settings.typed, output="why.txt")
    code = trial.run("optimize", "--rules=" + path, "--unchecked-rules", trial.settings.typed,
                     output="optimize.sg")
    return code or trial.stages(trial.path("optimize.sg"), AFTER["typed"][1:])


def try_profile(trial, path):
    code = trial.run("partition", "--profile=" + path, trial.settings.typed, output="partition.sg")
    return code or trial.stages(trial.path("partition.sg"), AFTER["partitioned"])


TRY = {"onnx": try_onnx, "typed": try_graph, "partitioned": try_graph, "lowered": try_graph,
       "scheduled": try_graph, "om": Trial.compiled_model, "text": try_text, "schedule": try_text,
       "rules": try_rules, "profile": try_profile, "rewrites": try_rewrites}


def damaged(settings, kind, index):
    rng = random.Random(f"{settings.seed}/{kind}/{index}")
    data, other = rng.choice(settings.files[kind]), rng.choice(settings.files[kind])
    if kind == "onnx":
        return mutators.mutate_onnx(rng, data, other)
    if kind == "om":
        return mutators.mutate_compiled_model(rng, data, other, settings.model_class(),
                                              lambda b: hashlib.sha256(b).digest())
    if kind == "schedule":
        return mutators.mutate_schedule(rng, data, other)
    if kind in ("text", "rules", "profile", "rewrites"):
        return mutators.mutate_text(rng, data, other)
    return mutators.mutate_graph_file(rng, data, other)


def put_weights(settings, folder, data):
    """The files that the external weights of a compiled model need, sparse, as large as it says."""
    try:
        offset, size = struct.unpack_from("<QQ", data, 24)
        model = settings.model_class().FromString(data[offset:offset + size])
        os.makedirs(os.path.join(folder, "weight"), exist_ok=True)
        files = {"weight_" + row.digest.hex(): (b"", row.bytes) for row in model.external_weights}
        if model.combined_weights:
            header = hashlib.sha256(b"".join(row.digest for row in model.external_weights))
            end = 0
            for row in model.external_weights:
                end = (end + 4095) // 4096 * 4096 + row.bytes
            files = {"damaged_weight_combined": (b"SLUICEWT" + header.digest(), 4096 + end)}
        for name, (begin, size) in files.items():
            with open(os.path.join(folder, "weight", name), "wb") as file:
                file.write(begin)
                file.truncate(size)
    except (struct.error, OSError, OverflowError, DecodeError):
        pass  # it has no such files, or they cannot be


class Settings:
    """What every trial needs; sent to the processes once."""

    def __init__(self, options, folder):
        self.bin, self.seed, self.folder, self.keep = (os.path.abspath(options.bin), options.seed,
                                                       folder, os.path.abspath(options.keep))
        self.files = {kind: [read(os.path.join(folder, kind, name))
                             for name in sorted(os.listdir(os.path.join(folder, kind)))]
                      for kind in KINDS}
        self.model = os.path.join(folder, "onnx", "tiny-conv.onnx")
        self.typed = os.path.join(folder, "typed", "tiny-conv.optimize.sg")
        self.sanitized = b"__asan_init" in read(os.path.join(self.bin, "sluice-preprocess"))
        self.only = options.only is not None
        self.limits = ["prlimit", "--core=0", f"--cpu={CPU_SECONDS}:{CPU_SECONDS + 1}",
                       *([] if self.sanitized else [f"--data={DATA_BYTES}"]), "--"]
        subprocess.run(["protoc", "--python_out=" + folder,
                        "-I" + os.path.join(seeds.ROOT, "schemas"), "model.proto"], check=True)

    def model_class(self):
        if self.folder not in sys.path:
            sys.path.insert(0, self.folder)
        return importlib.import_module("model_pb2").ModelDef


def read(path):
    with open(path, "rb") as file:
        return file.read()


SETTINGS = None


def begin_worker(settings):
    global SETTINGS
    SETTINGS = settings
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reports what is done


def attempt(task):
    kind, index = task
    folder = tempfile.mkdtemp(prefix="mutate.")
    try:
        trial = Trial(SETTINGS, folder)
        name = "damaged" + ENDINGS[kind]
        data = damaged(SETTINGS, kind, index)
        with open(trial.path(name), "wb") as file:
            file.write(data)
        if kind == "om":
            put_weights(SETTINGS, folder, data)
        code = TRY[kind](trial, trial.path(name))
        if trial.faults or SETTINGS.only:
            keep(trial, kind, index)
        return kind, index, code, trial.faults, trial.messages, trial.memory, trial.ran
    finally:
        shutil.rmtree(folder)


def keep(trial, kind, index):
    folder = os.path.join(SETTINGS.keep, f"{kind}-{index}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(trial.folder, folder)
    with open(os.path.join(folder, "log.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(trial.faults) + "\n\n" + "\n".join(trial.log).replace(trial.folder,
                                                                                   folder))


def tasks_of(options):
    if options.only:
        kind, index = options.only.split(":")
        return [(kind, int(index))]
    kinds = options.kinds.split(",") if options.kinds else list(KINDS)
    total = sum(KINDS[kind] for kind in kinds)
    rows = [(kind, i) for kind in kinds
            for i in range(max(1, options.count * KINDS[kind] // total))]
    random.Random(0).shuffle(rows)  # slow kinds are not all at the end
    return rows


def shape(text):
    """A message without what differs from file to file."""
    text = re.sub(r" \[/[^ ]*\]$|^/[^ ]*/(?=damaged\.)", "", text)
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text))[:150]


def report(options, results):
    print(f"{'kind':12} {'files':>6} {'done':>6} {'refused':>8}  {'by exit code':28} {'memory':>6} "
          f"{'faults':>6}")
    for kind in [kind for kind in KINDS if any(row[0] == kind for row in results)]:
        rows = [row for row in results if row[0] == kind]
        codes = collections.Counter(row[2] for row in rows if row[2] != 0)
        print(f"{kind:12} {len(rows):6} {sum(row[2] == 0 for row in rows):6} "
              f"{sum(codes.values()):8}  "
              f"{', '.join(f'{code}: {count}' for code, count in sorted(codes.items())):28} "
              f"{sum(row[5] for row in rows):6} "
              f"{sum(bool(row[3]) for row in rows):6}")
    if options.messages:
        counts = collections.Counter((name, number, shape(text)) for row in results
                                     for name, number, text in row[4])
        for (name, number, text), count in sorted(counts.items()):
            print(f"{count:6} {name} {number}: {text}")
    for kind, index, _, faults, *_ in sorted(row for row in results if row[3]):
        print(f"fault {kind}:{index}: {faults[0][:400]}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--bin", default=os.path.join(seeds.ROOT, "out", "release", "bin"))
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--kinds")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only")
    parser.add_argument("--keep", default=os.path.join(seeds.ROOT, "out", "fuzz", "mutate"))
    parser.add_argument("--seeds")
    parser.add_argument("--messages", action="store_true")
    parser.add_argument("-j", type=int, default=2)
    return parser.parse_args()


def main():
    options = parse()
    begin = time.time()
    folder = os.path.abspath(options.seeds or tempfile.mkdtemp(prefix="mutate-seeds."))
    try:
        if not options.seeds or not os.path.isdir(os.path.join(folder, "onnx")):
            seeds.make_seeds(os.path.abspath(options.bin), folder)
        settings = Settings(options, folder)
        results = []
        with multiprocessing.Pool(options.j, begin_worker, [settings]) as pool:
            try:
                for result in pool.imap_unordered(attempt, tasks_of(options), chunksize=4):
                    results.append(result)
            except KeyboardInterrupt:
                print("mutate: interrupted; so far:")
    finally:
        if not options.seeds:
            shutil.rmtree(folder)
    report(options, results)
    faults = sum(bool(row[3]) for row in results)
    print(f"mutate: {len(results)} files, {sum(row[6] for row in results)} programs run, {faults} "
          f"faults, {time.time() - begin:.0f} s")
    if options.only:
        print("kept in " + os.path.join(settings.keep, options.only.replace(":", "-")))
    return 7 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
