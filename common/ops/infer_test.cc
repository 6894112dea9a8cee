// Inference over whole graphs: value facts, symbols, bodies.
#include "common/ops/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "common/ops/attributes.h"
#include "common/ops/testing/infer_test.h"

namespace sluice {
namespace {

struct InferTest : testing::Test, InferBed {
  Value& add(Op op, const std::vector<Value*>& inputs,
             const std::vector<Attribute>& attributes = {}, Graph* into = nullptr) {
    Node& node = (into == nullptr ? graph : *into).add_node(op, inputs);
    for (const Attribute& attribute : attributes)
      node.set_attribute(attribute.name, attribute.value);
    return node.output();
  }
  // Infers until nothing changes, which must take at most two passes.
  void infer() {
    for (int pass = 0; pass < 4; ++pass) {
      ValueFacts facts(graph);
      const auto changed = infer_graph(graph, facts);
      ASSERT_TRUE(changed.ok()) << changed.error().message;
      if (!*changed) return;
    }
    FAIL() << "inference does not come to rest";
  }
  std::string text(const Value& value) const { return type_text(module, value.type()); }
};

std::vector<std::string> requirements(const Module& module) {
  std::vector<std::string> texts;
  for (const Requirement& each : module.requirements.rows()) {
    texts.push_back(module.expressions.text(each.a) + " == " + module.expressions.text(each.b) +
                    " for " + each.words);
  }
  return texts;
}

// What only a run can compare is required once, whatever the number of passes.
TEST_F(InferTest, SizesThatOnlyARunComparesAreRequired) {
  Value& x = *value("f32[N, C]");
  Value& split = add(Op::kSplit, {&x, value("i64{2, 4}")});
  split.producer()->add_output();
  add(Op::kScatterElements, {&x, value("i64[K, D]"), value("f32[K, D]")});
  infer();
  EXPECT_THAT(requirements(module),
              testing::ElementsAre(
                  "6 == N for node '#0' (Split): the sum of the pieces and the dim to split",
                  "D == min(C, D) for node '#1' (ScatterElements): dims 1 of indices and data"));
}

TEST_F(InferTest, BlocksOfAnImageAreRequired) {
  add(Op::kCol2Im, {value("f32[N, C, L]"), value("i64{6, 8}"), value("i64{2, 4}")},
      {{"strides", std::vector<int64_t>{2, 1}}});
  infer();
  EXPECT_THAT(
      requirements(module),
      testing::ElementsAre(
          "C == 8*floordiv(C, 8) for node '#0' (Col2Im): channels, of all places of a block, and "
          "the multiple of 8 below",
          "L == 15 for node '#0' (Col2Im): dim 2 of input 'a' and the blocks that cover "
          "the image"));
}

// A size that is declared or was inferred before is required where another one is inferred.
TEST_F(InferTest, DeclaredSizesAreRequired) {
  Value& x = *value("f32[N, 2]");
  Value& joined = add(Op::kConcat, {&x, &x}, {{"axis", int64_t{0}}});
  joined.set_type(module.intern(Type::tensor(DType::kF32, {Dim::fixed(6), Dim::fixed(2)})));
  joined.set_name("y");
  infer();
  EXPECT_THAT(requirements(module),
              testing::ElementsAre(
                  "6 == 2*N for node 'y' (Concat): dim 0 of 'y', as declared and as computed,"));
}

TEST_F(InferTest, EqualSizesAreNotRequired) {
  Value& x = *value("f32[N, C]");
  add(Op::kConcat, {&x, value("f32[N, 3]")}, {{"axis", int64_t{1}}});
  add(Op::kBatchNormalization,
      {value("f32[N, 3]"), value("f32[3]"), value("f32[3]"), value("f32[3]"), value("f32[3]")});
  infer();
  EXPECT_THAT(requirements(module), testing::IsEmpty());
}

TEST_F(InferTest, ExportedReshapeResolves) {
  // The graph is x.view(x.size(0), -1, 8, x.size(2) // 8) as PyTorch exports it.
  Value& x = *value("f32[N, S, M]");
  Value& shape = add(Op::kShape, {&x});
  Value& n = add(Op::kUnsqueeze, {&add(Op::kGather, {&shape, value("i64(0)")}), value("i64{0}")});
  Value& m = add(Op::kDiv, {&add(Op::kGather, {&shape, value("i64(2)")}), value("i64(8)")});
  Value& target =
      add(Op::kConcat,
          {&n, value("i64{-1}"), value("i64{8}"), &add(Op::kUnsqueeze, {&m, value("i64{0}")})},
          {{"axis", int64_t{0}}});
  module.expressions.symbol(*module.expressions.find_symbol("M")).divisor = 8;
  Value& y = add(Op::kReshape, {&x, &target});
  infer();
  EXPECT_EQ(text(y), "f32[N, S, 8, floordiv(M, 8)]");
}

TEST_F(InferTest, ExpandOfMaskedShapeResolves) {
  // The graph is torch.expand(x, [-1, 4]): Where(Equal(target, -1), ones, target).
  Value& x = *value("f32[N, 1]");
  Value& n = add(Op::kSlice, {&add(Op::kShape, {&x}), value("i64{0}"), value("i64{1}")});
  Value& target = add(Op::kConcat, {&n, value("i64{-1}")}, {{"axis", int64_t{0}}});
  Value& ones = add(Op::kConstantOfShape, {value("i64{2}")},
                    {{"value", SegmentRef{constant(DType::kI64, {"1"}, false)}}});
  Value& masked = add(Op::kWhere, {&add(Op::kEqual, {&target, value("i64{-1}")}), &ones, &target});
  Value& y = add(Op::kExpand, {&x, &masked});
  infer();
  EXPECT_EQ(text(y), "f32[N, 1]");
}

TEST_F(InferTest, SizesComputedInFloatsResolve) {
  Value& x = *value("f32[1, 3, H, 5]");
  Value& size =
      add(Op::kCast, {&add(Op::kShape, {&x}, {{"start", int64_t{2}}})}, {{"to", int64_t{1}}});
  Value& scaled = add(Op::kFloor, {&add(Op::kMul, {&size, value("f32{2, 3}")})});
  Value& whole = add(Op::kCast, {&scaled}, {{"to", int64_t{7}}});
  Value& sizes = add(Op::kConcat, {value("i64{1, 3}"), &whole}, {{"axis", int64_t{0}}});
  Value& y = add(Op::kResize, {&x, nullptr, nullptr, &sizes});
  infer();
  EXPECT_EQ(text(y), "f32[1, 3, 2*H, 15]");
}

TEST_F(InferTest, NegativeDivisionIsNotFloored) {
  Value& y = add(Op::kConstantOfShape,
                 {&add(Op::kNeg, {&add(Op::kDiv, {value("i64{-7}"), value("i64{2}")})})});
  infer();
  EXPECT_EQ(text(y), "f32[3]");
}

TEST_F(InferTest, UnetConcatDimsAreProvedEqual) {
  const auto same_size = std::vector<Attribute>{{"pads", Ints{1, 1, 1, 1}}};
  const auto halved = std::vector<Attribute>{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  Value* weights = value("f32[8, 8, 3, 3]");
  Value* x = value("f32[1, 8, H, W]");
  std::vector<Value*> skips;
  for (int i = 0; i < 4; ++i) {
    x = &add(Op::kConv, {x, weights}, same_size);
    skips.push_back(x);
    x = &add(Op::kMaxPool, {x}, halved);
  }
  while (!skips.empty()) {
    Value& up = add(Op::kResize, {x, nullptr, value("f32{1, 1, 2, 2}")});
    x = &add(Op::kConcat, {skips.back(), &up}, {{"axis", int64_t{1}}});
    skips.pop_back();
    x = &add(Op::kConv, {x, value("f32[8, 16, 3, 3]")}, same_size);
  }
  infer();
  EXPECT_EQ(text(*x), "f32[1, 8, H, W]");
  EXPECT_EQ(module.expressions.symbol(*module.expressions.find_symbol("H")).divisor, 16);
}

TEST_F(InferTest, TablesBoundTheSequencesThatReadThem) {
  // BERT adds rows of a table of 512 positions, sliced to the sequence length, to the embedded
  // words.
  Value& words = *value("f32[N, S, 8]");
  Value& length = add(Op::kShape, {&words}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  Value& rows =
      add(Op::kSlice, {value("f32[1, 512, 8]"), value("i64{0}"), &length, value("i64{1}")});
  Value& sum = add(Op::kAdd, {&words, &rows});
  infer();
  EXPECT_EQ(text(sum), "f32[N, S, 8]");
  EXPECT_EQ(text(rows), "f32[1, S, 8]");
  EXPECT_EQ(module.expressions.symbol(*module.expressions.find_symbol("S")).high, 512);
}

TEST_F(InferTest, WindowsBoundTheSizesThatTheySlideOver) {
  const Attribute halving{"strides", Ints{2}};
  Value& half = add(Op::kConv, {value("f32[1, 1, H]"), value("f32[1, 1, 3]")},
                    {halving, {"pads", Ints{1, 0}}});  // floordiv(H, 2)
  add(Op::kAveragePool, {&half}, {{"kernel_shape", Ints{7}}});
  add(Op::kMaxPool, {value("f32[1, 1, W]")}, {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}});
  infer();
  EXPECT_EQ(module.expressions.symbol(*module.expressions.find_symbol("H")).low, 14);
  EXPECT_EQ(module.expressions.symbol(*module.expressions.find_symbol("W")).low, 1);
}

TEST_F(InferTest, TheReducedAxisOfAnArgMaxIsNotEmpty) {
  add(Op::kArgMax, {value("f32[N, K]")}, {{"axis", int64_t{1}}});
  for (const SymbolId id : {0, 1}) module.expressions.symbol(id).low = 0;
  infer();
  EXPECT_EQ(module.expressions.symbol(*module.expressions.find_symbol("N")).low, 0);
  EXPECT_EQ(module.expressions.symbol(*module.expressions.find_symbol("K")).low, 1);
}

TEST_F(InferTest, RequiredEqualityInBroadcastLeavesOtherSymbolsAlone) {
  Value& half =
      add(Op::kMaxPool, {value("f32[1, 1, H]")}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
  add(Op::kAdd, {&half, value("f32[H]")});
  infer();
  EXPECT_EQ(module.expressions.symbol(*module.expressions.find_symbol("H")).divisor, 1);
}

TEST_F(InferTest, PresentTypesAreRefinedAndNotContradicted) {
  Value& y = add(Op::kRelu, {value("f32[N, 3]")});
  y.set_type(Type::tensor(DType::kF32, {dim("4"), Dim::unknown()}));
  infer();
  EXPECT_EQ(text(y), "f32[4, 3]");
  Value& z = add(Op::kRelu, {value("f32[N, 3]")});
  z.set_name("z");
  z.set_type(Type::tensor(DType::kF32, {dim("4"), dim("5")}));
  ValueFacts facts(graph);
  const auto result = infer_graph(graph, facts);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kBadShape);
  EXPECT_EQ(result.error().message,
            "node 'z' (Relu): 'z' is f32[4, 5], but f32[N, 3] was inferred");
}

TEST_F(InferTest, BranchesAreMerged) {
  Graph& yes = module.add_graph("yes", GraphRole::kBody);
  Graph& no = module.add_graph("no", GraphRole::kBody);
  yes.add_output(add(Op::kRelu, {&yes.add_input(0)}, {}, &yes));
  no.add_output(add(Op::kConcat, {&no.add_input(0), no.inputs()[0]}, {{"axis", int64_t{0}}}, &no));
  Value& y = add(Op::kIf, {value("bool[]"), value("f32[N, 3]")},
                 {{"then_branch", GraphRef{yes.id()}}, {"else_branch", GraphRef{no.id()}}});
  infer();
  EXPECT_EQ(text(y), "f32[?, 3]");
  Graph& first = module.add_graph("first", GraphRole::kBody);
  Graph& second = module.add_graph("second", GraphRole::kBody);
  first.add_output(add(Op::kIdentity, {&first.add_input(0)}, {}, &first));
  Value& axis = second.add_constant(constant(DType::kI64, {"1"}, false));
  second.add_output(add(Op::kSqueeze, {&second.add_input(0), &axis}, {}, &second));
  Value& z = add(Op::kIf, {value("bool(1)"), value("f32[N, 3]")},
                 {{"then_branch", GraphRef{first.id()}}, {"else_branch", GraphRef{second.id()}}});
  infer();
  EXPECT_EQ(text(z), "f32[N, 3]");
}

struct LoopTest : InferTest {
  Graph& body = module.add_graph("body", GraphRole::kBody);
  Value& step = body.add_input(0, "step");
  Value& go = body.add_input(0, "go");
  Value& carried = body.add_input(0, "carried");

  Node& loop(Value* trips, Value* start) {
    Node& node = graph.add_node(Op::kLoop, {trips, nullptr, start}, body.outputs().size() - 1);
    node.set_attribute("body", GraphRef{body.id()});
    return node;
  }
};

TEST_F(LoopTest, FixedTripsGiveTheLengthOfStackedResults) {
  Value& next = add(Op::kRelu, {&carried}, {}, &body);
  body.add_output(go);
  body.add_output(next);
  body.add_output(next);
  Node& node = loop(value("i64(5)"), value("f32[N, 3]"));
  infer();
  EXPECT_EQ(text(node.output(0)), "f32[N, 3]");
  EXPECT_EQ(text(node.output(1)), "f32[5, N, 3]");
}

TEST_F(LoopTest, CarriedDimsThatGrowAreUnknown) {
  Value& next = add(Op::kConcat, {&carried, &carried}, {{"axis", int64_t{0}}}, &body);
  body.add_output(add(Op::kNot, {&go}, {}, &body));
  body.add_output(next);
  body.add_output(carried);
  Node& node = loop(value("i64(5)"), value("f32[N, 3]"));
  infer();
  EXPECT_EQ(text(node.output(0)), "f32[?, 3]");
  EXPECT_EQ(text(node.output(1)), "f32[s1, ?, 3]");
  EXPECT_EQ(text(next), "f32[?, 3]");
}

TEST_F(InferTest, ScanSlicesAndStacks) {
  Graph& body = module.add_graph("body", GraphRole::kBody);
  Value& sum = add(Op::kAdd, {&body.add_input(0), &body.add_input(0)}, {}, &body);
  body.add_output(sum);
  body.add_output(sum);
  Node& node = graph.add_node(Op::kScan, {value("f32[4]"), value("f32[4, T]")}, 2);
  node.set_attribute("body", GraphRef{body.id()});
  node.set(attributes::Scan::num_scan_inputs, int64_t{1});
  node.set(attributes::Scan::scan_input_axes, Ints{1});
  infer();
  EXPECT_EQ(text(node.output(0)), "f32[4]");
  EXPECT_EQ(text(node.output(1)), "f32[T, 4]");
}

struct FlexAttentionTest : InferTest {
  Graph& body = module.add_graph("body", GraphRole::kBody);
  Value& scores = body.add_input(0, "scores");

  Node& attention(std::vector<Value*> captured = {}) {
    std::vector<Value*> inputs = {value("f16[N, 4, 5, 8]"), value("f16[N, 2, T, 8]"),
                                  value("f16[N, 2, T, 6]")};
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    Node& node = graph.add_node(Op::kFlexAttention, inputs);
    node.set_name("n");
    node.set(attributes::FlexAttention::score_mod, GraphRef{body.id()});
    return node;
  }
  std::string error() {
    ValueFacts facts(graph);
    const auto result = infer_graph(graph, facts);
    return result.ok() ? "none" : result.error().message;
  }
};

TEST_F(FlexAttentionTest, BodiesSeeScores) {
  Value& captured = body.add_input(0, "captured");
  body.captures = 1;
  body.add_output(add(Op::kMul, {&scores, &captured}, {}, &body));
  Node& node = attention({value("f32[4, 1, 1]")});
  infer();
  EXPECT_EQ(text(scores), "f32[N, 4, 5, T]");
  EXPECT_EQ(text(captured), "f32[4, 1, 1]");
  EXPECT_EQ(text(node.output()), "f16[N, 4, 5, 6]");
}

TEST_F(FlexAttentionTest, BodiesKeepTheTypeOfScores) {
  scores.set_type(Type::unranked(DType::kF16));
  body.add_output(add(Op::kNeg, {&scores}, {}, &body));
  Node& node = attention();
  EXPECT_EQ(error(),
            "node 'n' (FlexAttention): graph 'body' of attribute 'score_mod' takes f16 of unknown "
            "rank, expected f32[N, 4, 5, T]");
  node.set_attribute("softmax_precision", int64_t{10});
  EXPECT_EQ(error(), "none");
}

TEST_F(FlexAttentionTest, BodiesKeepTheShapeOfScores) {
  body.add_output(add(Op::kReduceMax, {&scores}, {}, &body));
  attention();
  EXPECT_EQ(error(),
            "node 'n' (FlexAttention): graph 'body' of attribute 'score_mod' gives f32[1, 1, 1, "
            "1], expected f32[N, 4, 5, T]");
}

TEST_F(FlexAttentionTest, BodiesHaveOneInputAndOneOutput) {
  body.add_input(0, "other");
  body.add_output(add(Op::kNeg, {&scores}, {}, &body));
  attention();
  EXPECT_EQ(error(), "node 'n' (FlexAttention): graph 'body' has 2 inputs, expected 1");
}

TEST_F(InferTest, FusedPassesValuesThroughItsBody) {
  Graph& body = module.add_graph("body", GraphRole::kFused);
  body.add_output(add(Op::kShape, {&body.add_input(0)}, {}, &body));
  Value& shape = add(Op::kFused, {value("f32[N, 3]")}, {{"body", GraphRef{body.id()}}});
  Value& y = add(Op::kConstantOfShape, {&shape});
  infer();
  EXPECT_EQ(text(y), "f32[N, 3]");
}

TEST_F(InferTest, BodiesThatHoldThemselvesAreRefused) {
  Graph& body = module.add_graph("body", GraphRole::kFused);
  Value& inner = add(Op::kFused, {&body.add_input(0)}, {}, &body);
  body.add_output(inner);
  inner.producer()->set_attribute("body", GraphRef{body.id()});
  Value& outer = add(Op::kFused, {value("f32[1]")});
  outer.producer()->set_attribute("body", GraphRef{body.id()});
  inner.producer()->set_attribute("body", GraphRef{body.id()});
  ValueFacts facts(graph);
  EXPECT_FALSE(infer_graph(graph, facts).ok());
  EXPECT_FALSE(infer_node(*inner.producer(), facts).ok());
}

TEST_F(InferTest, SequencesHoldWhatWasPutIn) {
  Value& sequence = add(Op::kSequenceConstruct, {value("f32[N, 3]"), value("f32[4, 3]")});
  Value& element = add(Op::kSequenceAt, {&sequence, value("i64(0)")});
  Value& joined = add(Op::kConcatFromSequence, {&sequence}, {{"axis", int64_t{1}}});
  infer();
  EXPECT_EQ(text(sequence), "sequence(f32[?, 3])");
  EXPECT_EQ(text(element), "f32[?, 3]");
  EXPECT_EQ(text(joined), "f32[?, ?]");
}

// Inference is linear in the number of nodes: a hundred thousand take a few seconds at most, where
// a quadratic algorithm would take minutes.
TEST_F(InferTest, HundredThousandNodes) {
  Value* x = value("f32[N, 8, H]");
  Value* weights = value("f32[8, 8, 3]");
  for (int i = 0; i < 25000; ++i) {
    Value& conv = add(Op::kConv, {x, weights}, {{"pads", Ints{1, 1}}});
    Value& shape = add(Op::kShape, {&conv});
    Value& same = add(Op::kReshape, {&conv, &shape});
    x = &add(Op::kAdd, {&same, x});
  }
  const auto start = std::chrono::steady_clock::now();
  ValueFacts facts(graph);
  ASSERT_TRUE(infer_graph(graph, facts).ok());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(seconds.count()));
  EXPECT_EQ(text(*x), "f32[N, 8, H]");
  EXPECT_LT(seconds.count(), 20);
}

}  // namespace
}  // namespace sluice
