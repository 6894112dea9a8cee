#!/usr/bin/python3
"""The operators of com.microsoft compute what numpy does, with fixed and with free dims, evaluated
and compiled; what is not taken is reported.

usage: microsoft_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from microsoft_cases import OPSETS, attend, cases, causal, heads_of, joined, normal
from models import floats, model_of, value, write
from programs import STAGES, ProgramCase, need

# One of each kind: compiling takes longer than evaluating.
COMPILED = {"rms", "skip_sum", "embed", "bias_gelu", "quick_gelu", "matmul_trans", "gemm_leaky",
            "conv_sum", "bits_4_packed", "bits_8_none", "dynamic_columns", "add_uint8",
            "concat_int8", "pool_uint8", "rotary_ids", "self_past", "quantized_self", "heads_mask",
            "group_next", "group_ragged", "skip_rms_statistics", "shared_mask", "shared_causal",
            "decoder_across", "decoder_masked", "decoder_beams_all", "group_buffer_known_ragged",
            "group_buffer_next", "group_buffer_biased"}


class Semantics(ProgramCase):
    def check_outputs(self, case, outputs):
        for name, wanted in case.wanted.items():
            if wanted is None:
                continue
            got, wanted = outputs[name], np.asarray(wanted)
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
                with self.subTest(case.name, free=free):
                    model = write(self.path("m.onnx"), case.model(free))
                    self.program(0, "sluice-preprocess", model, "-o", self.path("m.sg"))
                    self.check_outputs(case, self.outputs_of("sluice-eval", self.path("m.sg"),
                                                             *self.bindings(case.fed())))

    def test_compiled(self):
        for case in cases():
            if case.name not in COMPILED:
                continue
            with self.subTest(case.name):
                model = write(self.path("m.onnx"), case.model(False))
                self.program(0, "sluice", "compile", model, "-o", self.path("m.om"),
                             "--profile=cpu-generic")
                self.check_outputs(case, self.outputs_of("sluice", "run", self.path("m.om"),
                                                         *self.bindings(case.fed())))


def decoder_layer():
    """GroupQueryAttention as exporters of decoders write it: its lengths come from the attention
    mask."""
    make = helper.make_node
    cache = ["batch_size", 2, "past_sequence_length", 16]
    inputs = [floats("q", ["batch_size", "sequence_length", 128]),
              value("mask", ["batch_size", "total_sequence_length"], TensorProto.INT64),
              floats("past.key", cache), floats("past.value", cache)]
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
    outputs = [floats("y", ["batch_size", "sequence_length", 64]), floats("present.key", cache),
               floats("present.value", cache)]
    return model_of(nodes, inputs, outputs, {"one": [1], "axis": 1}, **OPSETS)


class Decoder(ProgramCase):
    def compile(self, *options):
        self.program(0, "sluice", "compile", write(self.path("m.onnx"), decoder_layer()), "-o",
                     self.path("m.om"), "--profile=cpu-generic", *options)

    def step(self, capacity, sequence, total, batch):
        fed = {"q": normal(batch, sequence, 128), "mask": np.ones((batch, total), np.int64),
               "past.key": normal(batch, 2, capacity, 16),
               "past.value": normal(batch, 2, capacity, 16)}
        outputs = self.outputs_of("sluice", "run", self.path("m.om"), *self.bindings(fed))
        q, *new = (heads_of(x, heads)
                   for x, heads in zip(np.split(fed["q"], [64, 96], -1), (4, 2, 2)))
        past = total - sequence
        keys, values = (np.concatenate([fed[name][:, :, :past], rows], 2)
                        for name, rows in zip(("past.key", "past.value"), new))
        np.testing.assert_allclose(outputs["y"],
                                   joined(attend(q, keys, values, causal(sequence, total))),
                                   atol=2e-5)
        for name, rows in (("key", keys), ("value", values)):
            present = outputs["present." + name]
            self.assertEqual(present.shape, (batch, 2, max(capacity, total), 16))
            np.testing.assert_array_equal(present[:, :, :total], rows)

    def test_one_model_takes_pasts_that_grow_and_buffers(self):
        self.compile("--dim=past_sequence_length=0..64")
        for capacity, sequence, total, batch in ((0, 3, 3, 2), (4, 1, 5, 2), (4, 3, 7, 1),
                                                 (12, 3, 3, 2), (12, 1, 5, 2), (12, 3, 8, 1),
                                                 (12, 1, 12, 1)):
            with self.subTest(capacity=capacity, sequence=sequence, total=total, batch=batch):
                self.step(capacity, sequence, total, batch)

    def test_a_buffer_of_fixed_size(self):
        self.compile("--dim=batch_size=1;past_sequence_length=12;sequence_length=1;"
                     "total_sequence_length=5")
        self.step(12, 1, 5, 1)
        self.assertIn("present.key f32 1x2x12x16",
                      self.program(0, "sluice-show", "--summary", self.path("m.om")))

    def test_a_state_grows_by_the_new_tokens_alone(self):
        self.compile("--dim=batch_size=1;past_sequence_length=0..64", "--state=present.*=past.*")
        self.assertIn("present.key f32 [1, 2, sequence_length + past_sequence_length, 16]",
                      self.program(0, "sluice-show", "--summary", self.path("m.om")))


class Refused(ProgramCase):
    def error_of(self, *nodes):
        model = model_of(list(nodes), [floats("x", [2, 3, 8])], [floats("y")], **OPSETS)
        return self.failed("sluice-preprocess", write(self.path("m.onnx"), model), "-o",
                           self.path("m.sg"))

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
    ProgramCase.programs = need(sys.argv.pop(1), [*STAGES, "eval", "loader"])
    unittest.main()
