#!/usr/bin/python3
"""Bad input, whatever the program: one clear error, the right exit code, no crash, no hang, nothing
left under a final name.

usage: bad_input_test.py FOLDER_OF_PROGRAMS [unittest arguments]

What only one reader knows is tested beside it: common/graphfile, common/text, common/tensorfile,
stages/preprocess/onnx, runtime/loader, common/wire; kills are in kill_test.py, failures passed on
between programs in transport_test.py.
"""
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

import models
from models import external, model_of, model_of_graph, value
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "--profile=cpu-generic"
DEEP = 10000
NOBODY = 65534


def program(name):
    return os.path.join(ProgramCase.programs, "sluice-" + name)


def constant(name, elements, dtype=np.int64):
    return models.constant(name, np.array(elements, dtype))


def model_bytes(*parts):
    return model_of(*parts).SerializeToString()


def small_model():
    weights = np.random.default_rng(1).standard_normal((8, 800), np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "mul"),
             helper.make_node("Relu", ["a"], ["y"], "act")]
    return model_bytes(nodes, [value("x", [2, 8])], [value("y", [2, 800])],
                       [constant("w", weights, np.float32)])


def one_node(op, dims, *constants, **attributes):
    """A model whose node 'n' reads x, of these dims, and the constants."""
    node = helper.make_node(op, ["x", *(tensor.name for tensor in constants)], ["y"], "n",
                            **attributes)
    return model_bytes([node], [value("x", dims)], [value("y", None)], constants)


# Protobuf by hand: Python's own refuses what is nested deeply.


def varint(number):
    head = b""
    while number > 127:
        head += bytes([number & 127 | 128])
        number >>= 7
    return head + bytes([number])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def nested(core, depth, layers):
    """The core within all layers, the innermost first, and so on `depth` times. A layer (number,
    before, after, behind) is a field of that number which holds `before`, the inner and `after`;
    `behind` follows it. Bytes are joined once: else a deep nest takes a minute."""
    heads, tails, size = [], [], len(core)
    for number, before, after, behind in layers * depth:
        heads.append(varint(number << 3 | 2) + varint(len(before) + size + len(after)) + before)
        tails.append(after + behind)
        size += len(heads[-1]) + len(tails[-1])
    return b"".join([*reversed(heads), core, *tails])


def nested_ifs(depth):
    output = value("z", [1]).SerializeToString()
    ends = field(2, b"g") + field(12, output)
    leaf = (field(1, helper.make_node("Identity", ["x"], ["z"]).SerializeToString()) +
            field(2, b"leaf") + field(12, output))
    is_graph = varint(20 << 3) + varint(5)
    branch = lambda name, graph: field(5, field(1, name) + field(6, graph) + is_graph)
    names = field(1, b"c") + field(2, b"z") + field(4, b"If")
    graph = nested(leaf, depth, [(6, b"", b"", b""), (5, field(1, b"then_branch"), is_graph, b""),
                                 (1, names, branch(b"else_branch", leaf), ends)])
    graph += (field(11, value("x", [1]).SerializeToString()) +
              field(11, value("c", [], TensorProto.BOOL).SerializeToString()))
    return whole_model(graph)


def nested_sequences(depth):
    kind = nested(value("x", [1]).type.SerializeToString(), depth,
                  [(1, b"", b"", b""), (4, b"", b"", b"")])
    x = field(1, b"x") + field(2, kind)
    node = helper.make_node("Identity", ["x"], ["y"], "n").SerializeToString()
    return whole_model(field(1, node) + field(2, b"g") + field(11, x) + field(12, field(1, b"y")))


def whole_model(graph):
    return varint(1 << 3) + varint(8) + field(7, graph) + field(8, varint(2 << 3) + varint(13))


def chained_functions(depth):
    """f0 calls f1 calls f2 …"""
    functions = []
    for k in range(depth):
        last = k + 1 == depth
        node = (helper.make_node("Relu", ["a"], ["b"]) if last
                else helper.make_node("f%d" % (k + 1), ["a"], ["b"], domain="d"))
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid("d", 1)]
        functions.append(helper.make_function("d", "f%d" % k, ["a"], ["b"], [node], opsets))
    graph = helper.make_graph([helper.make_node("f0", ["x"], ["y"], "n", domain="d")], "g",
                              [value("x", [1])], [value("y", [1])])
    return model_of_graph(graph, functions=functions, domains={"d": 1}).SerializeToString()


def nested_bodies(depth):
    """The text of a graph whose Ifs own Ifs."""
    body = "(%c: bool[], %x: f32[1]) -> (%z) body captures 2 {\n"
    inner = lambda k: ("  %%z: f32[1] = If(%%c, %%c, %%x) {else_branch = @e%d, then_branch = "
                       "@t%d}\n}\n" % (k, k))
    leaf = "  %z: f32[1] = Identity(%x)\n}\n"
    text = ["sluice 1 typed\ngraph @main(%x: f32[1], %c: bool[]) -> (%z) {\n" + inner(0)]
    for k in range(depth):
        text.append("graph @e%d%s%s" % (k, body, leaf))
        text.append("graph @t%d%s%s" % (k, body, inner(k + 1) if k + 1 < depth else leaf))
    return "".join(text)


class BadInput(ProgramCase):
    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def files(self):
        return sorted(os.path.join(where, name) for where, _, names in os.walk(self.folder)
                      for name in names)

    def call(self, name, *arguments, **how):
        """Under limits that end a program which runs away before the machine feels it."""
        prepare = how.pop("prepare", lambda: None)

        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
            prepare()

        how = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
        return subprocess.run([program(name), *arguments], stderr=subprocess.PIPE, timeout=60,
                              preexec_fn=limit, **how)

    def succeeds(self, name, *arguments, **how):
        result = self.call(name, *arguments, **how)
        self.assertEqual(result.returncode, 0, (name, arguments, result.stderr))
        return result

    def refused(self, code, number, says, name, *arguments, **how):
        """The program ends with the exit code and one error that holds every text of `says`, and
        makes no file."""
        before = self.files()
        result = self.call(name, *arguments, **how)
        errors = result.stderr.decode(errors="replace")
        codes = (3, 5) if code is None else (code,)  # which depends on the system
        self.assertIn(result.returncode, codes, (name, arguments, errors))
        self.assertEqual(errors.count("error SL"), 1, (name, arguments, errors))
        self.assertIn("error SL%d" % number if number else "error SL", errors, (name, arguments))
        for text in says:
            self.assertIn(text, errors, (name, arguments))
        self.assertLess(len(errors), 4000, (name, arguments))
        self.assertEqual(self.files(), before, (name, arguments))
        return errors

    def never_crashes(self, name, *arguments):
        """Whether the input is taken or not: the codes of the table but that of our own
        mistakes."""
        result = self.call(name, *arguments)
        self.assertIn(result.returncode, (0, 3, 4, 5, 7), (name, arguments, result.stderr))
        return result.returncode

    def compiled(self):
        """A good file of every kind: model.onnx, the graphs of --dump-dir, graph.txt and
        model.om."""
        model, out = self.path("model.onnx", small_model()), self.path("model.om")
        self.succeeds("compile", "-q", PROFILE, model, "-o", out, "--dump-dir", self.path("dump"))
        graphs = [self.path("dump/%d-%s.sg" % (k + 1, stage)) for k, stage in enumerate(STAGES[:4])]
        text = self.path("graph.txt")
        self.succeeds("show", graphs[0], "-o", text)
        return model, graphs, text, out

    def readers(self, path, kind):
        """Programs that read a file of a kind, as command lines that would write to out."""
        out = ["-o", self.path("out")]
        return {"onnx": [["preprocess", path, *out], ["compile", "-q", path, *out]], "graph": [
            *([stage, path, *out] for stage in STAGES[1:]), ["show", path, *out],
            ["show", "--format=dot", path, *out], ["verify", path], ["verify", "--segments", path],
            ["eval", "--random", "--output-dir", self.path("values"), path], ["diff", path, path]],
                "om": [["loader", "--random", "--output-dir", self.path("values"), path],
                       ["show", path, *out], ["verify", path], ["verify", "--segments", path]],
                "text": [["as", path, *out]]}[kind]

    # Files that are not what they should be

    def test_files_of_nothing_and_of_anything(self):
        noise = random.Random(1).randbytes(5000)
        contents = [b"", b"\n", b"nonsense\n", bytes(5000), noise, b"SLUICEG1", b"SLUICEG1" + noise,
                    b"SLUICEOM" + noise, b"\x7fELF" + noise]
        for content in contents:
            path = self.path("file", content)
            for kind in ("onnx", "graph", "om", "text"):
                for command in self.readers(path, kind):
                    if os.path.exists(self.path("values")):
                        os.rmdir(self.path("values"))
                    self.refused(3, None, ["file"], *command)

    def test_truncated_files(self):
        model, graphs, text, om = self.compiled()
        part = self.path("part")
        for kind, path in (("onnx", model), ("graph", graphs[3]), ("om", om), ("text", text)):
            whole = bytes_of(path)
            for size in (1, 7, 64, 127, 128, 129, len(whole) // 3, len(whole) // 2, len(whole) - 9,
                         len(whole) - 1):
                self.path("part", whole[:size])
                first = self.readers(part, kind)[0]
                codes = ({self.never_crashes(*command) for command in self.readers(part, kind)}
                         if size == len(whole) // 2 else {self.never_crashes(*first)})
                if kind != "text":
                    self.assertEqual(codes, {3}, (kind, size))
                self.assertTrue(kind == "text" or not os.path.exists(self.path("out")),
                                (kind, size))

    def test_flipped_bits(self):
        model, graphs, text, om = self.compiled()
        chance = random.Random(2)
        for kind, path in (("onnx", model), ("graph", graphs[0]), ("graph", graphs[3]), ("om", om),
                           ("text", text)):
            for _ in range(12):
                content = bytearray(bytes_of(path))
                where = chance.randrange(min(len(content), 2000))
                content[where] ^= 1 << chance.randrange(8)
                flipped = self.path("flipped", bytes(content))
                commands = self.readers(flipped, kind)
                self.never_crashes(*chance.choice(commands))
                if kind == "om":
                    self.refused(3, None, ["flipped"], "loader", flipped, "--random")

    def test_wrong_level(self):
        model, graphs, _, _ = self.compiled()
        accepted = {"optimize": (0, 1), "partition": (0, 1), "subgraph-optimize": (2,),
                    "build": (3,)}
        for stage, right in accepted.items():
            for k, graph in enumerate(graphs):
                if k not in right:
                    self.refused(3, 1002, ["needs level '", "', got '", "\nhint: "], stage, graph,
                                 "-o", self.path("out"))
            self.refused(3, None, ["hint: "], stage, model, "-o", self.path("out"))
        self.refused(3, None, [], "preprocess", graphs[0], "-o", self.path("out"))

    # External data

    def external_model(self, name, location, **where):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "mul")]
        return self.path(name, model_bytes(nodes, [value("x", [2, 8])], [value("y", [2, 800])],
                                           [external("w", [8, 800], location, **where)]))

    def test_external_data_that_leaves_the_folder(self):
        weights = np.random.default_rng(1).standard_normal((8, 800), np.float32).tobytes()
        self.path("data/w", weights)
        self.path("model/w", weights)
        self.path("model2/w", weights)  # 'model' is the beginning of its name
        for folder in ("data", "model"):
            os.symlink(self.path("data/w"), self.path(folder + "/outward"))
        os.symlink(self.path("data"), self.path("model/folder"))
        out = self.path("model.om")
        for location in ("../data/w", self.path("data/w"), "outward", "folder/w", "../model2/w",
                         self.path("model2/w"), "w/../../data/w"):
            model = self.external_model("model/m.onnx", location)
            says = ["tensor 'w'", location, "not inside the model's folder",
                    "\nhint: --external-dir DIR"]
            for stage in (["preprocess"], ["compile", "-q", PROFILE]):
                self.refused(3, 3001, says, *stage, model, "-o", out)
            self.refused(3, 3001, says, "preprocess", "--external-dir", self.path("empty"), model,
                         "-o", out)
            self.succeeds("preprocess", "--external-dir",
                          self.path("model2" if "model2" in location else "data"), model, "-o", out)
            os.remove(out)
        # a link to the model itself: files beside the link's target are its own
        model = self.external_model("model/m.onnx", "w")
        os.mkdir(self.path("links"))
        os.symlink(model, self.path("links/m.onnx"))
        self.refused(3, None, ["tensor 'w'"], "preprocess", self.path("links/m.onnx"), "-o", out)
        os.symlink(self.path("model/w"), self.path("links/w"))
        self.succeeds("preprocess", self.path("links/m.onnx"), "-o", out)

    def test_external_data_missing_short_and_changed(self):
        weights = np.random.default_rng(1).standard_normal((8, 800), np.float32).tobytes()
        out = self.path("out")
        model = self.external_model("m.onnx", "w.bin")
        self.refused(3, None, ["tensor 'w'", "w.bin"], "preprocess", model, "-o", out)
        for short in (b"", weights[:-1]):
            self.path("w.bin", short)
            self.refused(3, None, ["tensor 'w'", "25600"], "preprocess", model, "-o", out)
        self.path("w.bin", weights)
        for where in ({"offset": 4, "length": 25600}, {"offset": 30000}, {"offset": -1},
                      {"offset": "many"}, {"offset": 1 << 63, "length": 1 << 63}):
            self.refused(3, None, ["tensor 'w'", "w.bin"], "preprocess",
                         self.external_model("far.onnx", "w.bin", **where), "-o", out)
        graph = self.path("graph.sg")
        self.succeeds("compile", "-q", PROFILE, model, "-o", self.path("model.om"), "--dump-dir",
                      self.path("dump"))
        shutil.copy(self.path("dump/4-subgraph-optimize.sg"), graph)
        product = bytes_of(self.path("model.om"))
        changed = bytes([weights[0] ^ 1]) + weights[1:]
        for content, how in ((None, "moved"), (weights[:-8], "cut"), (changed, "changed")):
            os.remove(self.path("w.bin"))
            if content is not None:
                self.path("w.bin", content)
            for command in (["build", graph, "-o", out], ["compile", "-q", graph, "-o", out],
                            ["eval", "--random", graph]):
                self.refused(3, 1009, ["w.bin", "--model"], *command)
            if content is None:
                self.path("w.bin", weights)
        self.path("w.bin", weights)
        self.succeeds("build", "--model", model, graph, "-o", out)
        self.assertEqual(bytes_of(out), product)

    def test_verify_segments_finds_other_bytes(self):
        """What a changed file with the old time hides: only a hash shows it."""
        weights = np.random.default_rng(1).standard_normal((8, 800), np.float32).tobytes()
        self.path("w.bin", weights)
        status = os.stat(self.path("w.bin"))
        self.succeeds("compile", "-q", PROFILE, self.external_model("m.onnx", "w.bin"), "-o",
                      self.path("model.om"), "--dump-dir", self.path("dump"))
        product = bytes_of(self.path("model.om"))
        self.path("w.bin", bytes([weights[0] ^ 1]) + weights[1:])
        os.utime(self.path("w.bin"), ns=(status.st_atime_ns, status.st_mtime_ns))
        graphs = [self.path("dump/%d-%s.sg" % (k + 1, stage)) for k, stage in enumerate(STAGES[:4])]
        for stage, graph in zip(STAGES[1:], graphs):
            self.refused(3, 1013, ["damaged constants", "has other bytes than its digest says"],
                         stage, "--verify=segments", graph, "-o", self.path("out"))
            self.succeeds(stage, "--verify=end", graph, "-o", self.path("out"))
            os.remove(self.path("out"))
        # a good copy named by --model is what is hashed
        os.mkdir(self.path("good"))
        self.path("good/w.bin", weights)
        shutil.copy(self.path("m.onnx"), self.path("good/m.onnx"))
        self.succeeds("build", "--verify=segments", "--model", self.path("good/m.onnx"), graphs[3],
                      "-o", self.path("out"))
        self.refused(7, 1014, ["damaged constants"], "verify", "--segments", graphs[1])
        self.succeeds("verify", "--segments", "--model", self.path("good/m.onnx"), graphs[1])
        self.assertEqual(bytes_of(self.path("out")), product)

    # Sizes

    def test_products_of_dims_that_overflow(self):
        many = 1 << 62
        numbers = lambda name, *elements: constant(name, elements)
        pair = model_bytes([helper.make_node("MatMul", ["x", "z"], ["y"], "n")],
                           [value("x", [1 << 32, 1]), value("z", [1, 1 << 32])], [value("y", None)])
        window = constant("w", np.ones((1, 1, 3, 3)), np.float32)
        image = [1, 1, 4, 4]
        models = [one_node("Relu", [1 << 32, 1 << 32]),
                  one_node("Expand", [1, 1], numbers("s", 1 << 40, 1 << 40)), pair,
                  one_node("Reshape", [4], numbers("s", many, many, 4)),
                  one_node("Tile", [4], numbers("s", many)),
                  one_node("Pad", [4], numbers("p", many, many)),
                  one_node("Conv", image, window, pads=[many] * 4),
                  one_node("Conv", image, window, dilations=[many] * 2),
                  one_node("MaxPool", image, kernel_shape=[many] * 2),
                  one_node("Flatten", [1 << 40, 1 << 40])]
        for model in models:
            self.refused(3, 2003, ["node 'n' ("], "compile", "-q", PROFILE,
                         self.path("m.onnx", model), "-o", self.path("out"))
        huge = self.path("m.onnx", one_node("Relu", [1 << 30, 1 << 29]))
        self.refused(5, 1008, ["node 'n' (Relu)", "more bytes than a process can address"],
                     "compile", "-q", PROFILE, huge, "-o", self.path("out"))

    def test_values_larger_than_memory_at_run_time(self):
        self.succeeds("compile", "-q", PROFILE,
                      self.path("m.onnx", one_node("Relu", [1 << 30, 1 << 10])), "-o",
                      self.path("model.om"))
        self.refused(5, 1008, [], "loader", "--random", self.path("model.om"))

    def made_constant(self, op, *constants, **attributes):
        """A constant made by a node, added to x."""
        nodes = [helper.make_node(op, [tensor.name for tensor in constants], ["r"], "n",
                                  **attributes), helper.make_node("Add", ["x", "r"], ["y"])]
        return self.path("m.onnx",
                         model_bytes(nodes, [value("x", [1])], [value("y", None)], constants))

    def test_huge_constants(self):
        out = self.path("out")
        allowed = ["\nhint: --max-constant-bytes=N"]
        for dims in ([1 << 20, 1 << 20], [1 << 29], [1 << 50, 1 << 10]):
            model = self.made_constant("ConstantOfShape", constant("s", dims))
            says = ["'r'", "\nhint: look at the shapes"] if dims[0] == 1 << 50 else ["value 'r'",
                                                                                     *allowed]
            self.refused(5, 1008, says, "compile", "-q", PROFILE, model, "-o", out)
        # one byte more or less than the limit; 1000 floats
        model = self.made_constant("ConstantOfShape", constant("s", [1000]))
        self.refused(5, 1008, ["value 'r' of graph 'main' has 4000 bytes", *allowed], "compile",
                     "-q", "--max-constant-bytes=3999", model, "-o", out)
        self.succeeds("compile", "-q", PROFILE, "--max-constant-bytes=4000", model, "-o", out)
        graph = self.path("graph.sg")
        self.succeeds("preprocess", model, "-o", graph)
        os.remove(out)
        for command in (["optimize", graph, "-o", out], ["partition", graph, "-o", out],
                        ["eval", "--random", graph]):
            self.refused(5, 1008, allowed, command[0], "--max-constant-bytes=3999", *command[1:])
        for wrong in ("-1", "1e9", "", "99999999999999999999"):
            self.refused(3, 1006, ["--max-constant-bytes"], "preprocess",
                         "--max-constant-bytes=" + wrong, model, "-o", out)

    def test_huge_external_data_is_not_read(self):
        """A file with holes: nothing on disk, hours to hash."""
        with open(self.path("w.bin"), "wb") as file:
            file.truncate(1 << 42)
        nodes = [helper.make_node("Gather", ["w", "x"], ["y"], "n")]
        model = self.path("m.onnx", model_bytes(nodes, [value("x", [1], TensorProto.INT64)],
                                                [value("y", None)],
                                                [external("w", [1 << 20, 1 << 20], "w.bin")]))
        self.refused(5,
                     1008, ["tensor 'w' has 4398046511104 bytes", "\nhint: --max-constant-bytes=N"],
                     "preprocess", model, "-o", self.path("out"))

    def test_what_is_made_before_a_constant(self):
        """The sum of terabytes is a small constant."""
        text = ("sluice 1 typed\nconstant $0 = f32[1048576, 1048576] splat 0.5\n"
                "graph @main(%x: f32[1, 1]) -> (%y) {\n"
                "  %w = constant f32[1, 1] expression @e($0)\n"
                "  %y: f32[1, 1] = Add(%x, %w)\n}\n"
                "graph @e(%w: f32[1048576, 1048576]) -> (%r) expression {\n"
                "  %r: f32[1, 1] = ReduceMax(%w)\n}\n")
        graph = self.path("graph.sg")
        self.succeeds("as", self.path("graph.txt", text), "-o", graph)
        for command in (["compile", "-q", graph, "-o", self.path("out")],
                        ["eval", "--random", graph]):
            self.refused(5, 1008, ["4398046511104 bytes", "\nhint: --max-constant-bytes=N"],
                         *command)

    def test_sparse_constants(self):
        indices, elements = constant("", [5], np.int64), constant("s", [1.0], np.float32)
        for dims, code, number in (([1 << 20, 1 << 20], 5, 1008), ([1 << 40, 1 << 40], 3, 3001),
                                   ([4], 3, 3001)):
            model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "s"],
                                                                          ["y"], "n")],
                                                        "g", [value("x", [1])], [value("y", None)]))
            model.graph.sparse_initializer.append(helper.make_sparse_tensor(elements, indices,
                                                                            dims))
            self.refused(code, number, ["'s'"], "preprocess",
                         self.path("m.onnx", model.SerializeToString()), "-o", self.path("out"))

    # Nesting

    def test_deep_nesting_in_models(self):
        for model in (nested_ifs(DEEP), nested_sequences(DEEP), chained_functions(DEEP)):
            path = self.path("m.onnx", model)
            for command in self.readers(path, "onnx"):
                self.refused(3, 3001, ["m.onnx"], *command)
        self.succeeds("preprocess", self.path("m.onnx", nested_ifs(10)), "-o", self.path("out"))

    def test_deep_nesting_in_texts(self):
        symbol = ("sluice 1 typed\nsymbol n = dim(@main, %%x, 0) in [1, *]\n"
                  "graph @main(%%x: f32[%s]) -> (%%y) {\n  %%y: f32[n] = Identity(%%x)\n}\n")
        kind = ("sluice 1 typed\ngraph @main(%%x: %sf32[1]%s) -> (%%y) {\n"
                "  %%y: f32[1] = Identity(%%x)\n}\n" % ("seq(" * DEEP, ")" * DEEP))
        texts = [nested_bodies(DEEP), kind, symbol % ("(" * DEEP + "n" + ")" * DEEP),
                 symbol % ("max(1, " * DEEP + "n" + ")" * DEEP),
                 symbol % "+".join("floordiv(n, %d)" % (k + 2) for k in range(DEEP)),
                 symbol % "*".join(["n"] * DEEP), "sluice 1 typed\n" + "(" * DEEP]
        for text in texts:
            self.refused(3, 1010, ["g.txt:"], "as", self.path("g.txt", text), "-o",
                         self.path("out"))

    def test_nesting_that_is_taken_is_taken_everywhere(self):
        """As deep as a text may be; and a chain of as many nodes as a graph may have on a path."""
        chain = "".join("  %%x%d: f32[4] = Neg(%%x%d)\n" % (k + 1, k) for k in range(DEEP))
        for text in (nested_bodies(60), "sluice 1 typed\ngraph @main(%%x0: f32[4]) -> (%%x%d) {\n"
                     "%s}\n" % (DEEP, chain)):
            graph = self.path("graph.sg")
            self.succeeds("as", self.path("g.txt", text), "-o", graph)
            self.succeeds("compile", "-q", PROFILE, "--verify=each", graph, "-o", self.path("out"))
            for command in (["show", graph], ["show", "--format=dot", graph],
                            ["show", "--format=json", graph], ["verify", graph],
                            ["diff", graph, graph], ["eval", "--random", graph],
                            ["show", self.path("out")], ["verify", self.path("out")],
                            ["loader", "--random", self.path("out")]):
                self.succeeds(*command)

    def test_deep_nesting_in_other_files(self):
        model, graphs, _, om = self.compiled()
        for text in ("[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP):
            self.refused(3, None, ["rules.json"], "preprocess", "--annotate",
                         self.path("rules.json", text), model, "-o", self.path("out"))
        header = ("{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * DEEP + "2, 8" +
                  ")" * DEEP + "}").encode()
        self.path("deep.npy", b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header)
        sequence = b""
        for _ in range(DEEP):
            sequence = field(4, sequence)
        self.path("deep.pb", sequence)
        for name in ("deep.npy", "deep.pb"):
            self.refused(3, None, [name], "loader", om, "--input", "x=" + self.path(name))
            self.refused(3, None, [name], "eval", graphs[0], "--input", "x=" + self.path(name))

    # Operators

    def test_every_unknown_operator_is_listed(self):
        names = ["Nonsense%d" % k for k in range(12)]
        nodes = [helper.make_node(name, ["x"], ["y%d" % k], "n%d" % k)
                 for k, name in enumerate(names)]
        model = self.path("m.onnx", model_bytes(nodes, [value("x", [1])], [value("y0", None)]))
        for command in self.readers(model, "onnx"):
            self.refused(4, 3002, [*names, *("'n%d'" % k for k in range(12))], *command)

    # Running

    def test_wrong_inputs_at_run_time(self):
        _, graphs, _, om = self.compiled()
        np.save(self.path("good.npy"), np.ones((2, 8), np.float32))
        np.save(self.path("shape.npy"), np.ones((2, 9), np.float32))
        np.save(self.path("rank.npy"), np.ones(16, np.float32))
        np.save(self.path("dtype.npy"), np.ones((2, 8), np.float64))
        good = bytes_of(self.path("good.npy"))
        self.path("short.npy", good[:-4])
        self.path("long.npy", good + b"1234")
        for command, shape, rank in ((["loader", om], "f32 2x9", "f32 16"),
                                     (["eval", graphs[0]], "f32[2, 9]", "f32[16]")):
            for name, says in (("shape", ["'x'", shape]), ("rank", ["'x'", rank]),
                               ("dtype", ["'x'", "f64", "f32"]), ("short", ["short.npy"]),
                               ("long", ["long.npy"]), ("absent", ["absent.npy"])):
                self.refused(3, None, says, *command, "--input", "x=" + self.path(name + ".npy"),
                             "--output-dir", self.path("values"))
            self.refused(3, None, ["'z'", "x"], *command, "--input", "z=" + self.path("good.npy"))
            self.refused(3, None, ["'x'"], *command)
            self.refused(3, None, ["x"], *command, "--input", "x=" + self.path("good.npy"),
                         "--input", "x=" + self.path("good.npy"))

    # Outputs

    def writers(self):
        """Programs that write a file, without the option that names it; and those that only
        print."""
        model, graphs, text, om = self.compiled()
        stages = [[stage, source] for stage, source in zip(STAGES, [model, *graphs])]
        printers = [["show", graphs[0]], ["show", "--format=dot", graphs[0]],
                    ["show", "--format=json", graphs[0]], ["show", om]]
        return ([*stages, ["compile", "-q", PROFILE, model], ["as", text], *printers],
                [["verify", "--memory", om], ["diff", *graphs[:2]], ["eval", "--random", graphs[0]],
                 ["loader", "--bench", om]])

    def test_full_device(self):
        writers, printers = self.writers()
        for command in writers:
            self.refused(5, 1007, ["No space left"], *command, "-o", "/dev/full")
        for command in [*writers, *printers]:
            with open("/dev/full", "w") as full:
                self.refused(5, 1007, [], *command, stdout=full)

    def test_closed_output(self):
        writers, printers = self.writers()
        for command in [*writers, *printers]:
            self.refused(5, 1007, [], *command, prepare=lambda: os.close(1), stdout=None)

    def test_reader_that_goes_away(self):
        writers, _ = self.writers()
        for command in writers:
            read, write = os.pipe()
            os.close(read)
            result = self.call(*command, stdout=write)
            os.close(write)
            self.assertEqual(result.returncode, 5, (command, result.stderr))
            self.assertLessEqual(result.stderr.count(b"error"), 1, command)

    def test_paths_that_cannot_be_written(self):
        writers, _ = self.writers()
        os.mkdir(self.path("taken"))
        for command in writers:
            for bad in (self.path("absent/out"), self.path("model.onnx/out"), self.path("taken"),
                        self.path("taken/"), "/proc/out"):
                self.refused(3 if bad != "/proc/out" else None, None, [], *command, "-o", bad)

    def as_nobody(self):
        if os.getuid() != 0:
            return lambda: None
        os.chmod(self.folder, 0o755)
        drop = lambda: (os.setgid(NOBODY), os.setuid(NOBODY))
        try:
            subprocess.run([program("show"), "--version"], check=True, stdout=subprocess.DEVNULL,
                           preexec_fn=drop)
        except (PermissionError, subprocess.CalledProcessError):
            self.skipTest("only root can run the programs of this folder")
        return drop

    def test_paths_that_may_not_be_touched(self):
        prepare = self.as_nobody()
        writers, _ = self.writers()
        os.mkdir(self.path("locked"), 0o555)
        for command in writers:
            self.refused(3, 1004, ["Permission denied"], *command, "-o", self.path("locked/out"),
                         prepare=prepare)
            os.chmod(command[-1], 0)
            self.refused(3, 1004, ["Permission denied"], *command, "-o", "/dev/null",
                         prepare=prepare)
            os.chmod(command[-1], 0o644)

    def test_paths_that_cannot_be_read(self):
        _, _, _, _ = self.compiled()
        os.mkdir(self.path("folder"))
        os.symlink(self.path("loop"), self.path("loop"))
        for bad in (self.path("absent"), self.path("folder"), self.path("model.onnx/deeper"),
                    self.path("loop"), "/proc/self/mem"):
            for kind in ("onnx", "graph", "om", "text"):
                for command in self.readers(bad, kind):
                    if os.path.exists(self.path("values")):
                        os.rmdir(self.path("values"))
                    self.refused(None, None, [bad], *command)

    def test_two_compilations_to_one_output(self):
        """Whoever reads finds the whole model of one of them, at any time."""
        out = self.path("model.om")
        models = [self.path("a.onnx", small_model()), self.path("b.onnx", one_node("Relu", [3, 5]))]
        whole = []
        for model in models:
            self.succeeds("compile", "-q", PROFILE, model, "-o", out)
            whole.append(bytes_of(out))
        for transport in ("pipe", "files", "zmq"):
            command = lambda model: [program("compile"), "-q", PROFILE, "--transport=" + transport,
                                     model, "-o", out, "--dump-dir", self.path("dump")]
            running = [subprocess.Popen(command(models[k % 2]), stderr=subprocess.PIPE)
                       for k in range(6)]
            while any(process.poll() is None for process in running):
                self.assertIn(bytes_of(out), whole)
            for process in running:
                self.assertEqual((process.returncode, process.communicate()[1]), (0, b""))
            self.assertIn(bytes_of(out), whole)
            self.assertEqual([name for name in self.files() if ".tmp" in name], [])
            for k, stage in enumerate(STAGES[:4]):
                self.succeeds("verify", self.path("dump/%d-%s.sg" % (k + 1, stage)))

    # Errors as data

    def test_errors_as_json(self):
        errors = self.call("preprocess", "--error-format=json",
                           self.path("m.onnx", one_node("Relu", [1 << 32, 1 << 32])), "-o",
                           self.path("out")).stderr
        error = json.loads(errors)
        self.assertEqual(error["code"], "SL2003")
        self.assertIn("node 'n' (Relu)", error["message"])


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "show", "as", "verify", "diff", "eval",
                                                  "loader", *STAGES])
    unittest.main(verbosity=2)
