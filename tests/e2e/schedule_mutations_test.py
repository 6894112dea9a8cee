#!/usr/bin/python3
"""A schedule that was edited wrongly does not run: sluice-as, sluice-verify, sluice-build or the
checkers of the compiled model refuse it. What they accept computes the same bytes as before, on
several inputs and threads, in memory that was filled with not-a-numbers. Edits of any number, name
or line may change what is computed: then it is what sluice-eval makes of the edited graph.

usage: schedule_mutations_test.py FOLDER_OF_PROGRAMS [options]

  --count N     mutations of a class, drawn from all; 0: all   [default: 40]
  --only TEXT   only mutations whose name contains TEXT, and what each program said of them
  --keep DIR    where edited graphs with findings go
                [default: schedule-mutations in the working directory]

Prints how many of a class are refused by whom. Exits 7 when one is accepted and computes other
values, when a program ends otherwise than it may, or when more than a fifth of a class
is harmless (of any edits, any number may be).
"""
import argparse
import collections
import multiprocessing
import os
import random
import sys
import tempfile

import programs
import schedule_mutators
from random_graphs_test import difference
from schedule_facts import followed, wrong_facts
from schedules import KINDS, TEXTS, Schedule, run_model

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
import mutators

MAX_HARMLESS, MAX_SECONDS = 0.2, 60
ANY, ANY_EDITS = "any edit", 200
SEEDS = (1, 2, 7, 8)
WHO = ["verifier", "build", "memory checker", "stream checker", "run", "harmless", "FOUND"]


class Case:
    """A schedule and the bytes that it computes."""

    def __init__(self, bin_folder, folder, kind):
        self.schedule, self.folder = Schedule(bin_folder, folder, kind), folder
        self.feeds = [self.schedule.feeds(seed) for seed in SEEDS]
        model = self.path(kind + ".om")
        self.schedule.need("build", self.schedule.base, "-o", model)
        self.values = run_model(bin_folder, model, self.feeds, 2)
        self.check_values()
        if followed(self.schedule.text) != self.schedule.text:
            raise RuntimeError(f"{kind}: what follows from its facts is not what it says")

    def path(self, name):
        return os.path.join(self.folder, name)

    def check_values(self):
        """Without an edit the model computes what sluice-eval does."""
        for feeds, values in zip(self.feeds, self.values):
            reported = difference_of(values, self.schedule.evaluate(feeds, self.schedule.base))
            if reported:
                raise RuntimeError(f"{self.schedule.kind}: {reported}")

    def mutations(self):
        """(class, what was done, text)"""
        planned = schedule_mutators.Text(self.schedule.text)
        for name, function in schedule_mutators.CLASSES.items():
            yield from ((name, what, followed(text)) for what, text in function(planned))
        yield from (("fact wrong", *row) for row in wrong_facts(planned))
        unplanned = schedule_mutators.Text(self.schedule.unplanned)
        for what, text in schedule_mutators.shorten_lives(unplanned):
            yield "life shortened, planned", what, followed(text)
        streamed = schedule_mutators.Text(self.schedule.streamed)
        for name in schedule_mutators.OF_STREAMS:
            for what, text in schedule_mutators.CLASSES[name](streamed):
                yield name + ", planned", what, text
        if self.schedule.kind in TEXTS:  # an edit may fit to other kernels only
            for i in range(ANY_EDITS):
                rng = random.Random(f"{self.schedule.kind}/{i}")
                text = mutators.mutate_schedule(rng, self.schedule.text.encode(), b"")
                yield ANY, f"edit {i}", text.decode("utf-8", "replace")

    def judge(self, text, may_mean_other):
        """(who refused it, what was said); may_mean_other: the edit may be of what is computed."""
        graph, model = self.path("edited.sg"), self.path("edited.om")
        for path in (graph, model):
            if os.path.exists(path):
                os.remove(path)
        steps = [("verifier", "as", ["-", "--with=" + self.schedule.base, "-o", graph]),
                 ("verifier", "verify", [graph]), ("build", "build", [graph, "-o", model]),
                 ("memory checker", "verify", ["--memory", model])]
        said = ""
        for who, name, arguments in steps:
            code, _, reported = self.schedule.program(name, *arguments, text=text)
            said += reported
            if code == 0:
                continue
            if code not in ({3, 4, 5} | ({7} if name == "verify" else set())):
                return "FOUND", f"{name}: exit code {code}: {reported}"
            if arguments[-1] == model and os.path.exists(model) and name == "build":
                return "FOUND", "build: an output after a failure"
            if "do not fit together" in reported:  # sluice-build asks the checkers, too
                who = "memory checker"
            if "may overlap and share bytes" in reported:
                who = "stream checker"
            return who, said
        meant = self.semantic(graph) if may_mean_other else self.values
        return self.run(model, meant, may_mean_other)

    def semantic(self, graph):
        """What an edited graph computes, or the graph before when sluice-eval refuses it."""
        try:
            return [self.schedule.evaluate(feeds, graph) for feeds in self.feeds]
        except RuntimeError:
            return self.values

    def run(self, model, meant, may_refuse):
        for threads in (1, 2):
            found = in_child(lambda: run_model(self.schedule.programs, model, self.feeds, threads))
            if isinstance(found, str) and found.startswith("SL") and may_refuse:
                return "run", found
            reported = (f": {found}" if isinstance(found, str) else
                        next(filter(None, map(difference_of, found, meant)), ""))
            if reported or (meant is self.values and list(map(bytes_of, found)) !=
                            list(map(bytes_of, meant))):
                return "FOUND", f"run on {threads} threads: other values{reported}"
        return "harmless", ""


def difference_of(found, meant):
    """Text of the first output that differs; equal names may be distinguished in other ways."""
    for name in sorted(found.keys() & meant.keys()):
        reported = difference(found[name], meant[name])
        if reported:
            return f": output '{name}': {reported}"
    return ""


def bytes_of(values):
    return {name: value.tobytes() for name, value in values.items()}


def in_child(function):
    """What the function returns, called in a process of its own; a text when it returns nothing."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)

    def call():
        try:
            writer.send(function())
        except Exception as error:  # an Error of the loader
            writer.send(str(error))

    child = context.Process(target=call)
    child.start()
    writer.close()
    try:
        return reader.recv() if reader.poll(MAX_SECONDS) else "no end"
    except EOFError:
        child.join()
        return f"exit code {child.exitcode}"
    finally:
        child.kill()
        child.join()


def drawn(cases, count, only):
    """(case, class, what, text) of `count` mutations of each class, spread over the cases."""
    rows = collections.defaultdict(list)
    for case in cases:
        for name, what, text in case.mutations():
            rows[name].append((case, name, f"{case.schedule.kind}: {what}", text))
    for name, found in rows.items():
        found = [row for row in found if only in row[2]]
        random.Random(name).shuffle(found)
        yield from found[:count or None]


def report(counts):
    print(f"{'class':26}{'mutations':>10}" + "".join(f"{who:>16}" for who in WHO))
    for name, row in [*counts.items(), ("all", sum(counts.values(), collections.Counter()))]:
        print(f"{name:26}{row.total():10}" + "".join(f"{row[who]:16}" for who in WHO))


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="schedule-mutations", type=os.path.abspath)
    options = parser.parse_args()
    options.bin = programs.need(options.bin, [*programs.STAGES, "as", "show", "eval", "verify",
                                              "compile"])
    counts, found = collections.defaultdict(collections.Counter), 0
    with tempfile.TemporaryDirectory() as folder:
        cases = [Case(options.bin, folder, kind) for kind in KINDS]
        for case, name, what, text in drawn(cases, options.count, options.only):
            who, said = case.judge(text, name == ANY)
            counts[name][who] += 1
            if options.only:
                print(f"{name}: {what}: {who}\n{said}")
            if who != "FOUND":
                continue
            found += 1
            os.makedirs(options.keep, exist_ok=True)
            kept = os.path.join(options.keep, f"{case.schedule.kind}-{found}.txt")
            with open(kept, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"{name}: {what}: {said.strip()} [{kept}]", flush=True)
    report(counts)
    many = [name for name, row in counts.items()
            if name != ANY and row["harmless"] > MAX_HARMLESS * row.total()]
    if many and not options.only:
        print("more than a fifth is harmless: " + ", ".join(many))
    return 7 if found or (many and not options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
