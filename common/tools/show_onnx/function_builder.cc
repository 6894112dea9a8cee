#include "common/tools/show_onnx/function_builder.h"

namespace sluice {

std::string FunctionBuilder::add_input() {
  const std::string name = "x" + std::to_string(function_.input_size());
  function_.add_input(name);
  return name;
}

std::string FunctionBuilder::add(std::string_view op, const std::vector<std::string>& inputs) {
  onnx::NodeProto& node = *function_.add_node();
  node.set_op_type(std::string(op));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(std::to_string(names_++));
  return node.output(0);
}

onnx::AttributeProto& FunctionBuilder::attribute(std::string_view name,
                                                 onnx::AttributeProto::AttributeType type) {
  onnx::NodeProto& node = *function_.mutable_node(function_.node_size() - 1);
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

void FunctionBuilder::set(std::string_view name, int64_t value) {
  attribute(name, onnx::AttributeProto::INT).set_i(value);
}

void FunctionBuilder::set(std::string_view name, float value) {
  attribute(name, onnx::AttributeProto::FLOAT).set_f(value);
}

void FunctionBuilder::set(std::string_view name, const Ints& values) {
  attribute(name, onnx::AttributeProto::INTS).mutable_ints()->Add(values.begin(), values.end());
}

std::string FunctionBuilder::ints(const Ints& values) {
  std::string name = add("Constant", {});
  set("value_ints", values);
  return name;
}

std::string FunctionBuilder::number_like(float number, const std::string& of) {
  const std::string constant = add("Constant", {});
  set("value_float", number);
  return add("CastLike", {constant, of});
}

std::string FunctionBuilder::reshaped(const std::string& of, const Ints& dims) {
  const std::string shape = ints(dims);
  return add("Reshape", {of, shape});
}

std::string FunctionBuilder::transposed(const std::string& of, const Ints& order) {
  std::string name = add("Transpose", {of});
  set("perm", order);
  return name;
}

onnx::FunctionProto FunctionBuilder::finish(const std::string& result) && {
  function_.add_output(result);
  return std::move(function_);
}

}  // namespace sluice
