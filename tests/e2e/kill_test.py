#!/usr/bin/python3
"""sluice compile --dump-dir, killed at any moment: no partial file under a final name, nothing left
running, and the work resumed from the last complete file gives the same bytes.

usage: kill_test.py FOLDER_OF_PROGRAMS [--rounds N] [--model FILE] [--seed SEED]

N compilations are killed; one that ends before the signal comes does not count. Each round starts a
compilation, over a transport chosen at random, and at a random moment sends SIGKILL, SIGTERM or
SIGINT to the whole process group, to the orchestrator, or to one of the stages. Rounds share the
folder of the dump; every fourth begins with an empty one.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from models import convolution_chain, floats, save
from programs import STAGES, bytes_of, has_nameless_files, need

GRAPHS = ["%d-%s.sg" % (k + 1, stage) for k, stage in enumerate(STAGES[:4])]
PROFILE = "--profile=cpu-generic"
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
TARGETS = ["group", "orchestrator", "stage"]
TRANSPORTS = ["pipe", "pipe", "files", "zmq"]
SECONDS_TO_END = 2  # for processes of a round, after the orchestrator's end


def make_model(path):
    """Twelve convolutions of different shapes: enough work in each stage for a kill to meet it."""
    nodes, weights = convolution_chain([4, *range(4, 16)], "Relu")
    save(path, nodes, [floats("x0", [1, 4, 24, 24])], [floats("x12")], weights)


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def processes_of(session):
    """Name by id of what lives in a session and is no zombie."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                name, remaining = file.read().split("(", 1)[1].rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, _, _, sid = remaining.split()[:4]
        if int(sid) == session and state != "Z":
            found[int(pid)] = name
    return found


def wait_for_ends(session):
    deadline = time.monotonic() + SECONDS_TO_END
    while True:
        left = processes_of(session)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Rounds:
    def __init__(self, programs, model, folder, seed):
        self.programs, self.model, self.folder = programs, model, folder
        self.random = random.Random(seed)
        self.may_have_temporaries = not has_nameless_files(folder)
        self.dump, self.out = os.path.join(folder, "dump"), os.path.join(folder, "model.om")
        self.last_files, self.endings = collections.Counter(), collections.Counter()
        start = time.monotonic()
        self.compile(model)
        self.seconds = time.monotonic() - start
        self.whole = {name: bytes_of(os.path.join(self.dump, name)) for name in files_in(self.dump)}
        self.product = bytes_of(self.out)
        for path in [self.out, *(os.path.join(self.dump, name) for name in GRAPHS)]:
            subprocess.run([os.path.join(programs, "sluice-verify"),
                            path, *(["--segments"] if path == self.out else [])],
                           check=True, stdout=subprocess.DEVNULL)

    def command(self, source, *options):
        return [os.path.join(self.programs, "sluice-compile"), "-q",
                *([PROFILE] if source == self.model else []), source, "-o", self.out,
                "--dump-dir", self.dump, *options]

    def compile(self, source):
        subprocess.run(self.command(source), check=True, timeout=600)

    def victim(self, orchestrator, target):
        if target == "group":
            return -orchestrator
        living = processes_of(orchestrator)
        stages = sorted(pid for pid in living if pid != orchestrator)
        return self.random.choice(stages) if target == "stage" and stages else orchestrator

    def interrupt(self, process, target, number):
        """Answers whether the signal met the compilation at work."""
        start = time.monotonic()
        try:
            process.wait(timeout=self.random.uniform(0, 1) * self.seconds)
            # the machine is quicker now
            self.seconds = (self.seconds + time.monotonic() - start) / 2
            return False
        except subprocess.TimeoutExpired:
            pass
        victim = self.victim(process.pid, target)
        if victim < 0:
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
        else:
            send(victim, number)
        process.wait(timeout=60)
        return True

    def check_files(self, what):
        """Every final name holds what the undisturbed compilation wrote, and there is no other."""
        for name in files_in(self.dump):
            if name in self.whole:
                assert bytes_of(os.path.join(self.dump, name)) == self.whole[name], (
                    "%s: '%s' is partial or different" % (what, name))
            else:
                assert self.may_have_temporaries and ".tmp" in name, (
                    "%s: '%s' is no name that a compilation writes" % (what, name))
        beside = [name for name in os.listdir(self.folder) if name.startswith("model.om.")]
        assert self.may_have_temporaries or not beside, "%s: left: %s" % (what, beside)
        if os.path.exists(self.out):
            assert bytes_of(self.out) == self.product, ("%s: the model is partial or different" %
                                                        what)

    def last_complete(self):
        complete = [name for name in GRAPHS if os.path.exists(os.path.join(self.dump, name))]
        return complete[-1] if complete else None

    def clear(self, is_all):
        """What the round before finished goes; what it left half-way stays, unless all goes."""
        if is_all:
            shutil.rmtree(self.dump, ignore_errors=True)
        for path in [self.out, *(os.path.join(self.dump, name) for name in self.whole)]:
            if os.path.exists(path):
                os.remove(path)

    def run(self, number):
        """Answers whether the compilation was killed."""
        self.clear(number % 4 == 0)
        target, sign, transport = (self.random.choice(choices)
                                   for choices in (TARGETS, SIGNALS, TRANSPORTS))
        what = "round %d (%s, %s to the %s)" % (number, transport, signal.Signals(sign).name,
                                                target)
        process = subprocess.Popen(self.command(self.model, "--transport=" + transport),
                                   start_new_session=True, stderr=subprocess.PIPE)
        met = self.interrupt(process, target, sign)
        left = wait_for_ends(process.pid)
        errors = process.stderr.read().decode() if not left else ""
        assert not left, "%s: still running after %d s: %s" % (what, SECONDS_TO_END, left)
        expected = (0, 5) if target == "stage" else (0, -sign)
        # the last stage may have ended between the look at the processes and the signal, and the
        # orchestrator is then the victim
        assert (process.returncode in expected or target == "stage" and
                process.returncode == -sign), (what, process.returncode, errors)
        # a stage of a killed group can end before the signal has reached the orchestrator, which
        # then reports it
        count = errors.count("error")
        is_right = count == 1 if process.returncode == 5 else count <= (target == "group")
        assert is_right, (what, errors)
        assert process.returncode != 0 or os.path.exists(self.out), what
        self.check_files(what)
        last = self.last_complete()
        self.last_files["model.om" if os.path.exists(self.out) else last or "none"] += 1
        self.endings["%s %s" % (target, "met" if met and process.returncode != 0 else "late")] += 1
        self.compile(os.path.join(self.dump, last) if last else self.model)
        assert bytes_of(self.out) == self.product, ("%s: resumed from %s the model is another" %
                                                    (what, last))
        self.check_files(what + ", resumed")
        return met and process.returncode != 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--model")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    programs = need(arguments.programs, ["compile", "verify", *STAGES])
    print("seed %d" % arguments.seed, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.abspath(arguments.model) if arguments.model else os.path.join(folder,
                                                                                      "model.onnx")
        if not arguments.model:
            make_model(model)
        rounds = Rounds(programs, model, folder, arguments.seed)
        killed, number = 0, 0
        while killed < arguments.rounds:
            was_killed = rounds.run(number)
            killed += was_killed
            number += 1
            if was_killed and killed % 20 == 0:
                print("%d killed" % killed, flush=True)
    print("%d of %d compilations killed, undisturbed %.2f s" % (killed, number, rounds.seconds))
    for title, counts in (("last complete file", rounds.last_files), ("signal", rounds.endings)):
        print(title + ": " + ", ".join("%s %d" % item for item in sorted(counts.items())))


if __name__ == "__main__":
    main()
