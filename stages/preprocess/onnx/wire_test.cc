#include "stages/preprocess/onnx/wire.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "onnx.pb.h"

namespace sluice {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void fill(onnx::TensorProto& tensor, const std::string& name, size_t floats) {
  tensor.set_name(name);
  tensor.set_data_type(1);
  tensor.add_dims(static_cast<int64_t>(floats));
  tensor.set_raw_data(std::string(floats * 4, 'w'));
}

// Returns a model with payloads in an initializer, in an attribute of a node, in a body, in a
// function, and in packed floats.
onnx::ModelProto sample() {
  onnx::ModelProto model;
  model.set_ir_version(10);
  onnx::GraphProto& graph = *model.mutable_graph();
  fill(*graph.add_initializer(), "large", 1000);
  fill(*graph.add_initializer(), "small", 4);
  onnx::TensorProto& packed = *graph.add_initializer();
  packed.set_name("packed");
  packed.set_data_type(1);
  packed.add_dims(500);
  for (int i = 0; i < 500; ++i) packed.add_float_data(static_cast<float>(i));
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("If");
  node.set_doc_string("nobody reads this");
  onnx::AttributeProto& branch = *node.add_attribute();
  branch.set_name("then_branch");
  fill(*branch.mutable_g()->add_initializer(), "inner", 300);
  onnx::NodeProto& constant = *model.add_functions()->add_node();
  fill(*constant.add_attribute()->mutable_t(), "in function", 400);
  return model;
}

std::string_view payload(const onnx::TensorProto& tensor, const std::string& model) {
  return std::string_view(model).substr(
      static_cast<size_t>(tensor.segment().begin()),
      static_cast<size_t>(tensor.segment().end() - tensor.segment().begin()));
}

TEST(Wire, LeavesLargePayloadsWhereTheyLie) {
  const std::string model = sample().SerializeAsString();
  const auto reduced = drop_payloads(bytes_of(model));
  ASSERT_TRUE(reduced.ok());
  EXPECT_LT(reduced->size(), 400u);
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(*reduced));
  const onnx::GraphProto& graph = parsed.graph();
  EXPECT_EQ(payload(graph.initializer(0), model), std::string(4000, 'w'));
  EXPECT_FALSE(graph.initializer(0).has_raw_data());
  EXPECT_EQ(graph.initializer(1).raw_data(), std::string(16, 'w'));
  EXPECT_FALSE(graph.initializer(1).has_segment());
  const std::string_view floats = payload(graph.initializer(2), model);
  ASSERT_EQ(floats.size(), 2000u);
  float last = 0;
  std::memcpy(&last, floats.data() + 1996, 4);
  EXPECT_EQ(last, 499.0f);
  EXPECT_EQ(payload(graph.node(0).attribute(0).g().initializer(0), model).size(), 1200u);
  EXPECT_FALSE(graph.node(0).has_doc_string());
  EXPECT_EQ(payload(parsed.functions(0).node(0).attribute(0).t(), model).size(), 1600u);
}

TEST(Wire, SurvivesEveryTruncation) {
  const std::string model = sample().SerializeAsString();
  for (size_t size = 0; size < model.size(); ++size) {
    const auto reduced = drop_payloads(bytes_of(model).first(size));
    EXPECT_TRUE(reduced.ok() || reduced.error().code == ErrorCode::kBadModel);
  }
  EXPECT_FALSE(drop_payloads(bytes_of(model).first(model.size() - 1)).ok());
}

TEST(Wire, SurvivesDamage) {
  const std::string model = sample().SerializeAsString();
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = model;
    for (int k = 0; k < 1 + round % 4; ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto reduced = drop_payloads(bytes_of(damaged));
    if (!reduced) continue;
    onnx::ModelProto parsed;
    if (!parsed.ParseFromString(*reduced)) continue;
    for (const onnx::TensorProto& tensor : parsed.graph().initializer()) {
      if (!tensor.has_segment()) continue;
      EXPECT_LE(tensor.segment().begin(), tensor.segment().end());
      EXPECT_LE(tensor.segment().end(), static_cast<int64_t>(damaged.size()));
    }
  }
}

TEST(Wire, RefusesDeepNesting) {
  onnx::ModelProto model;
  onnx::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 70; ++i) graph = graph->add_node()->add_attribute()->mutable_g();
  const auto reduced = drop_payloads(bytes_of(model.SerializeAsString()));
  ASSERT_FALSE(reduced.ok());
  EXPECT_NE(reduced.error().message.find("nested too deeply"), std::string::npos);
}

TEST(Wire, RefusesTwoPayloadsForOneTensor) {
  onnx::ModelProto model;
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  fill(tensor, "w", 1000);
  for (int i = 0; i < 1000; ++i) tensor.add_float_data(1);
  EXPECT_FALSE(drop_payloads(bytes_of(model.SerializeAsString())).ok());
}

}  // namespace
}  // namespace sluice
