#include "stages/optimize/precision/value_casts.h"

#include "common/ops/attributes.h"
#include "stages/optimize/precision/cast_constant.h"

namespace sluice {
namespace {

Type with_dtype(Type type, DType dtype) {
  type.dtype = dtype;
  return type;
}

std::string name_in(const std::string& name, DType dtype) {
  return name.empty() ? name : fmt::format("{}:{}", name, dtype_name(dtype));
}

// Returns whether every number of the narrow dtype is one of the wide dtype.
bool is_widening(DType narrow, DType wide) {
  const bool is_half = narrow == DType::kF16 || narrow == DType::kBF16;
  return is_half && (wide == DType::kF32 || wide == DType::kF64);
}

bool is_whole_constant(const Value& value) {
  return value.is_constant() && !value.is_input() && value.type().is_fixed() &&
         value.graph().module().segment(value.segment()).kind != SegmentKind::kParameter;
}

}  // namespace

DType ValueCasts::original(const Value& value) const {
  const auto found = originals_.find(value.id());
  return found == originals_.end() ? value.type().dtype : found->second;
}

void ValueCasts::retype(Value& value, DType dtype) {
  if (value.type().dtype == dtype) return;
  originals_.emplace(value.id(), value.type().dtype);
  value.set_type(with_dtype(value.type(), dtype));
}

Value* ValueCasts::find(Value& value, DType dtype) const {
  if (value.type().dtype == dtype) return &value;
  const Node* producer = value.producer();
  if (producer == nullptr || producer->op() != Op::kCast) return nullptr;
  Value* source = producer->input(0);
  const bool is_exact = source->type().dtype == dtype && is_widening(dtype, value.type().dtype);
  return is_exact ? source : nullptr;
}

Result<Value*> ValueCasts::get(Value& value, DType dtype) {
  if (Value* found = find(value, dtype)) return found;
  Value*& made = made_[{value.id(), dtype}];
  if (made != nullptr) return made;
  if (is_whole_constant(value)) {
    SLUICE_ASSIGN(const SegmentId segment, cast_constant(graph_.module(), value, dtype));
    return made = &graph_.add_constant(segment, name_in(value.name(), dtype));
  }
  return made = &add_cast(value, dtype);
}

// The Cast stands where its producer, or else its first reader, is placed.
Value& ValueCasts::add_cast(Value& value, DType dtype) {
  const Node* producer = value.producer();
  Node* before = producer == nullptr ? graph_.first_node() : producer->next();
  Node& cast = graph_.add_node(Op::kCast, {&value}, 1, before);
  cast.set(attributes::Cast::to, static_cast<int64_t>(dtype));
  if (const Node* neighbour = producer != nullptr ? producer : before) {
    cast.placement.stream_label = neighbour->placement.stream_label;
    cast.placement.stage_level = neighbour->placement.stage_level;
    cast.placement.parallel_group = neighbour->placement.parallel_group;
    cast.placement.super_kernel_scope = neighbour->placement.super_kernel_scope;
    cast.set_origins(neighbour->origins());
  }
  cast.output().set_type(with_dtype(value.type(), dtype));
  give_names(value, cast.output());
  return cast.output();
}

void ValueCasts::give_names(Value& value, Value& cast) {
  const auto old = old_names_.find(value.id());
  const std::string name = old == old_names_.end() ? value.name() : old->second;
  const DType dtype = cast.type().dtype;
  if (dtype != original(value)) {
    cast.set_name(name_in(name, dtype));
    return;
  }
  old_names_.emplace(value.id(), name);
  cast.set_name(name);
  value.set_name(name_in(name, value.type().dtype));
}

}  // namespace sluice
