#!/usr/bin/python3
"""Names of engines, and profiles that contradict themselves: every program that reads a wrong one
ends with one error that names the file, the key, the value and what was expected.

usage: profile_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import sys
import unittest

from programs import ProgramCase, need

PROFILE = {"name": "table", "isa": "generic", "llvm_cpu": "x86-64", "llvm_features": "",
           "vector_bits": 128, "vector_registers": 16, "fused_multiply_add": False,
           "l2_bytes": 262144, "scratch_limit": 1048576, "engines": ["host_cpu", "rts"]}
MAX_ENGINES = 200
RULE = "1 to 64 characters of a-z, 0-9, _ and +"


def described(*names):
    return [{"name": name, "cost": 1, "ops": ["Relu"]} for name in names]


def composite(name, *members):
    return {"described_engines": described("a", "b"),
            "composites": [{"name": name, "members": list(members)}]}


def graph_text(engines):
    lines = "".join("  %%v%d: f32[4] = Relu(%%v%d) placement {engine = %s}\n" %
                    (i + 1, i, json.dumps(name)) for i, name in enumerate(engines))
    return "sluice 1 typed\ngraph @m(%%v0: f32[4]) -> (%%v%d) {\n%s}\n" % (len(engines), lines)


class Profiles(ProgramCase):
    def setUp(self):
        super().setUp()
        self.graph = self.path("graph.sg")
        self.write("graph.txt", graph_text(["host_cpu"]))
        self.program(0, "sluice-as", self.path("graph.txt"), "-o", self.graph)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def partition(self, code, profile, graph=None):
        text = profile if isinstance(profile, str) else json.dumps({**PROFILE, **profile})
        return self.program(code, "sluice-partition", "--profile=" + self.write("p.json", text),
                            graph or self.graph, "-o", self.path("out.sg"))

    def refused(self, profile, *parts):
        said = self.partition(3, profile)
        self.assertEqual(said.count(": error SL"), 1, said)
        self.assertLess(len(said), 2000)
        for part in ("p.json", "expected", *parts):
            self.assertIn(part, said)

    def test_contradictions(self):
        self.partition(0, {})
        self.partition(0, composite("a+b", "a", "b"))
        for profile, *parts in (
                ({"engines": ["rts", "host_cpu", "rts"]}, "engines", "'rts'", "once"),
                ({"engines": ["host_cpu", "npu"]}, "engines", "'npu'",
                 "aicore, rts, vector, host_cpu"),
                ({"described_engines": described("a", "a")}, "described_engines", "'a'", "once"),
                ({"described_engines": described("aicore")}, "described_engines", "'aicore'",
                 "another name"),
                ({"described_engines": described("host_cpu")}, "described_engines", "'host_cpu'"),
                ({"described_engines": described("none")}, "described_engines", "'none'"),
                ({"described_engines": [{"name": "a", "cost": 1, "ops": ["Rleu"]}]},
                 "described_engines", "'a'", "'Rleu'"),
                (composite("a+b"), "composites", "'a+b'", "there are 0", "at least 2"),
                (composite("a+b", "a"), "composites", "'a+b'", "there are 1", "at least 2"),
                (composite("a+b", "a", "a"), "'a+b'", "'a' is there twice"),
                (composite("a+b", "a", "c"), "'a+b'", "'c' is unknown"),
                (composite("a+b", "a", "a+b"), "'a+b'", "is a composite itself"),
                (composite("ab", "a", "b"), "'ab'", "expected several"),
                ({**composite("a+b", "a", "b"), "described_engines": described("a", "a+b")},
                 "described_engines", "'a+b'", "without +")):
            with self.subTest(profile):
                self.refused(profile, *parts)

    def test_a_key_given_twice(self):
        text = json.dumps(PROFILE)
        self.refused(text.replace('"l2_bytes"', '"l2_bytes": 1, "l2_bytes"'), "'l2_bytes'", "twice")
        self.refused(text.replace("{", '{"described_engines": [{"name": "a", "cost": 1, "cost": 2, '
                                  '"ops": []}], '), "'cost'", "twice")

    def test_names_that_are_none(self):
        for name in ("", " ", "a b", "A", "a\n", "a\x1b[31m", "\x00", "é", "a" * 65, "a" * 100000):
            with self.subTest(name[:70]):
                self.refused({"described_engines": described(name)}, "described_engines", RULE)
                said = self.program(3, "sluice-as", self.write("g.txt", graph_text([name])), "-o",
                                    self.path("g.sg"))
                self.assertIn("g.txt", said)
                self.assertFalse(any(ord(c) < 32 and c != "\n" for c in said), repr(said))

    def test_more_engines_than_there_may_be(self):
        names = ["e%d" % i for i in range(MAX_ENGINES + 1)]
        self.refused({"described_engines": described(*names)}, "name 203 engines",
                     "at most %d" % MAX_ENGINES)
        known = names[:MAX_ENGINES - 4]  # none, aicore, host_cpu and rts are always there
        text = self.write("g.txt", graph_text(known))
        self.program(0, "sluice-as", text, "-o", self.path("g.sg"))
        said = self.program(3, "sluice-as", self.write("more.txt", graph_text(names)), "-o",
                            self.path("more.sg"))
        for part in ("more.txt", "'e196'", "%d engines" % MAX_ENGINES):
            self.assertIn(part, said)
        # The graph has as many as there may be, and the profile one more.
        said = self.partition(3, {"described_engines": described("another")}, self.path("g.sg"))
        for part in ("g.sg", "the engine 'e195'", "%d engines" % MAX_ENGINES):
            self.assertIn(part, said)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["as", "partition"])
    unittest.main()
