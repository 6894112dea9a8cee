// Nodes with constant operands, for tests of kernels.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/eval/eval.h"

namespace sluice {

using Ints = std::vector<int64_t>;  // an attribute, or dims

template <typename T>
Tensor tensor_of(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  Tensor tensor = make_tensor(dtype, std::move(dims));
  EXPECT_EQ(tensor.bytes.size(), values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}
inline Tensor f32(std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor_of(DType::kF32, std::move(dims), values);
}
inline Tensor f64(std::vector<int64_t> dims, const std::vector<double>& values) {
  return tensor_of(DType::kF64, std::move(dims), values);
}
inline Tensor i64(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return tensor_of(DType::kI64, std::move(dims), values);
}
inline Tensor i32(std::vector<int64_t> dims, const std::vector<int32_t>& values) {
  return tensor_of(DType::kI32, std::move(dims), values);
}
inline Tensor u8(std::vector<int64_t> dims, const std::vector<uint8_t>& values) {
  return tensor_of(DType::kU8, std::move(dims), values);
}
inline Tensor i8(std::vector<int64_t> dims, const std::vector<int8_t>& values) {
  return tensor_of(DType::kI8, std::move(dims), values);
}
inline Tensor bools(std::vector<int64_t> dims, const std::vector<uint8_t>& values) {
  return tensor_of(DType::kBool, std::move(dims), values);
}
inline Tensor texts(std::vector<int64_t> dims, const std::vector<std::string>& values) {
  return make_string_tensor(std::move(dims), values);
}

// A node that was evaluated. An input of dtype kUndefined is absent.
class NodeRun {
 public:
  NodeRun(Op op, std::vector<Tensor> inputs, std::vector<Attribute> attributes = {},
          size_t outputs = 1) {
    std::vector<Value*> values(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].dtype == DType::kUndefined) continue;
      values[i] = &graph_.add_input(0);
      inputs_.push_back(EvalValue::of(std::move(inputs[i])));
    }
    Node& node = graph_.add_node(op, values, outputs);
    node.set_name("n");
    for (const Attribute& attribute : attributes)
      node.set_attribute(attribute.name, attribute.value);
    for (size_t i = 0; i < outputs; ++i) graph_.add_output(node.output(i));
    auto result = evaluate_graph(graph_, inputs_);
    if (result.ok()) {
      outputs_ = std::move(result).value();
    } else {
      error_ = std::move(result).error();
    }
  }

  bool ok() const { return error_.message.empty(); }
  const Error& error() const { return error_; }
  const EvalValue& value(size_t index = 0) const { return outputs_.at(index); }
  const Tensor& tensor(size_t index = 0) const { return *outputs_.at(index).tensor; }
  template <typename T>
  std::vector<T> get(size_t index = 0) const {
    if (!ok()) {
      ADD_FAILURE() << error_.message;
      return {};
    }
    const auto span = tensor(index).as<T>();
    return {span.begin(), span.end()};
  }
  std::vector<int64_t> dims(size_t index = 0) const {
    return ok() ? tensor(index).dims : std::vector<int64_t>{-1};
  }

 private:
  Module module_;
  Graph& graph_ = module_.add_graph("g");
  std::vector<EvalValue> inputs_;
  std::vector<EvalValue> outputs_;
  Error error_;
};

}  // namespace sluice
