"""Scheduled models of many kinds: pieces of a Concat and a Split, copies, streams, rows in wider
rows, symbolic sizes. Their texts are what a test may edit, `Schedule.build` makes a model of such a
text."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
from onnx import helper

import models
from models import floats

HOST = "placement {engine = host_cpu}"
PEER = 'placement {engine = host_cpu, memory_class = "p2p"}'
LEFT = 'placement {engine = host_cpu, stream_label = "left"}'
RIGHT = 'placement {engine = host_cpu, stream_label = "right"}'

MIDDLE = 'placement {engine = host_cpu, stream_label = "middle"}'
ON_STREAM = 'placement {engine = host_cpu, stream_label = "s%d"}'

# Three streams that wait for each other again and again: events are recorded several times.
EVENTS = f"""graph @main(%x: f32[32]) -> (%y, %z) {{
  %a: f32[32] = Sin(%x) {LEFT}
  %b: f32[32] = Cos(%a) {RIGHT}
  %c: f32[32] = Neg(%a) {MIDDLE}
  %d: f32[32] = Add(%b, %c) {LEFT}
  %e: f32[32] = Exp(%d) {MIDDLE}
  %f: f32[32] = Abs(%d) {RIGHT}
  %g: f32[32] = Mul(%e, %f) {LEFT}
  %h: f32[32] = Sub(%e, %b) {RIGHT}
  %i: f32[32] = Sin(%g) {MIDDLE}
  %j: f32[32] = Add(%i, %h) {RIGHT}
  %k: f32[32] = Neg(%i) {LEFT}
  %l: f32[32] = Cos(%k) {MIDDLE}
  %y: f32[32] = Sub(%l, %j) {LEFT}
  %z: f32[32] = Mul(%j, %k) {RIGHT}
}}"""
# A device whose streams take only a few tasks, of which it keeps 27 for itself.
FEW_TASKS = {"name": "few", "isa": "generic", "llvm_cpu": "x86-64", "llvm_features": "",
             "vector_bits": 128, "vector_registers": 16, "fused_multiply_add": False,
             "l2_bytes": 262144, "scratch_limit": 1048576, "engines": ["host_cpu", "rts"],
             "max_tasks_per_stream": 27 + 9}
FEW_TASKS_OPTION = f'option "profile" = {json.dumps(json.dumps(FEW_TASKS))}\n'
NOTIFY_OPTION = 'option "sync" = "notify"\n'



def wide_text(streams=5, rounds=3):
    """Streams beside each other, each of which reads its neighbour's last result."""
    lines = [f"  %v0_{s}: f32[32] = Sin(%x) {ON_STREAM % s}" for s in range(streams)]
    lines += [f"  %v{r}_{s}: f32[32] = Add(%v{r - 1}_{s}, %v{r - 1}_{(s + 1) % streams}) "
              f"{ON_STREAM % s}" for r in range(1, rounds) for s in range(streams)]
    last = ", ".join(f"%v{rounds - 1}_{s}" for s in range(streams))
    lines.append(f"  %y: f32[32] = Sum({last}) {ON_STREAM % 0}")
    return "graph @main(%x: f32[32]) -> (%y) {\n" + "\n".join(lines) + "\n}"


TEXTS = {
    "chain": f"""graph @main(%x: f32[48]) -> (%y) {{
  %w = constant f32[48] splat 0.5
  %a: f32[48] = Neg(%x) {HOST}
  %b: f32[48] = Sin(%a) {HOST}
  %c: f32[48] = Add(%a, %b) {HOST}
  %d: f32[48] = Mul(%c, %w) {HOST}
  %e: f32[48] = Cos(%d) {HOST}
  %f: f32[48] = Sub(%e, %a) {HOST}
  %y: f32[48] = Add(%f, %d) {HOST}
}}""",
    "pieces": f"""graph @main(%x: f32[32]) -> (%y, %z) {{
  %a: f32[32] = Neg(%x) {HOST}
  %b: f32[16], %c: f32[16] = Split(%a) {{axis = 0, num_outputs = 2}} {HOST}
  %d: f32[16] = Sin(%c) {HOST}
  %e: f32[48] = Concat(%b, %c, %d) {{axis = 0}} {HOST}
  %y: f32[48] = Abs(%e) {HOST}
  %f: f32[32] = Concat(%b, %d) {{axis = 0}} {HOST}
  %z: f32[32] = Cos(%f) {HOST}
}}""",
    "views": f"""graph @main(%x: f32[64]) -> (%y, %z) {{
  %s = constant i64[2] [1, 64]
  %t = constant i64[1] [128]
  %a: f32[64] = Neg(%x) {HOST}
  %v: f32[1, 64] = Reshape(%a, %s) placement {{engine = host_cpu, _no_task}}
  %b: f32[64] = Sin(%x) {HOST}
  %w: f32[1, 64] = Reshape(%b, %s) placement {{engine = host_cpu, _no_task}}
  %c: f32[2, 64] = Concat(%v, %w) {{axis = 0}} {HOST}
  %r: f32[128] = Reshape(%c, %t) placement {{engine = host_cpu, _no_task}}
  %y: f32[128] = Cos(%r) {HOST}
  %z: f32[64] = Exp(%b) {HOST}
}}""",
    "copies": f"""graph @main(%x: f32[16]) -> (%y, %z, %a, %x) {{
  %a: f32[16] = Neg(%x) {HOST}
  %c: f32[32] = Concat(%a, %a) {{axis = 0}} {HOST}
  %y: f32[32] = Cos(%c) {HOST}
  %d: f32[32] = Concat(%x, %a) {{axis = 0}} {HOST}
  %e: f32[32] = Exp(%d) {HOST}
  %f: f32[64] = Concat(%c, %c) {{axis = 0}} {HOST}
  %g: f32[64] = Sin(%f) {HOST}
  %h: f32[32], %i: f32[32] = Split(%g) {{axis = 0, num_outputs = 2}} {HOST}
  %j: f32[64] = Concat(%i, %h) {{axis = 0}} {HOST}
  %k: f32[64] = Sin(%j) {HOST}
  %z: f32[96] = Concat(%k, %e) {{axis = 0}} {HOST}
}}""",
    "more copies": f"""graph @main(%x: f32[16]) -> (%y, %z) {{
  %a: f32[16] = Neg(%x) {HOST}
  %b: f32[16] = Sin(%x) {HOST}
  %c: f32[64] = Concat(%a, %a, %b, %x) {{axis = 0}} {HOST}
  %d: f32[64] = Exp(%c) {HOST}
  %e: f32[32], %f: f32[32] = Split(%d) {{axis = 0, num_outputs = 2}} {HOST}
  %g: f32[64] = Concat(%f, %e) {{axis = 0}} {HOST}
  %y: f32[64] = Sin(%g) {HOST}
  %h: f32[128] = Concat(%g, %d) {{axis = 0}} {HOST}
  %z: f32[128] = Cos(%h) {HOST}
}}""",
    "given": f"""graph @main(%x: f32[16], %u: f32[16]) -> (%y, %z, %u) {{
  %w = constant f32[16] splat 0.5
  %a: f32[16] = Neg(%x) {HOST}
  %c: f32[64] = Concat(%x, %w, %a, %u) {{axis = 0}} {HOST}
  %d: f32[64] = Sin(%c) {HOST}
  %e: f32[32], %f: f32[32] = Split(%d) {{axis = 0, num_outputs = 2}} {HOST}
  %g: f32[112] = Concat(%f, %u, %e, %f) {{axis = 0}} {HOST}
  %y: f32[112] = Exp(%g) {HOST}
  %z: f32[96] = Concat(%e, %x, %a, %e) {{axis = 0}} {HOST}
}}""",
    "classes": f"""option "profile" = "sim-910b"
graph @main(%x: f32[300]) -> (%y, %z) {{
  %a: f32[300] = Neg(%x) {HOST}
  %p: f32[300] = Sin(%x) {PEER}
  %q: f32[300] = Cos(%p) {PEER}
  %b: f32[300] = Mul(%a, %q) {HOST}
  %c: f32[600] = Concat(%p, %q) {{axis = 0}} {PEER}
  %d: f32[600] = Abs(%c) {PEER}
  %e: f32[300], %f: f32[300] = Split(%d) {{axis = 0, num_outputs = 2}} {PEER}
  %g: f32[300] = Add(%b, %e) {HOST}
  %y: f32[300] = Sub(%g, %f) {HOST}
  %z: f32[300] = Mul(%g, %a) {HOST}
}}""",
    "streams": f"""graph @main(%x: f32[64], %z: f32[64]) -> (%y, %w) {{
  %a: f32[64] = Sin(%x) {LEFT}
  %b: f32[64] = Cos(%z) {RIGHT}
  %c: f32[128] = Concat(%a, %b) {{axis = 0}} {RIGHT}
  %d: f32[128] = Neg(%c) {RIGHT}
  %e: f32[64], %f: f32[64] = Split(%d) {{axis = 0, num_outputs = 2}} {LEFT}
  %g: f32[64] = Abs(%e) {LEFT}
  %h: f32[64] = Add(%a, %f) {RIGHT}
  %i: f32[64] = Mul(%g, %h) {LEFT}
  %j: f32[64] = Sin(%i) {RIGHT}
  %w: f32[64] = Exp(%i) {LEFT}
  %y: f32[64] = Sub(%j, %w) {RIGHT}
}}""",
    "events": EVENTS,
    "notifies": NOTIFY_OPTION + EVENTS,
    "wide": wide_text(),
    "wide notifies": NOTIFY_OPTION + wide_text(),
    "split": FEW_TASKS_OPTION + EVENTS,
}


def model_of(nodes, inputs, outputs, weights):
    return models.model_of(nodes, [floats(*row) for row in inputs],
                           [floats(name) for name in outputs], weights)


def weights_of(**dims):
    """Small numbers by name, the same in every run."""
    random = np.random.default_rng(0)
    return {name: random.standard_normal(shape, np.float32) * np.float32(.2)
            for name, shape in dims.items()}


def rows_model(rows):
    """Channels innermost: pieces are rows in wider rows; Concats and a Split. `rows` of the image:
    a number or the name of an open dim."""
    node = helper.make_node
    nodes = [node("Conv", ["x", "w0"], ["c0"], pads=[1] * 4),
             node("Conv", ["x", "w1"], ["c1"], pads=[1] * 4),
             node("Concat", ["c0", "c1"], ["k"], axis=1), node("Relu", ["k"], ["y"]),
             node("Split", ["k"], ["s0", "s1"], axis=1),
             node("Conv", ["s0", "w2"], ["c2"], pads=[1] * 4), node("Sigmoid", ["s1"], ["z"]),
             node("Concat", ["c2", "s1"], ["o"], axis=1),
             node("Conv", ["o", "w3"], ["q0"], pads=[1] * 4),
             node("Concat", ["s1", "q0", "c2", "s0"], ["p"], axis=1),
             node("Conv", ["p", "w4"], ["q"], pads=[1] * 4)]
    return model_of(nodes, [("x", [1, 8, rows, 18])], ["y", "z", "q"],
                    weights_of(w0=(16, 8, 3, 3), w1=(16, 8, 3, 3), w2=(16, 16, 3, 3),
                               w3=(16, 32, 3, 3), w4=(8, 64, 3, 3)))


def dense_model(rows):
    """A Concat and a Split along the first axis of `rows`, a number or the name of an open dim."""
    node = helper.make_node
    nodes = [node("Relu", ["x"], ["a"]), node("MatMul", ["x", "w"], ["b"]),
             node("Concat", ["a", "b"], ["k"], axis=0), node("Softmax", ["k"], ["y"]),
             node("Split", ["k"], ["s", "t"], axis=0), node("Exp", ["s"], ["e"]),
             node("Tanh", ["t"], ["u"]), node("MatMul", ["e", "u2"], ["p"]),
             node("Add", ["p", "u"], ["z"])]
    return model_of(nodes, [("x", [rows, 16])], ["y", "z"], weights_of(w=(16, 16), u2=(16, 16)))


def products_model():
    """Kernels that read their operand in another order than they write their result."""
    node = helper.make_node
    nodes = [node("Relu", ["x"], ["a"]), node("MatMul", ["a", "w"], ["b"]),
             node("Transpose", ["b"], ["c"], perm=[1, 0]), node("Softmax", ["c"], ["d"]),
             node("MatMul", ["d", "w"], ["e"]), node("Add", ["e", "d"], ["y"])]
    return model_of(nodes, [("x", [16, 16])], ["y"], weights_of(w=(16, 16)))


MODELS = {"products": (products_model, []), "rows": (lambda: rows_model(12), []),
          "dense": (lambda: dense_model(130), []),
          "bounded": (lambda: dense_model("N"), ["--dim=N=1..130"]),
          "open": (lambda: dense_model("N"), []),
          "bounded rows": (lambda: rows_model("N"), ["--dim=N=1..24"]),
          "open rows": (lambda: rows_model("N"), [])}
KINDS = [*TEXTS, *MODELS]


class Schedule:
    """A model's schedule, as text, and what the model computes."""

    def __init__(self, programs, folder, kind):
        self.programs, self.folder, self.kind = programs, folder, kind
        self.base = os.path.join(folder, kind + ".sg")  # its constants and kernels
        self.make(self.base, "plan-memory")
        self.text = self.show(self.base)
        unplanned = os.path.join(folder, kind + ".unplanned.sg")
        self.make(unplanned, "assign-buffers")
        self.unplanned = self.show(unplanned)
        streamed = os.path.join(folder, kind + ".streamed.sg")
        self.make(streamed, "reuse-events")
        self.streamed = self.show(streamed)

    def program(self, name, *arguments, text=None):
        """(exit code, standard output, standard error)"""
        done = subprocess.run([os.path.join(self.programs, "sluice-" + name), *arguments],
                              input=text, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def need(self, name, *arguments, text=None):
        code, printed, reported = self.program(name, *arguments, text=text)
        if code != 0:
            raise RuntimeError(f"{self.kind}: {name}: exit code {code}: {reported}")
        return printed

    def make(self, path, last_pass):
        if self.kind in TEXTS:
            lowered = path + ".lowered"
            self.need("as", "-", "-o", lowered, text="sluice 1 lowered after subgraph-optimize\n" +
                      TEXTS[self.kind] + "\n")
            self.need("build", lowered, "--segments=inline", "--stop-after=" + last_pass, "-o",
                      path)
            return
        make, options = MODELS[self.kind]
        models.write(path + ".onnx", make())
        self.need("compile", "-q", "--profile=cpu-generic", path + ".onnx", *options,
                  "--stop-after=build:" + last_pass, "-o", path)

    def show(self, path):
        return self.need("show", "--header", path)

    def feeds(self, seed):
        """Inputs of one size; another seed has other numbers, and where it may, another size."""
        random = np.random.default_rng(seed)
        dims = {"rows": {"x": (1, 8, 12, 18)}, "chain": {"x": (48,)}, "pieces": {"x": (32,)},
                "views": {"x": (64,)}, "copies": {"x": (16,)}, "more copies": {"x": (16,)},
                "classes": {"x": (300,)}, "given": {"x": (16,), "u": (16,)},
                "streams": {"x": (64,), "z": (64,)}, "events": {"x": (32,)},
                "notifies": {"x": (32,)}, "split": {"x": (32,)}, "wide": {"x": (32,)},
                "wide notifies": {"x": (32,)},
                "dense": {"x": (130, 16)}, "products": {"x": (16, 16)}}
        size = 1 + seed % 8
        own = dims.get(self.kind, {"x": (1, 8, size, 18) if "rows" in self.kind else (size, 16)})
        return {name: random.uniform(-1, 1, shape).astype(np.float32)
                for name, shape in own.items()}

    def evaluate(self, feeds, graph):
        """What sluice-eval makes of the schedule in a file."""
        folder = os.path.join(self.folder, "meant-" + self.kind)
        inputs = os.path.join(self.folder, "inputs.npz")
        np.savez(inputs, **feeds)
        shutil.rmtree(folder, ignore_errors=True)
        self.need("eval", graph, "--input=" + inputs, "--output-dir=" + folder)
        return {os.path.splitext(name)[0]: np.load(os.path.join(folder, name))
                for name in os.listdir(folder)}


def run_model(programs, path, many_feeds, threads):
    """The outputs for each feeds, as lists of (name, dims, bytes), in one run whose memory held
    not-a-numbers of the same sizes before each."""
    if os.path.join(programs, "..", "lib") not in sys.path:
        sys.path.insert(0, os.path.join(programs, "..", "lib"))
    import sluice
    with sluice.Model(path) as model:
        run = model.run(threads=threads)
        found = []
        for feeds in many_feeds:
            run({name: np.full_like(array, np.nan) for name, array in feeds.items()})
            found.append(run(feeds))
    return found
