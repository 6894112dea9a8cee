#!/usr/bin/python3
"""The operators of com.microsoft compute what numpy does, with fixed and with free dims, evaluated
and compiled; what is not taken is reported.

usage: microsoft_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from microsoft_cases import attend, cases, causal, heads_of, joined, normal
from programs import need

PROGRAMS = None
# One of each kind: compiling takes longer than evaluating.
COMPILED = {"rms", "skip_sum", "embed", "bias_gelu", "quick_gelu", "matmul_trans", "gemm_leaky",
            "conv_sum", "bits_4_packed", "bits_8_none", "dynamic_columns", "add_uint8",
            "concat_int8", "pool_uint8", "rotary_ids", "self_past", "quantized_self", "heads_mask",
            "group_next", "group_ragged", "skip_rms_statistics", "shared_mask", "shared_causal",
            "decoder_across", "decoder_masked", "decoder_beams_all", "group_buffer_known_ragged",
            "group_buffer_next", "group_buffer_biased"}


def run(program, *arguments):
    done = subprocess.run([os.path.join(PROGRAMS, program), *arguments], capture_output=True,
                          text=True)
    return done.returncode, done.stdout + done.stderr


def save(path, model):
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def bindings(folder, case):
    arguments = []
    for name, value in case.fed().items():
        path = os.path.join(folder, f"{name}.in.npy")
        np.save(path, value)
        arguments += ["--input", f"{name}={path}"]
    return arguments


class Semantics(unittest.TestCase):
    def check_outputs(self, case, folder):
        for name, wanted in case.wanted.items():
            if wanted is None:
                continue
            got, wanted = np.load(os.path.join(folder, f"{name}.npy")), np.asarray(wanted)
            self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape),
                             f"{case.name}: {name}")
            if case.steps:
                self.assertLessEqual(abs(got.astype(int) - wanted.astype(int)).max(), case.steps,
                                     f"{case.name}: {name}")
                self.assertGreater((got == wanted).mean(), 0.9, f"{case.name}: {name}")
            else:
                self.assertTrue(np.isfinite(got).all(), f"{case.name}: {name}")
                error = np.nanmax(abs(got.astype(np.float64) - wanted))
                self.assertLessEqual(error, case.tolerance * max(1, np.nanmax(abs(wanted))),
                                     f"{case.name}: {name}")

    def test_evaluated(self):
        for case in cases():
            for free in (False, True):
                with self.subTest(case.name, free=free), tempfile.TemporaryDirectory() as folder:
                    model, graph = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.sg")
                    save(model, case.model(free))
                    code, text = run("sluice-preprocess", model, "-o", graph)
                    self.assertEqual(code, 0, text)
                    code, text = run("sluice-eval", graph, *bindings(folder, case), "--output-dir",
                                     folder)
                    self.assertEqual(code, 0, text)
                    self.check_outputs(case, folder)

    def test_compiled(self):
        for case in cases():
            if case.name not in COMPILED:
                continue
            with self.subTest(case.name), tempfile.TemporaryDirectory() as folder:
                model, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.om")
                save(model, case.model(False))
                code, text = run("sluice", "compile", model, "-o", compiled,
                                 "--profile=cpu-generic")
                self.assertEqual(code, 0, text)
                code, text = run("sluice", "run", compiled, *bindings(folder, case), "--output-dir",
                                 folder)
                self.assertEqual(code, 0, text)
                self.check_outputs(case, folder)


def decoder_layer():
    """GroupQueryAttention as exporters of decoders write it: its lengths come from the attention
    mask."""
    info, make = helper.make_tensor_value_info, helper.make_node
    float32 = TensorProto.FLOAT
    cache = ["batch_size", 2, "past_sequence_length", 16]
    inputs = [info("q", float32, ["batch_size", "sequence_length", 128]),
              info("mask", TensorProto.INT64, ["batch_size", "total_sequence_length"]),
              info("past.key", float32, cache), info("past.value", float32, cache)]
    nodes = [make("ReduceSum", ["mask", "one"], ["sum"], keepdims=0),
             make("Sub", ["sum", "one"], ["last"]),
             make("Cast", ["last"], ["lengths"], to=TensorProto.INT32),
             make("Shape", ["mask"], ["shape"]),
             make("Gather", ["shape", "axis"], ["size"], axis=0),
             make("Cast", ["size"], ["total"], to=TensorProto.INT32),
             make("GroupQueryAttention", ["q", "", "", "past.key", "past.value", "lengths",
                                          "total"], ["y", "present.key", "present.value"],
                  domain="com.microsoft", num_heads=4, kv_num_heads=2)]
    cache = cache[:2] + ["total_sequence_length", 16]
    outputs = [info("y", float32, ["batch_size", "sequence_length", 64]),
               info("present.key", float32, cache), info("present.value", float32, cache)]
    constants = [numpy_helper.from_array(np.array([1], np.int64), "one"),
                 numpy_helper.from_array(np.array(1, np.int64), "axis")]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, constants),
                              opset_imports=[helper.make_opsetid("", 17),
                                             helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 8
    return model


class Decoder(unittest.TestCase):
    def compile(self, folder, *options):
        model, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.om")
        save(model, decoder_layer())
        code, text = run("sluice", "compile", model, "-o", compiled, "--profile=cpu-generic",
                         *options)
        self.assertEqual(code, 0, text)
        return compiled

    def step(self, folder, compiled, capacity, sequence, total, batch):
        fed = {"q": normal(batch, sequence, 128), "mask": np.ones((batch, total), np.int64),
               "past.key": normal(batch, 2, capacity, 16),
               "past.value": normal(batch, 2, capacity, 16)}
        arguments = []
        for name, value in fed.items():
            np.save(os.path.join(folder, f"{name}.in.npy"), value)
            arguments += ["--input", f"{name}={folder}/{name}.in.npy"]
        code, text = run("sluice", "run", compiled, *arguments, "--output-dir", folder)
        self.assertEqual(code, 0, text)
        q, *new = (heads_of(x, heads)
                   for x, heads in zip(np.split(fed["q"], [64, 96], -1), (4, 2, 2)))
        past = total - sequence
        keys, values = (np.concatenate([fed[name][:, :, :past], rows], 2)
                        for name, rows in zip(("past.key", "past.value"), new))
        np.testing.assert_allclose(np.load(os.path.join(folder, "y.npy")),
                                   joined(attend(q, keys, values, causal(sequence, total))),
                                   atol=2e-5)
        for name, rows in (("key", keys), ("value", values)):
            present = np.load(os.path.join(folder, f"present.{name}.npy"))
            self.assertEqual(present.shape, (batch, 2, max(capacity, total), 16))
            np.testing.assert_array_equal(present[:, :, :total], rows)

    def test_one_model_takes_pasts_that_grow_and_buffers(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled = self.compile(folder, "--dim=past_sequence_length=0..64")
            for capacity, sequence, total, batch in ((0, 3, 3, 2), (4, 1, 5, 2), (4, 3, 7, 1),
                                                     (12, 3, 3, 2), (12, 1, 5, 2), (12, 3, 8, 1),
                                                     (12, 1, 12, 1)):
                with self.subTest(capacity=capacity, sequence=sequence, total=total, batch=batch):
                    self.step(folder, compiled, capacity, sequence, total, batch)

    def test_a_buffer_of_fixed_size(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled = self.compile(folder, "--dim=batch_size=1;past_sequence_length=12;"
                                    "sequence_length=1;total_sequence_length=5")
            self.step(folder, compiled, 12, 1, 5, 1)
            _, text = run("sluice-show", "--summary", compiled)
            self.assertIn("present.key f32 1x2x12x16", text)

    def test_a_state_grows_by_the_new_tokens_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled = self.compile(folder, "--dim=batch_size=1;past_sequence_length=0..64",
                                    "--state=present.*=past.*")
            _, text = run("sluice-show", "--summary", compiled)
            self.assertIn("present.key f32 [1, 2, sequence_length + past_sequence_length, 16]",
                          text)


class Refused(unittest.TestCase):
    def error_of(self, *nodes):
        value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8])
        graph = helper.make_graph(list(nodes), "g", [value],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                        helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 8
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            save(path, model)
            code, text = run("sluice-preprocess", path, "-o", os.path.join(folder, "m.sg"))
        self.assertNotEqual(code, 0)
        self.assertLess(code, 128, text)
        return text

    def node(self, op, inputs, name="the_node", **attributes):
        return helper.make_node(op, inputs, ["y"], name, domain="com.microsoft", **attributes)

    def test_unknown_operators_are_listed_together(self):
        text = self.error_of(
            helper.make_node("BeamSearch", ["x"], ["a"], "first", domain="com.microsoft"),
            helper.make_node("Gelu", ["x"], ["b"], "known", domain="com.microsoft"),
            helper.make_node("NoSuchThing", ["a"], ["y"], "second"))
        for part in ("BeamSearch of domain 'com.microsoft' (1 node: 'first')",
                     "NoSuchThing (1 node: 'second')", "2 unsupported operators"):
            self.assertIn(part, text)
        self.assertNotIn("known'", text)
        for op in ("BeamSearch", "GreedySearch"):
            text = self.error_of(helper.make_node(op, ["x"], ["y"], "first",
                                                  domain="com.microsoft"))
            self.assertIn(f"{op} of domain 'com.microsoft' (1 node: 'first'), a loop around a "
                          f"decoder", text)
            self.assertIn("export the decoder alone", text)

    def test_each_error_names_node_and_form(self):
        for node, part in (
                (self.node("QuickGelu", ["x"], beta=1.0), "attribute 'beta' is not known"),
                (self.node("QuickGelu", ["x"], alpha=1), "attribute 'alpha' is of type INT, "
                 "expected FLOAT"), (self.node("QuickGelu", []), "input 0 'X' is absent"),
                (self.node("QuickGelu", ["x", "x"]), "it has 2 inputs, expected at most 1"),
                (self.node("MultiHeadAttention", ["x", "x", "x"]), "attribute 'num_heads' "
                 "is absent"), (self.node("MultiHeadAttention", ["x", "x", "x"], num_heads=0),
                                "attribute 'num_heads' is 0"),
                (self.node("MultiHeadAttention", ["x"], num_heads=2), "input 1 'key' is absent"),
                (self.node("MultiHeadAttention", ["x", "x", "x"] + [""] * 5 + ["x"], num_heads=2),
                 "input 8"), (self.node("MultiHeadAttention", ["x", "x", "x"] + [""] * 6 + ["x"],
                                        num_heads=2), "input 9 'cache_indirection' needs input 8"),
                (self.node("DecoderMaskedMultiHeadAttention", ["x", "x", "x"], num_heads=2),
                 "input 0 'query' holds 3 tokens"),
                (self.node("Attention", ["x", "x"], num_heads=2, past_present_share_buffer=1),
                 "past_present_share_buffer"),
                (self.node("Attention", ["x", "x"], num_heads=2, do_rotary=1), "do_rotary"),
                (self.node("FusedConv", ["x", "x"], activation="Wavy"),
                 "activation 'Wavy' is not known"),
                (self.node("MatMulNBits", ["x", "x", "x"], K=8, N=4, bits=3, block_size=16),
                 "attribute 'bits' is 3"), (self.node("MatMulNBits", ["x", "x", "x"], K=8, N=4,
                                                      block_size=0), "attribute 'block_size' is 0"),
                (self.node("MatMulNBits", ["x", "x", "x"], K=2**62, N=2**62, block_size=16),
                 "attribute 'K'"),
                (self.node("QLinearConcat", ["x", "x", "x"], axis=0), "expected 2 and then 3"),
                (self.node("RotaryEmbedding", ["x", "x", "x", "x"], is_packed_batching=1),
                 "is_packed_batching"),
                (self.node("GroupQueryAttention", ["x", "", "", "", "", "x", "x"], num_heads=2,
                           kv_num_heads=1, k_quant_type="PER_TENSOR"), "quantized cache"),
                (self.node("GroupQueryAttention", ["x", "", "", "", "", "x", "x"], num_heads=2,
                           kv_num_heads=1, causal=0, local_window_size=4),
                 "expected -1 where 'causal' is 0")):
            with self.subTest(part):
                text = self.error_of(node)
                self.assertIn(part, text)
                self.assertIn("'the_node'", text)
                self.assertIn(node.op_type, text)


if __name__ == "__main__":
    PROGRAMS = need(sys.argv.pop(1), ["preprocess", "eval", "optimize", "partition",
                                      "subgraph-optimize", "build", "loader"])
    unittest.main()
