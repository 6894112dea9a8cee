// The options that change what is built, as text for the help of sluice-compile and sluice-check,
// which is also the grammar of their command lines.
#pragma once

namespace sluice {

inline constexpr char kSemanticOptions[] =
    R"(  --input-shape=SHAPES   Shapes of model inputs, "name:1~8,3,-1,-1": bounds, a size, and -1
                         for what the model says; several joined by ";". A size replaces another
                         that the model fixes, with a warning.
  --dim=DIM              Value of a named dimension, NAME=VALUE, or its bounds, NAME=LOW..HIGH. NAME
                         is as the model has it, blanks and all; a dimension without a name is
                         INPUT_AXIS.
  --rules=FILE           Rewrite graphs by the rules in FILE, at a row of their own among the passes
                         of sluice-preprocess or sluice-optimize; repeatable; docs/own-passes.md.
  --unchecked-rules      Use rules without a check of what they compute.
  --pass=POINT=FILE      Run the passes in FILE, a program, *.py or *.so, at POINT:
                         before-infer-shape, after-infer-shape, after-builtin-fusion,
                         after-optimize, before-build or after-assign-streams; repeatable;
                         docs/own-passes.md.
  --annotate=RULES       Annotate the nodes that RULES, a JSON file, selects; docs/annotations.md.
  --overridable-inputs=SWITCH  on: initializers that are inputs too may be given when the model
                         runs.
  --state=PAIRS          Keep outputs for inputs of the next execution, OUTPUT=INPUT,...:
                         'present.*=past_key_values.*'.
  --out-nodes=NAMES      The outputs to keep.
  --zipmap=KIND          What ZipMap gives: map, a sequence of maps, or tensor, what it takes under
                         the same name.
  --profile=NAME         The device profile: native, cpu-avx512bf16, cpu-avx512vnni, cpu-avx512,
                         cpu-avx2, cpu-generic, sim-910b, sim-310p, or a .json file.
  --opt-level=LEVEL      Which passes run: O0, O1 or O3.
  --precision-mode=MODE  The dtypes that nodes compute in: must_keep_origin_dtype, the model's;
                         force_fp32, force_fp16, force_bf16; allow_mix_precision or
                         allow_mix_precision_bf16, where operators bear it; docs/precision.md.
  --modify-mixlist=FILE  Changes to the lists of operators of allow_mix_precision, as JSON.
  --customize-dtypes=FILE  Dtypes of single nodes: lines of a node and keep, f32, f16 or bf16.
  --passes=LIST          STAGE:PASS,PASS,... runs exactly these passes of that stage, in this order.
  --skip=LIST            STAGE:PASS,PASS,... leaves these passes of that stage out.
  --fusion-switch-file=FILE  Passes to turn on or off, in a JSON file; docs/switches.md.
  --optimization-switch=LIST  PASS:on;PASS:off, of any stage, which wins over the file; ALL stands
                         for all of them. docs/switches.md.
  --symbolic=SWITCH      off: any dimension that is not fixed makes a part dynamic.
  --static-model-ops-lower-limit=N   Nodes of fixed sizes become a part of their own when they are
                         at least N, 4 unless said otherwise; -1: the whole model is run node by
                         node.
  --host-scheduling-max-threshold=N  With fewer nodes of fixed sizes than N the whole model is run
                         node by node.
  --stable-order=SWITCH  on: parts are runs of neighbours, so that nodes keep the model's order.
  --math=HOW             How exact generated functions (exp, tanh, ...) are: default,
                         high_precision or high_performance; docs/kernels.md.
  --disable-reuse-memory=LIST  Nodes whose results share memory with nothing else: globs of names
                         and ops, separated by commas; "*" is all.
  --enable-single-stream  All tasks of a part run in one stream; nodes may have no stream labels.
  --multi-stream-parallel-mode=MODE  How tasks are spread over streams. cv: a stream for each
                         engine; LoadBalance:N: over at most N; MainStream:N: the longest path has
                         the first of N. On a CPU streams are chosen without it. docs/schedule.md.
  --sync=KIND            event: several tasks may wait for a record; notify: exactly one does.
  --external-weight=KIND  Where constants of 4096 bytes and more are: 0, in the compiled model; 1,
                         in files of the folder weight beside it, one each, which models share; 2,
                         in one file there; docs/compiled-model.md.
  --denormals=KIND       flush or ieee: what generated kernels do with |x| < 2^-126.
)";

}  // namespace sluice
