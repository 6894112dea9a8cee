#include "stages/preprocess/onnx/expand_call.h"

#include <cstring>
#include <span>

#include "common/base/tensor.h"
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/node_order.h"

namespace sluice {
namespace {

template <typename T>
Value* constant_of(Graph& graph, DType dtype, const std::vector<int64_t>& dims,
                   const std::vector<T>& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  Module& module = graph.module();
  return &graph.add_constant(module.make_constant(module.intern(Type::fixed_tensor(dtype, dims)),
                                                  {bytes.begin(), bytes.end()}));
}

}  // namespace

bool ExpandCall::wants(size_t output) const {
  const int index = static_cast<int>(output);
  return index < proto.output_size() && !proto.output(index).empty();
}

const onnx::AttributeProto* ExpandCall::find(std::string_view name) const {
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t ExpandCall::get(const IntAttribute& attribute) const {
  const onnx::AttributeProto* found = find(attribute.name);
  return found == nullptr ? attribute.value : found->i();
}

float ExpandCall::get(const FloatAttribute& attribute) const {
  const onnx::AttributeProto* found = find(attribute.name);
  return found == nullptr ? attribute.value : found->f();
}

std::string ExpandCall::get(const StringAttribute& attribute) const {
  const onnx::AttributeProto* found = find(attribute.name);
  return found == nullptr ? std::string(attribute.value) : found->s();
}

std::vector<int64_t> ExpandCall::get(const IntsAttribute& attribute) const {
  const onnx::AttributeProto* found = find(attribute.name);
  return found == nullptr ? std::vector<int64_t>{}
                          : std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

std::vector<float> ExpandCall::get(const FloatsAttribute& attribute) const {
  const onnx::AttributeProto* found = find(attribute.name);
  return found == nullptr ? std::vector<float>{}
                          : std::vector<float>(found->floats().begin(), found->floats().end());
}

std::vector<std::string> ExpandCall::get(const StringsAttribute& attribute) const {
  const onnx::AttributeProto* found = find(attribute.name);
  return found == nullptr
             ? std::vector<std::string>{}
             : std::vector<std::string>(found->strings().begin(), found->strings().end());
}

Result<Value*> ExpandCall::tensor(const TensorAttribute& attribute) {
  const onnx::AttributeProto* found = find(attribute.name);
  if (found == nullptr) return static_cast<Value*>(nullptr);
  SLUICE_ASSIGN(
      const SegmentId segment,
      constants->segment(found->t(), fmt::format("{}: attribute '{}'", label(), attribute.name)));
  return &graph.add_constant(segment);
}

Node& ExpandCall::add_node(Op op, std::vector<Value*> operands, size_t outputs,
                           std::initializer_list<Attribute> attributes) {
  while (!operands.empty() && operands.back() == nullptr) operands.pop_back();
  Node& node = graph.add_node(op, operands, outputs);
  for (const Attribute& attribute : attributes) node.set_attribute(attribute.name, attribute.value);
  return node;
}

Value* ExpandCall::add(Op op, std::vector<Value*> operands,
                       std::initializer_list<Attribute> attributes) {
  return &add_node(op, std::move(operands), 1, attributes).output();
}

Value* ExpandCall::ints(std::vector<int64_t> elements) {
  return constant_of(graph, DType::kI64, {static_cast<int64_t>(elements.size())}, elements);
}
Value* ExpandCall::int_scalar(int64_t element) {
  return constant_of<int64_t>(graph, DType::kI64, {}, {element});
}
Value* ExpandCall::floats(std::vector<float> elements) {
  return constant_of(graph, DType::kF32, {static_cast<int64_t>(elements.size())}, elements);
}

Value* ExpandCall::strings(std::vector<std::string> elements) {
  const Tensor tensor = make_string_tensor({static_cast<int64_t>(elements.size())}, elements);
  return constant(DType::kString, tensor.dims, {tensor.bytes.begin(), tensor.bytes.end()});
}

Value* ExpandCall::constant(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
  return constant_of(graph, dtype, dims, bytes);
}

Value* ExpandCall::number(float element) {
  return constant_of<float>(graph, DType::kF32, {}, {element});
}

Value* ExpandCall::number(float element, Value* like) {
  const DType dtype = like->type().dtype;
  if (dtype == DType::kF32) return number(element);
  if (dtype == DType::kF64)
    return constant_of<double>(graph, DType::kF64, {}, {static_cast<double>(element)});
  return add(Op::kCastLike, {number(element), like});
}

Value* ExpandCall::int_like(int64_t element, Value* like) {
  return add(Op::kCastLike, {int_scalar(element), like});
}

Value* ExpandCall::dim(Value* value, int64_t axis) {
  Node& node = add_node(Op::kShape, {value}, 1, {{"start", axis}});
  if (axis != -1) node.set(attributes::Shape::end, axis + 1);
  return &node.output();
}

Value* ExpandCall::cast(Value* value, DType dtype) {
  return add(Op::kCast, {value}, {{"to", static_cast<int64_t>(dtype)}});
}
Value* ExpandCall::concat(std::vector<Value*> parts, int64_t axis) {
  return add(Op::kConcat, std::move(parts), {{"axis", axis}});
}

Value* ExpandCall::reshape_to(Value* value, std::vector<Value*> shape) {
  return add(Op::kReshape, {value, shape.size() == 1 ? shape[0] : concat(std::move(shape), 0)});
}

Value* ExpandCall::reshape(Value* value, std::vector<int64_t> shape) {
  return add(Op::kReshape, {value, ints(std::move(shape))});
}

Value* ExpandCall::transpose(Value* value, std::vector<int64_t> order) {
  return add(Op::kTranspose, {value}, {{"perm", std::move(order)}});
}

Value* ExpandCall::slice(Value* value, Value* from, Value* to, int64_t axis) {
  return add(Op::kSlice, {value, from, to, ints({axis})});
}

Value* ExpandCall::unsqueeze(Value* value, std::vector<int64_t> axes) {
  return add(Op::kUnsqueeze, {value, ints(std::move(axes))});
}

Value* ExpandCall::range(Value* from, Value* to) {
  return add(Op::kRange, {from, to, int_scalar(1)});
}

std::string ExpandCall::label() const { return node_label(proto); }

Result<int64_t> ExpandCall::rank(size_t index) const {
  const Type& type = inputs[index]->type();
  if (type.is_tensor() && type.ranked) return type.rank();
  return unsupported("its form depends on the rank of input {} '{}', which the model does not say",
                     index, proto.input(static_cast<int>(index)));
}

Result<DType> ExpandCall::dtype(size_t index) const {
  const Type& type = inputs[index]->type();
  if (type.is_tensor() && type.dtype != DType::kUndefined) return type.dtype;
  return unsupported("its form depends on the dtype of input {} '{}', which the model does not say",
                     index, proto.input(static_cast<int>(index)));
}

}  // namespace sluice
