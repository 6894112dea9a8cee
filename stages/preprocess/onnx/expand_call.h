// A node of another domain than ONNX's own while it is replaced by canonical nodes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/ops/infer.h"
#include "onnx.pb.h"
#include "stages/preprocess/onnx/constants.h"

namespace sluice {

struct ExpandCall {
  Graph& graph;
  const onnx::NodeProto& proto;
  std::vector<Value*> inputs;  // null: absent; use input()
  // To be filled: one for each output of the node, null where wants() is false.
  std::vector<Value*> results;
  Constants* constants = nullptr;  // of the model; for rows with attributes that are tensors
  ValueFacts* facts = nullptr;     // what is known about the contents of inputs
  std::string_view states = {};    // the value of --state

  Value* input(size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  bool wants(size_t output) const;

  // Attributes; the table has checked their kinds. An absent one has the default of its row.
  template <typename T>
  bool has(const AttributeName<T>& attribute) const {
    return find(attribute.name) != nullptr;
  }
  int64_t get(const IntAttribute& attribute) const;
  float get(const FloatAttribute& attribute) const;
  std::string get(const StringAttribute& attribute) const;
  std::vector<int64_t> get(const IntsAttribute& attribute) const;  // empty when absent
  std::vector<float> get(const FloatsAttribute& attribute) const;
  std::vector<std::string> get(const StringsAttribute& attribute) const;
  Result<Value*> tensor(const TensorAttribute& attribute);  // null when absent

  // Adds a node after all others. Absent inputs at the end are dropped.
  Node& add_node(Op op, std::vector<Value*> operands, size_t outputs,
                 std::initializer_list<Attribute> attributes = {});
  Value* add(Op op, std::vector<Value*> operands, std::initializer_list<Attribute> attributes = {});
  // Copies those of these attributes that the call has to `node`, under the same names.
  template <typename... Names>
  void copy(Node& node, const Names&... attributes) const {
    ((has(attributes) ? node.set(attributes, get(attributes)) : void()), ...);
  }

  Value* ints(std::vector<int64_t> elements);  // i64, rank 1
  Value* int_scalar(int64_t element);
  Value* floats(std::vector<float> elements);         // f32, rank 1
  Value* strings(std::vector<std::string> elements);  // rank 1
  Value* constant(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes);
  Value* number(float element);               // f32 scalar
  Value* number(float element, Value* like);  // scalar of the dtype of `like`
  Value* int_like(int64_t element, Value* like);

  // The following are pieces that several operators need.
  Value* dim(Value* value, int64_t axis);  // i64, one element; a negative axis counts from the end
  Value* cast(Value* value, DType dtype);
  Value* concat(std::vector<Value*> parts, int64_t axis);
  Value* reshape_to(Value* value, std::vector<Value*> shape);  // parts of the target shape
  Value* reshape(Value* value, std::vector<int64_t> shape);
  Value* transpose(Value* value, std::vector<int64_t> order);
  Value* slice(Value* value, Value* from, Value* to, int64_t axis);
  Value* unsqueeze(Value* value, std::vector<int64_t> axes);
  Value* range(Value* from, Value* to);  // of two i64 scalars

  std::string label() const;
  // Return the rank or dtype of an input that is present, or an error where it is not known yet.
  Result<int64_t> rank(size_t index) const;
  Result<DType> dtype(size_t index) const;

  template <typename... Args>
  Error unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(ErrorCode::kUnsupportedOp, "{}: {}", label(),
                      fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  Error bad(fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(ErrorCode::kBadModel, "{}: {}", label(),
                      fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const onnx::AttributeProto* find(std::string_view name) const;
};

}  // namespace sluice
