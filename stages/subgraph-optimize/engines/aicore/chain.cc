#include "stages/subgraph-optimize/engines/aicore/chain.h"

#include "common/ops/attributes.h"

namespace sluice {

Chain::Chain(Graph& graph, Value& start, Node* before)
    : graph_(graph),
      value_(&start),
      before_(before),
      dims_(start.type().extents().value_or(std::vector<int64_t>{})) {}

Value* Chain::indices(std::vector<int64_t> numbers) {
  Module& module = graph_.module();
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kI64, {static_cast<int64_t>(numbers.size())}));
  const auto bytes = std::as_bytes(std::span(numbers));
  return &graph_.add_constant(module.make_constant(type, {bytes.begin(), bytes.end()}));
}

Chain& Chain::append(Op op, const std::vector<Value*>& inputs, const Type& type) {
  Node& node = graph_.add_node(op, inputs, 1, before_);
  node.output().set_type(type);
  value_ = &node.output();
  dims_ = *type.extents();
  return *this;
}

Chain& Chain::append(Op op, const std::vector<Value*>& inputs, std::vector<int64_t> dims) {
  return append(op, inputs, Type::fixed_tensor(value_->type().dtype, std::move(dims)));
}

Chain& Chain::cast(DType dtype) {
  if (value_->type().dtype == dtype) return *this;
  append(Op::kCast, {value_}, Type::fixed_tensor(dtype, dims_));
  value_->producer()->set(attributes::Cast::to, static_cast<int64_t>(dtype));
  return *this;
}

Chain& Chain::expand(std::vector<int64_t> dims) {
  Value* target = indices(dims);
  return append(Op::kExpand, {value_, target}, std::move(dims));
}

Chain& Chain::subtract(Value& other) { return append(Op::kSub, {value_, &other}, dims_); }

Chain& Chain::sum_last() {
  Value* axes = indices({static_cast<int64_t>(dims_.size()) - 1});
  std::vector<int64_t> dims(dims_.begin(), dims_.end() - 1);
  append(Op::kReduceSum, {value_, axes}, std::move(dims));
  value_->producer()->set(attributes::Reduce::keepdims, int64_t{0});
  return *this;
}

Chain& Chain::add_number(int32_t number) {
  Module& module = graph_.module();
  const auto bytes = std::as_bytes(std::span(&number, 1));
  Value& constant = graph_.add_constant(module.make_constant(
      module.intern(Type::fixed_tensor(DType::kI32, {})), {bytes.begin(), bytes.end()}));
  return append(Op::kAdd, {value_, &constant}, dims_);
}

Chain& Chain::reshape(std::vector<int64_t> dims) {
  if (dims == dims_) return *this;
  Value* shape = indices(dims);
  return append(Op::kReshape, {value_, shape}, std::move(dims));
}

Chain& Chain::transpose(std::vector<int64_t> permutation) {
  std::vector<int64_t> dims;
  bool identity = true;
  for (size_t i = 0; i < permutation.size(); ++i) {
    dims.push_back(dims_[static_cast<size_t>(permutation[i])]);
    identity = identity && permutation[i] == static_cast<int64_t>(i);
  }
  if (identity) return *this;
  append(Op::kTranspose, {value_}, std::move(dims));
  value_->producer()->set(attributes::Transpose::perm, std::move(permutation));
  return *this;
}

Chain& Chain::pad_last(int64_t extent) {
  if (dims_.back() == extent) return *this;
  std::vector<int64_t> pads(2 * dims_.size(), 0);
  pads.back() = extent - dims_.back();
  std::vector<int64_t> dims = dims_;
  dims.back() = extent;
  Value* amounts = indices(std::move(pads));
  return append(Op::kPad, {value_, amounts}, std::move(dims));
}

Chain& Chain::slice_last(int64_t extent) {
  if (dims_.back() == extent) return *this;
  std::vector<int64_t> dims = dims_;
  dims.back() = extent;
  const auto axis = static_cast<int64_t>(dims.size()) - 1;
  Value* starts = indices({0});
  Value* ends = indices({extent});
  Value* axes = indices({axis});
  return append(Op::kSlice, {value_, starts, ends, axes}, std::move(dims));
}

}  // namespace sluice
