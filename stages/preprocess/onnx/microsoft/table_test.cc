#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/import.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// Returns a model of one node over inputs a, b, c, ... of f32[N, S, 8].
onnx::ModelProto model_of(const std::string& op, size_t inputs, size_t outputs,
                          const std::string& domain = "com.microsoft") {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_domain(domain);
  node.set_name("the_node");
  for (size_t i = 0; i < inputs; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    node.add_input(name);
    onnx::ValueInfoProto& value = *graph.add_input();
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(1);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    type.mutable_shape()->add_dim()->set_dim_param("S");
    type.mutable_shape()->add_dim()->set_dim_value(8);
  }
  for (size_t i = 0; i < outputs; ++i) {
    node.add_output(fmt::format("y{}", i));
    graph.add_output()->set_name(node.output(static_cast<int>(i)));
  }
  return model;
}

Result<Module> import(const onnx::ModelProto& model) {
  const std::string text = model.SerializeAsString();
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  SLUICE_ASSIGN(ModelFile file, parse_model_file(std::make_shared<const std::vector<std::byte>>(
                                                     begin, begin + text.size()),
                                                 "test.onnx"));
  return import_model(std::move(file), Options{});
}

void set_int(onnx::ModelProto& model, const std::string& name, int64_t number) {
  onnx::AttributeProto& attribute = *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(number);
}

TEST(Microsoft, NodesBecomeTheLargestFusedOps) {
  struct Row {
    std::string op;
    size_t inputs;
    size_t outputs;
    std::vector<Op> made;
  };
  const Row rows[] = {
      {"BiasGelu", 2, 1, {Op::kAdd, Op::kGelu}},
      {"FastGelu", 1, 1, {Op::kGelu}},
      {"FusedMatMul", 2, 1, {Op::kMatMul}},
      {"FusedConv", 4, 1, {Op::kConv, Op::kAdd}},
      {"LayerNormalization", 3, 3, {Op::kLayerNormalization}},
      {"MultiHeadAttention", 3, 1, {Op::kShape, Op::kShape, Op::kShape, Op::kAttention}},
      {"QLinearAdd",
       8,
       1,
       {Op::kDequantizeLinear, Op::kDequantizeLinear, Op::kAdd, Op::kQuantizeLinear}},
      {"QuickGelu", 1, 1, {Op::kSwish}},
      {"SkipSimplifiedLayerNormalization", 3, 1, {Op::kAdd, Op::kRMSNormalization}},
  };
  for (const Row& row : rows) {
    onnx::ModelProto model = model_of(row.op, row.inputs, row.outputs);
    if (row.op == "MultiHeadAttention") set_int(model, "num_heads", 2);
    Module module;
    Graph& graph = module.add_graph("main");
    std::vector<Value*> inputs;
    for (size_t i = 0; i < row.inputs; ++i) {
      inputs.push_back(&graph.add_input(module.intern(Type::fixed_tensor(DType::kF32, {2, 3, 8}))));
    }
    ExpandCall call{graph, model.graph().node(0), inputs, {}};
    const ExpandRow* found = find_microsoft_operator(model.graph().node(0));
    ASSERT_NE(found, nullptr) << row.op;
    const auto expanded = expand_node(call, *found);
    ASSERT_TRUE(expanded.ok()) << row.op << ": " << expanded.error().message;
    std::vector<Op> made;
    for (const Node& node : graph.nodes()) made.push_back(node.op());
    EXPECT_THAT(made, ElementsAreArray(row.made)) << row.op;
    EXPECT_EQ(call.results.size(), row.outputs);
  }
}

template <typename Name>
concept AttributeIsReadBy = requires(const ExpandCall& call, Name name) { call.get(name); };
static_assert(AttributeIsReadBy<FloatAttribute> && !AttributeIsReadBy<std::string_view> &&
              !AttributeIsReadBy<const char*>);

TEST(Microsoft, AnAbsentAttributeHasTheDefaultOfItsRow) {
  using Attributes = microsoft_attributes::FusedGemm;
  Module module;
  onnx::ModelProto model = model_of("FusedGemm", 2, 1);
  set_int(model, "transB", 1);
  const ExpandCall call{module.add_graph("main"), model.graph().node(0), {}, {}};
  EXPECT_EQ(call.get(Attributes::alpha), 1);
  EXPECT_EQ(call.get(Attributes::transA), 0);
  EXPECT_EQ(call.get(Attributes::transB), 1);
  EXPECT_EQ(call.get(Attributes::activation), "");
  EXPECT_FALSE(call.has(Attributes::transA));
  EXPECT_TRUE(call.has(Attributes::transB));
}

// Models of ONNX's first releases have attributes without a type.
TEST(Microsoft, AttributesWithoutATypeAreCopied) {
  onnx::ModelProto model = model_of("FusedGemm", 2, 1);
  set_int(model, "transB", 1);
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_type();
  Module module;
  Graph& graph = module.add_graph("main");
  Value* matrix = &graph.add_input(module.intern(Type::fixed_tensor(DType::kF32, {8, 8})));
  ExpandCall call{graph, model.graph().node(0), {matrix, matrix}, {}};
  ASSERT_TRUE(expand_node(call, *find_microsoft_operator(call.proto)).ok());
  EXPECT_EQ(graph.first_node()->get(attributes::Gemm::transB), 1);
}

TEST(Microsoft, NodesKeepTheirOriginAndValuesTheirNames) {
  const auto module = import(model_of("BiasGelu", 2, 1));
  ASSERT_TRUE(module.ok()) << module.error().message;
  const Node& add = *module->root().first_node();
  const Node& gelu = *add.next();
  EXPECT_EQ(add.name(), "the_node/Add");
  EXPECT_EQ(gelu.name(), "the_node");
  EXPECT_EQ(gelu.output().name(), "y0");
  EXPECT_EQ(add.origins(), gelu.origins());
  EXPECT_EQ(add.origins().size(), 1u);
}

TEST(Microsoft, OnlyItsDomainAndNamesAreTaken) {
  EXPECT_EQ(find_microsoft_operator(model_of("BiasGelu", 2, 1, "").graph().node(0)), nullptr);
  EXPECT_EQ(find_microsoft_operator(model_of("BiasGelu", 2, 1, "elsewhere").graph().node(0)),
            nullptr);
  EXPECT_EQ(find_microsoft_operator(model_of("BeamSearch", 2, 1).graph().node(0)), nullptr);
  EXPECT_NE(
      find_microsoft_operator(model_of("SimplifiedLayerNormalization", 2, 1, "").graph().node(0)),
      nullptr);
}

TEST(Microsoft, AFunctionOfTheModelGoesFirst) {
  onnx::ModelProto model = model_of("BiasGelu", 2, 1);
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("com.microsoft");
  function.set_name("BiasGelu");
  for (const char* name : {"p", "q"}) function.add_input(name);
  function.add_output("r");
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type("Sub");
  for (const char* name : {"p", "q"}) node.add_input(name);
  node.add_output("r");
  const auto module = import(model);
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->root().first_node()->op(), Op::kSub);
}

TEST(Microsoft, WhatIsWrongIsNamed) {
  const auto message = [](const onnx::ModelProto& model) {
    const auto module = import(model);
    return module.ok() ? std::string("no error") : module.error().message;
  };
  EXPECT_THAT(message(model_of("BiasGelu", 1, 1)),
              HasSubstr("'the_node' (BiasGelu): input 1 'B' is absent"));
  EXPECT_THAT(message(model_of("BiasGelu", 2, 2)),
              HasSubstr("it has 2 outputs, expected at most 1"));
  onnx::ModelProto unknown = model_of("BiasGelu", 2, 1);
  set_int(unknown, "depth", 3);
  EXPECT_THAT(message(unknown), HasSubstr("attribute 'depth' is not known"));
  EXPECT_THAT(message(model_of("BeamSearch", 1, 1)),
              HasSubstr("BeamSearch of domain 'com.microsoft' (1 node: 'the_node')"));
}

}  // namespace
}  // namespace sluice
