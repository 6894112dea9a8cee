#include "orchestrator/conformance/model_signature.h"

#include <gtest/gtest.h>

#include "onnx.pb.h"

namespace sluice {
namespace {

void add_input(onnx::GraphProto& graph, const std::string& name, std::vector<std::string> dims) {
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  onnx::TypeProto::Tensor& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(1);
  for (const std::string& dim : dims) {
    auto& entry = *tensor.mutable_shape()->add_dim();
    if (std::isdigit(dim[0])) {
      entry.set_dim_value(std::stoll(dim));
    } else {
      entry.set_dim_param(dim);
    }
  }
}

std::string model_bytes() {
  onnx::ModelProto model;
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {"1", "3"});
  add_input(graph, "w", {"8"});
  add_input(graph, "y", {"N", "3"});
  add_input(graph, "sparse", {"2"});
  graph.add_input()->set_name("untyped");
  onnx::ValueInfoProto& sequence = *graph.add_output();
  sequence.set_name("s");
  sequence.mutable_type()->mutable_sequence_type();
  graph.add_initializer()->set_name("w");
  graph.mutable_initializer(0)->set_raw_data(std::string(1000, 'x'));
  graph.add_sparse_initializer()->mutable_values()->set_name("sparse");
  return model.SerializeAsString();
}

TEST(ModelSignature, InputsWithoutInitializer) {
  const std::string bytes = model_bytes();
  const Result<ModelSignature> signature = read_model_signature(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(signature.ok());
  ASSERT_EQ(signature->inputs.size(), 3u);
  EXPECT_EQ(signature->inputs[0].name, "x");
  EXPECT_TRUE(signature->inputs[0].fixed);
  EXPECT_EQ(signature->inputs[1].name, "y");
  EXPECT_FALSE(signature->inputs[1].fixed);
  EXPECT_FALSE(signature->inputs[2].fixed);
  ASSERT_EQ(signature->outputs.size(), 1u);
  EXPECT_EQ(signature->outputs[0].kind, ValueKind::kSequence);
}

TEST(ModelSignature, DamagedModelsAreErrors) {
  const std::string bytes = model_bytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_model_signature(std::as_bytes(std::span(bytes).first(length))).ok())
        << length;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    (void)read_model_signature(std::as_bytes(std::span(changed)));
  }
}

}  // namespace
}  // namespace sluice
