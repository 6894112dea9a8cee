#!/usr/bin/python3
"""Streams that the compiler chooses on a CPU: models of branches get two, compute what they do in
one stream, in every order, and are drawn over time.

usage: cpu_streams_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

from programs import ProgramCase, bytes_of, need

MAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/models/make")
MODELS = ["two-lstms", "encoder-pair", "detection-head", "four-answers"]
MODES = ["", "--multi-stream-parallel-mode=LoadBalance:3",
         "--multi-stream-parallel-mode=MainStream:4", "--sync=notify"]
SVG = "{http://www.w3.org/2000/svg}"


class CpuStreams(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.models)
        subprocess.run([MAKE, *MODELS, "-o", cls.models], check=True, capture_output=True)

    def compiled(self, name, *options):
        """The scheduled graph and the compiled model."""
        graph, model = self.path(f"{name}.sg"), self.path(f"{name}.om")
        self.program(0, "sluice", "compile", "-q", "--profile=cpu-avx2",
                     os.path.join(self.models, name + ".onnx"), "-o", graph,
                     "--stop-after=build:plan-memory", *options)
        self.program(0, "sluice", "compile", "-q", graph, "-o", model)
        return graph, model

    def streams(self, graph):
        table = self.program(0, "sluice-show", "--schedule", graph)
        return re.match(r"main: \d+ tasks, streams: (.*), buffers", table)[1].split(", ")

    def values(self, model, *options):
        folder = self.path("values")
        self.program(0, "sluice-loader", model, "--random=5", "-q", "--output-dir=" + folder,
                     *options)
        return {name: bytes_of(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}

    def test_same_values_in_every_order(self):
        for name in MODELS:
            graph, model = self.compiled(name, "--enable-single-stream")
            self.assertEqual(self.streams(graph), ["main"])
            wanted = self.values(model, "--threads=1")
            for mode in MODES:
                graph, model = self.compiled(name, *filter(None, [mode]))
                self.assertGreater(len(self.streams(graph)), 1, (name, mode))
                self.program(0, "sluice-verify", "--memory", model)
                runs = ["--threads=1", "--threads=2", "--threads=4"]
                runs += [f"--schedule-seed={seed}" for seed in range(5)]
                for run in runs:
                    self.assertEqual(self.values(model, run), wanted, (name, mode, run))

    def test_pictures_have_every_task(self):
        graph, model = self.compiled("encoder-pair")
        table = self.program(0, "sluice-show", "--schedule", graph).splitlines()
        tasks = [line for line in table[2:] if not line.startswith("-")]
        trace = self.path("trace.json")
        self.program(0, "sluice-loader", model, "--random", "-q", "--trace=" + trace)
        for times in ([], ["--trace=" + trace]):
            picture = self.path("picture.svg")
            self.program(0, "sluice-show", "--schedule", "--format=svg", *times, graph, "-o",
                         picture)
            root = xml.parse(picture).getroot()
            bars = root.findall(f"{SVG}rect")
            self.assertEqual(len(bars), len(tasks))
            self.assertGreater(sum(float(bar.get("width")) for bar in bars), 300)
            self.assertEqual(len(root.findall(f"{SVG}line[@class='wait']")), 1)

    def drawn(self, text, *options):
        """The picture of a graph in text, with the times of a run of it."""
        graph, model, trace = (self.path("two." + end) for end in ("sg", "om", "json"))
        with open(self.path("two.txt"), "w", encoding="utf-8") as file:
            file.write("sluice 1 lowered after subgraph-optimize\n" + text)
        self.program(0, "sluice-as", self.path("two.txt"), "-o", self.path("in.sg"))
        self.program(0, "sluice-build", self.path("in.sg"), "--stop-after=plan-memory", "-o", graph)
        self.program(0, "sluice-build", graph, "-o", model)
        self.program(0, "sluice-loader", model, "--random", "-q", "--trace=" + trace)
        self.program(0, "sluice-show", "--schedule", "--format=svg", "--trace=" + trace, graph,
                     "-o", self.path("two.svg"))
        return xml.parse(self.path("two.svg")).getroot()

    def test_labels_and_names_of_any_kind(self):
        for label in ("root", "part 7 ", "part 4000000000", "\\xff\\xfe", "<&>'"):
            root = self.drawn(
                "graph @main(%x: f32[64], %z: f32[64]) -> (%y) {\n"
                "  %a: f32[64] = Sin(%x) placement "
                f'{{engine = host_cpu, stream_label = "{label}"}} name "\\xed\\xa0\\x80"\n'
                '  %b: f32[64] = Cos(%z) placement {engine = host_cpu, stream_label = "b"}\n'
                '  %y: f32[64] = Add(%a, %b) placement '
                '{engine = host_cpu, stream_label = "b"}\n}\n')
            for bar in root.findall(f"{SVG}rect"):
                title = bar.find(f"{SVG}title").text
                self.assertNotIn("0.00 to 0.00", title, label)

    def test_traces_that_are_none(self):
        graph, _ = self.compiled("two-lstms")
        _, other = self.compiled("encoder-pair")
        self.program(0, "sluice-loader", other, "--random", "-q",
                     "--trace=" + self.path("other.json"))
        self.assertIn("the graph has not", self.failed(
            "sluice-show", "--schedule", "--format=svg", "--trace=" + self.path("other.json"),
            graph))
        for content in ("", "[]", "{}", '{"traceEvents": 3}', '{"traceEvents": [1, {"args": 2}]}',
                        '{"traceEvents": [{"ts": "x", "dur": 1, "args": {"part": 0, "task": 0}}]}',
                        '{"traceEvents": [{"ts": 1e308, "dur": 1e308, '
                        '"args": {"part": 0, "task": 0}}]}',
                        '{"traceEvents": [{"ts": 1, "dur": 1, '
                        '"args": {"part": 300000000, "task": 0}}]}'):
            with open(self.path("trace.json"), "w", encoding="utf-8") as file:
                file.write(content)
            said = self.failed("sluice-show", "--schedule", "--format=svg",
                               "--trace=" + self.path("trace.json"), graph)
            self.assertIn("trace.json", said)
            self.assertIn("hint:", said)
        self.assertIn("--schedule --format=svg", self.failed("sluice-show", "--trace=x", graph))

    def test_estimates_stand_beside_times(self):
        _, model = self.compiled("four-answers")
        bench = json.loads(self.program(0, "sluice", "bench", model, "--json", "--runs=3"))
        self.assertGreater(len(bench["nodes"]), 20)
        for node in bench["nodes"]:
            self.assertGreater(node["estimated_cycles"], 0, node)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["show", "loader", "verify"])
    unittest.main(verbosity=2)
