#include "stages/optimize/node_maker.h"

#include <algorithm>
#include <cstring>

#include "common/ops/attributes.h"
#include "stages/optimize/constants.h"

namespace sluice {
namespace {

Value& add_scalar(Graph& graph, DType dtype, const void* bytes) {
  std::vector<std::byte> element(static_cast<size_t>(dtype_bits(dtype) / 8));
  std::memcpy(element.data(), bytes, element.size());
  Module& module = graph.module();
  return graph.add_constant(
      module.make_constant(module.intern(Type::fixed_tensor(dtype, {})), std::move(element)));
}

}  // namespace

std::vector<int64_t> reshape_target(const std::vector<Dim>& from, const std::vector<Dim>& to) {
  std::vector<int64_t> target;
  for (size_t i = 0; i < to.size(); ++i) {
    const bool is_kept = i < from.size() && from[i] == to[i];
    target.push_back(to[i].is_fixed() ? to[i].value : is_kept ? 0 : -1);
  }
  return target;
}

// A value that already has a name of the model is copied for a further one.
void NodeMaker::give(size_t output, Value& value) {
  if (output >= model_.output_count() || !model_.output(output).is_used()) return;
  Value& result = model_.output(output);
  if (value.name().empty()) value.set_name(result.name());
  if (!editor_.replace(result, value))
    editor_.replace(result, add(Op::kIdentity, {&value}, value.type()));
}

void NodeMaker::finish() { finish({&model_}); }

void NodeMaker::finish(const std::vector<Node*>& replaced) {
  editor_.control().transfer(replaced, made_);
  for (auto node = replaced.rbegin(); node != replaced.rend(); ++node) graph_.erase_node(**node);
}

void NodeMaker::abandon() {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) graph_.erase_node(**made);
  made_.clear();
}

Node& NodeMaker::node(Op op, const std::vector<Value*>& inputs, const Type& type) {
  Node& made = graph_.add_node(op, inputs, 0, &model_);
  made.set_name(model_.name());
  made.placement = model_.placement;
  made.add_origins(model_.origins());
  made.add_output(graph_.module().intern(type));
  made_.push_back(&made);
  return made;
}

void NodeMaker::copy(const Node& node, ModuleMapper& mapper, std::vector<Value*>& values) {
  Node& made = mapper.clone_node(node, graph_, values, &model_);
  made.placement = model_.placement;
  made.add_origins(model_.origins());
  made_.push_back(&made);
}

Value& NodeMaker::add(Op op, const std::vector<Value*>& inputs, const Type& type) {
  return node(op, inputs, type).output();
}

Value& NodeMaker::elementwise(Op op, const std::vector<Value*>& inputs, DType dtype) {
  std::vector<Dim> dims;
  for (const Value* input : inputs) {
    const std::vector<Dim>& own = input->type().dims;
    if (own.size() > dims.size())
      dims.insert(dims.begin(), own.size() - dims.size(), Dim::fixed(1));
    const size_t offset = dims.size() - own.size();
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] != Dim::fixed(1)) dims[offset + i] = own[i];
    }
  }
  return add(op, inputs, Type::tensor(dtype, std::move(dims)));
}

Value& NodeMaker::cast(Value& x, DType dtype) {
  if (x.type().dtype == dtype) return x;
  Node& made = node(Op::kCast, {&x}, Type::tensor(dtype, x.type().dims));
  made.set(attributes::Cast::to, static_cast<int64_t>(dtype));
  return made.output();
}

Value& NodeMaker::reshape(Value& x, const std::vector<Dim>& dims) {
  return add(Op::kReshape, {&x, &add_ints(graph_, reshape_target(x.type().dims, dims))},
             Type::tensor(x.type().dtype, dims));
}

Value& NodeMaker::transpose(Value& x, const std::vector<int64_t>& order) {
  std::vector<Dim> dims;
  for (const int64_t axis : order) dims.push_back(x.type().dims[static_cast<size_t>(axis)]);
  Node& made = node(Op::kTranspose, {&x}, Type::tensor(x.type().dtype, std::move(dims)));
  made.set(attributes::Transpose::perm, order);
  return made.output();
}

Value& NodeMaker::pad_end(Value& x, int64_t count, Value& element) {
  Type type = x.type();
  std::vector<int64_t> pads(2 * type.dims.size(), 0);
  pads.back() = count;
  type.dims.back() = Dim::fixed(type.dims.back().value + count);
  return add(Op::kPad, {&x, &add_ints(graph_, pads), &element}, type);
}

Value& NodeMaker::extent(Value& x, size_t axis) {
  const Dim& dim = x.type().dims[axis];
  if (dim.is_fixed()) return add_ints(graph_, {dim.value});
  Node& made = node(Op::kShape, {&x}, Type::fixed_tensor(DType::kI64, {1}));
  made.set(attributes::Shape::start, static_cast<int64_t>(axis));
  made.set(attributes::Shape::end, static_cast<int64_t>(axis) + 1);
  return made.output();
}

Value& NodeMaker::size(Value& x, size_t axis) { return cast(extent(x, axis), DType::kI32); }

// The exclusive sums of ones: their number may be known only while running, and does not depend on
// data.
Value& NodeMaker::places(Value& x, size_t axis) {
  Value& ones = copies(integer(DType::kI32, 1), x, axis);
  Node& sums = node(Op::kCumSum, {&ones, &integer(DType::kI64, 0)}, ones.type());
  sums.set(attributes::CumSum::exclusive, int64_t{1});
  return sums.output();
}

Value& NodeMaker::copies(Value& element, Value& x, size_t axis) {
  return add(Op::kExpand, {&element, &extent(x, axis)},
             Type::tensor(element.type().dtype, {x.type().dims[axis]}));
}

Value& NodeMaker::number(float number) { return add_scalar(graph_, DType::kF32, &number); }

// The first bytes of a little-endian integer are the same integer in fewer bytes.
Value& NodeMaker::integer(DType dtype, int64_t number) {
  return add_scalar(graph_, dtype, &number);
}

}  // namespace sluice
