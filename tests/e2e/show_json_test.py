#!/usr/bin/python3
"""`sluice-show --format=json` of a compiled model says what its text and its summary say.

usage: show_json_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import subprocess
import sys
import unittest

from programs import ProgramCase, need

MODELS = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "models", "make"
)

STRANGE = """sluice 1 typed
graph @main(%"in \\"\\\\\\x01\\xff": f32[2]) -> (%y) {
  %h: f32[2] = Cosh(%"in \\"\\\\\\x01\\xff") name "a\\tb"
  %y: f32[2] = Sinh(%h) name "\\xc3\\xa9"
}
"""


class ShowJson(ProgramCase):
    def show(self, model, *options):
        return self.program(0, "sluice-show", *options, model)

    def shown(self, model):
        return json.loads(self.show(model, "--format=json"))

    def compiled(self, name, *options, dims=()):
        subprocess.run([MODELS, "-o", self.folder, name, *options], check=True, capture_output=True)
        path = self.path(name + ".om")
        self.program(
            0,
            "sluice-compile",
            "-q",
            "--profile=cpu-avx2",
            *dims,
            self.path(name + ".onnx"),
            "-o",
            path,
        )
        return path

    def column(self, text, name):
        """All values of a repeated field, in the order of the text."""
        return [value.strip('"') for value in re.findall(rf"^ *{name}: (.*)$", text, re.M)]

    def check_columns(self, model):
        shown, text = self.shown(model), self.show(model)
        values = [value for part in shown["parts"] for value in part["values"]]
        tasks = [task for part in shown["parts"] for task in part["tasks"]]
        self.assertEqual(
            [value["offset"] for value in values],
            [int(n) for n in self.column(text, "value_offset")],
        )
        self.assertEqual(
            [value["bytes"] for value in values], [int(n) for n in self.column(text, "value_bytes")]
        )
        self.assertEqual(
            [f"TASK_{task['kind'].upper()}" for task in tasks], self.column(text, "task_kind")
        )
        self.assertEqual(
            [task["node"] for task in tasks], [int(n) for n in self.column(text, "task_node")]
        )
        operands = [
            4294967295 if one is None else one
            for task in tasks
            for one in task["writes"] + task["reads"]
        ]
        self.assertEqual(operands, [int(n) for n in self.column(text, "operand")])
        self.assertEqual(
            [kernel["entry"] for kernel in shown["kernels"]], self.column(text, "entry")
        )
        return shown

    def check_summary(self, model, shown):
        summary = self.show(model, "--summary")
        self.assertIn(f"nodes: {len(shown['nodes'])}\n", summary)
        counts = {}
        for node in shown["nodes"]:
            counts[node["engine"]] = counts.get(node["engine"], 0) + 1
        self.assertIn(
            "engines: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) + "\n",
            summary,
        )
        self.assertIn(
            f"weights: {shown['bytes']['weights']} bytes, kernels: {len(shown['kernels'])} "
            f"with {shown['bytes']['kernels']} bytes",
            summary,
        )
        for memory in (part["memory"] for part in shown["parts"]):
            self.assertIn(
                f"arena: {memory['arena_bytes']} bytes, "
                f"scratch: {memory['scratch_bytes_per_worker']} bytes for each thread",
                summary,
            )
        self.assertEqual(shown["bytes"]["file"], os.path.getsize(model))

    def test_fixed_model(self):
        model = self.compiled("tiny-conv")
        shown = self.check_columns(model)
        self.check_summary(model, shown)
        self.assertEqual(
            shown["inputs"],
            [{"name": "input", "type": {"kind": "tensor", "dtype": "f32", "dims": [1, 3, 17, 15]}}],
        )
        self.assertNotIn("root", shown)
        named = {entry["name"]: entry for entry in shown["nodes"]}
        conv = named["/conv3/Conv"]
        self.assertEqual(
            (conv["op"], conv["engine"], len(conv["kernels"])), ("Fused(Conv)", "aicore", 1)
        )
        self.assertIn("/bn3/BatchNormalization", conv["from"])
        self.assertEqual(
            list(shown),
            [
                "version",
                "profile",
                "isa",
                "options",
                "bytes",
                "inputs",
                "outputs",
                "states",
                "dims",
                "nodes",
                "kernels",
                "parts",
            ],
        )
        self.assertEqual(self.show(model, "--format=json"), self.show(model, "--format=json"))

    def test_open_model(self):
        model = self.compiled("tiny-conv", "--dynamic", dims=["--dim=N=1..4"])
        shown = self.check_columns(model)
        self.check_summary(model, shown)
        self.assertEqual(shown["dims"], [{"name": "N", "low": 1, "high": 4, "multiple_of": 1}])
        self.assertEqual(shown["inputs"][0]["type"]["dims"], ["N", 3, 17, 15])
        self.assertEqual(shown["parts"][0]["sizes"], "symbolic")
        self.assertEqual(shown["root"]["first_node"] + shown["root"]["nodes"], len(shown["nodes"]))

    def test_names_of_any_bytes_and_standard_input(self):
        with open(self.path("g.txt"), "w", encoding="ascii") as file:
            file.write(STRANGE)
        self.program(0, "sluice-as", self.path("g.txt"), "-o", self.path("g.sg"))
        self.program(0, "sluice-compile", "-q", self.path("g.sg"), "-o", self.path("m.om"))
        shown = self.shown(self.path("m.om"))
        self.assertEqual(shown["inputs"][0]["name"], 'in "\\\x01\ufffd')
        self.assertEqual([node["name"] for node in shown["nodes"]], ["a\tb", "é"])
        with open(self.path("m.om"), "rb") as model:
            piped = subprocess.run(
                [os.path.join(self.programs, "sluice-show"), "--format=json"],
                stdin=model,
                capture_output=True,
                check=True,
            )
        self.assertEqual(json.loads(piped.stdout), shown)

    def test_damaged_model(self):
        model = self.compiled("tiny-mlp")
        with open(model, "r+b") as file:
            file.truncate(4000)
        self.assertIn("error SL7001", self.program(3, "sluice-show", "--format=json", model))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["as", "compile", "show"])
    unittest.main(verbosity=2)
