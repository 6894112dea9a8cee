// Builds a function of an ONNX model, node by node.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "onnx.pb.h"

namespace sluice {

class FunctionBuilder {
 public:
  using Ints = std::vector<int64_t>;

  explicit FunctionBuilder(std::string_view name) { function_.set_name(std::string(name)); }

  std::string add_input();
  // Adds a node and returns the name of its result.
  std::string add(std::string_view op, const std::vector<std::string>& inputs);
  // Give the node that was added last an attribute.
  void set(std::string_view name, int64_t value);
  void set(std::string_view name, float value);
  void set(std::string_view name, const Ints& values);

  std::string ints(const Ints& values);                          // a constant, i64 [n]
  std::string number_like(float number, const std::string& of);  // a scalar of the same dtype
  std::string reshaped(const std::string& of, const Ints& dims);
  std::string transposed(const std::string& of, const Ints& order);

  onnx::FunctionProto finish(const std::string& result) &&;

 private:
  onnx::AttributeProto& attribute(std::string_view name, onnx::AttributeProto::AttributeType type);

  onnx::FunctionProto function_;
  int names_ = 0;
};

}  // namespace sluice
