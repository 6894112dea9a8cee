#include "common/loop/lowering.h"

#include <algorithm>

#include "common/loop/lower/reduced_axes.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/symbolic/nominal.h"

namespace sluice::loop {
namespace {

std::string value_reason(const Value& value, ElementKinds kinds) {
  const Type& type = value.type();
  if (!type.is_tensor() || !type.ranked) return "a value is no tensor of known rank";
  if (!is_register_dtype(register_dtype(type.dtype)) ||
      (is_narrow(type.dtype) && kinds == ElementKinds::kNumbers))
    return fmt::format("dtype {}, only integers of 8 to 64 bits and floats of 16 to 64 bits",
                       dtype_name(type.dtype));
  const bool unknown =
      std::ranges::any_of(type.dims, [](const Dim& dim) { return dim.is_unknown(); });
  return unknown ? "a size that is known only while running" : std::string();
}

std::string node_reason(const Node& node) {
  const LoweringRow* row = find_lowering(node.op());
  if (row == nullptr) return fmt::format("{} has no loops", op_name(node.op()));
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) continue;
    if (std::string reason = value_reason(*node.input(i), row->elements); !reason.empty())
      return reason;
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (std::string reason = value_reason(node.output(i), row->elements); !reason.empty())
      return reason;
  }
  return row->unsupported_reason == nullptr ? std::string() : row->unsupported_reason(node);
}

const Graph* body_of(const Node& node) {
  return node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
}

}  // namespace

std::string unsupported_reason(const Node& node) {
  const Graph* body = body_of(node);
  if (body == nullptr) return node_reason(node);
  const bool has_packed = std::ranges::any_of(
      body->outputs(), [](const Value* output) { return is_packed(output->type().dtype); });
  const Node* nests = nullptr;
  for (const Node& inner : body->nodes()) {
    if (std::string reason = node_reason(inner); !reason.empty())
      return fmt::format("{}: {}", inner.label(), reason);
    if (find_lowering(inner.op())->element != nullptr) continue;
    if (nests != nullptr && !shares_sweep(*nests, inner))
      return "it has more than one node with loops of its own";
    if (nests == nullptr) nests = &inner;
  }
  if (nests != nullptr && has_packed) return "a node with loops of its own beside packed results";
  return {};
}

std::string element_unsupported_reason(const Node& node) {
  if (std::string reason = node_reason(node); !reason.empty()) return reason;
  return find_lowering(node.op())->element != nullptr
             ? std::string()
             : fmt::format("{} has loops of its own", op_name(node.op()));
}

Lowering::Lowering(const Node& node) : node_(node), body_(body_of(node)) {}

Result<LoweredNode> lower_node(const Node& node) {
  if (std::string reason = unsupported_reason(node); !reason.empty())
    return make_error(ErrorCode::kNotLowerable, "{}: {}", node.label(), reason);
  Lowering lowering(node);
  SLUICE_TRY(lowering.run());
  return LoweredNode{std::move(lowering.graph_), std::move(lowering.operands_)};
}

// ---- operands and sizes

void Lowering::add_operand(const Value& outside, const Value& inside, bool is_written) {
  Buffer buffer;
  buffer.dtype = outside.type().dtype;
  buffer.is_written = is_written;
  buffers_[&inside] = static_cast<BufferId>(graph_.buffers.size());
  operands_.push_back(&outside);
  graph_.buffers.push_back(std::move(buffer));
}

// Names the sizes that are symbols: first the operands' dims that are symbols of the module, then
// those that are no expression over these.
void Lowering::name_sizes() {
  const Module& module = node_.graph().module();
  const auto name_dims = [&](bool bare) {
    int32_t index = 0;
    for (const Value* operand : operands_) {
      for (const Dim& dim : operand->type().dims) {
        const int32_t own = index++;
        if (!dim.is_expression()) continue;
        const auto id = static_cast<ExpressionId>(dim.value);
        const bool is_bare = module.expressions[id].op == ExpressionOp::kSymbol;
        if (is_bare != bare || imported_.contains(id)) continue;
        if (!bare && imported(id) >= 0) continue;
        Symbol symbol;
        symbol.name = fmt::format("n{}", own);
        const Interval range = module.expressions.bounds(id);
        symbol.low = std::max<int64_t>(range.low, 0), symbol.high = range.high;
        if (bare)
          symbol.divisor =
              module.expressions.symbol(static_cast<SymbolId>(module.expressions[id].value))
                  .divisor;
        imported_[id] = table().symbol_expression(table().add_symbol(symbol));
        graph_.symbols.push_back(
            {SymbolRole::kSize, -1, own, nominal_value(module.expressions, id)});
      }
    }
  };
  name_dims(true);
  name_dims(false);
}

// Returns -1 when a symbol of the expression is not known here.
ExpressionId Lowering::imported(ExpressionId id) {
  if (const auto found = imported_.find(id); found != imported_.end()) return found->second;
  const Expression& e = node_.graph().module().expressions[id];
  ExpressionId result = -1;
  if (e.op == ExpressionOp::kConstant) {
    result = number(e.value);
  } else if (e.op != ExpressionOp::kSymbol) {
    const ExpressionId a = imported(e.a), b = imported(e.b);
    if (a >= 0 && b >= 0) result = table().make(e.op, a, b);
  }
  if (result >= 0) imported_[id] = result;
  return result;
}

ExpressionId Lowering::dim(const Dim& dim) {
  if (dim.is_fixed()) return number(dim.value);
  return imported(static_cast<ExpressionId>(dim.value));
}

Index Lowering::extents(const Value& value) {
  Index extents;
  for (const Dim& own : value.type().dims) extents.push_back(dim(own));
  return extents;
}

ExpressionId Lowering::product(const Index& extents) {
  ExpressionId product = number(1);
  for (const ExpressionId extent : extents) product = table().multiply(product, extent);
  return product;
}

ExpressionId Lowering::flatten(const Index& index, const Index& extents) {
  ExpressionId position = number(0);
  for (size_t i = 0; i < index.size(); ++i)
    position = table().add(table().multiply(position, extents[i]), index[i]);
  return position;
}

Index Lowering::unflatten(ExpressionId position, const Index& extents) {
  Index index(extents.size());
  for (size_t i = extents.size(); i-- > 1;) {
    const auto known = table().as_constant(extents[i]);
    if (known && *known <= 1) {
      index[i] = number(0);
    } else {
      const ExpressionId outer = table().floor_divide(position, extents[i]);
      index[i] = table().subtract(position, table().multiply(outer, extents[i]));
      position = outer;
    }
  }
  if (!index.empty()) index[0] = position;  // whatever the first extent is
  return index;
}

Index Lowering::broadcast(const Value& from, const Index& index) {
  const std::vector<Dim>& dims = from.type().dims;
  Index own(dims.size());
  const size_t skipped = index.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_one = dims[i].is_fixed() && dims[i].value == 1;
    own[i] = is_one ? number(0) : index[skipped + i];
  }
  return own;
}

// ---- the whole

void Lowering::describe_buffer(const Value& value, Buffer& buffer) {
  buffer.dims = buffer.capacity = extents(value);
  const size_t rank = buffer.dims.size();
  buffer.storage = dense_map(rank);
  const Storage* storage = value.storage();
  if (storage == nullptr || epilogue_ != nullptr)
    return;  // a contraction knows its operands' places
  buffer.storage = storage->map;
  for (size_t i = 0; i < storage->map.size(); ++i) {  // of states, and parts of wider rows
    const StoredAxis& axis = storage->map[i];
    if (axis.divisor == 1 && axis.modulus == 0)
      buffer.capacity[static_cast<size_t>(axis.dim)] = dim(storage->dims[i]);
  }
}

// Returns true when a value is a result of `source`, or elementwise nodes lead from there to it
// without another shape.
bool Lowering::follows(const Value& value, const Node& source) {
  std::vector<const Value*> found = {&value};
  for (size_t i = 0; i < found.size(); ++i) {
    const Node* producer = found[i]->producer();
    if (producer == &source) return true;
    const OpRow* row = producer == nullptr ? nullptr : find_op(producer->op());
    if (row == nullptr || (row->flags & kElementwise) == 0) continue;
    for (size_t k = 0; k < producer->input_count(); ++k) {
      const Value* input = producer->input(k);
      const bool leads = input != nullptr && input->type().dims == value.type().dims;
      if (leads && std::ranges::find(found, input) == found.end()) found.push_back(input);
    }
  }
  return false;
}

// Returns the node that lays out the nests: the one that has no other rule; else the last one with
// nests whose every element leads to one element of each output; null: each output element by
// element.
const Node* Lowering::find_nest_node() const {
  if (body_ == nullptr) return find_lowering(node_.op())->nests != nullptr ? &node_ : nullptr;
  const Node* last = nullptr;
  for (const Node& inner : body_->nodes()) {
    const LoweringRow& row = *find_lowering(inner.op());
    if (row.element == nullptr) return &inner;
    const bool leads =
        row.nests != nullptr && std::ranges::all_of(body_->outputs(), [&](const Value* output) {
          return follows(*output, inner) && !is_packed(output->type().dtype);
        });
    if (leads) last = &inner;
  }
  return last;
}

Result<void> Lowering::run() {
  for (size_t i = 0; i < node_.output_count(); ++i)
    add_operand(node_.output(i), body_ == nullptr ? node_.output(i) : *body_->outputs()[i], true);
  for (size_t i = 0; i < node_.input_count(); ++i) {
    const Value* outside = node_.input(i);
    if (outside == nullptr || outside->is_constant()) continue;
    const Value& inside = body_ == nullptr ? *outside : *body_->inputs()[i];
    if (!buffers_.contains(&inside)) add_operand(*outside, inside, false);
  }
  for (size_t i = 0; body_ != nullptr && i < node_.input_count(); ++i) {
    if (node_.input(i) != nullptr && node_.input(i)->is_constant())
      constants_[body_->inputs()[i]] = node_.input(i);
  }
  is_stored_.assign(node_.output_count(), false);
  name_sizes();
  for (size_t i = 0; i < operands_.size(); ++i) describe_buffer(*operands_[i], graph_.buffers[i]);
  if (const Node* own = find_nest_node()) {
    SLUICE_TRY(find_lowering(own->op())->nests(*this, *own));
  }
  SLUICE_TRY(lower_elements());
  finish();
  return {};
}

// The value that output i is where it is computed.
const Value& Lowering::inside_output(size_t i) const {
  return body_ == nullptr ? node_.output(i) : *body_->outputs()[i];
}

// Computes every output that no nest has stored element by element, equal shapes in one nest. Where
// packed elements are read, one axis runs over all elements, along which neighbours share bytes.
Result<void> Lowering::lower_elements() {
  std::vector<bool>& done = is_stored_;
  const bool reads_packed = std::ranges::any_of(
      operands_, [](const Value* operand) { return is_packed(operand->type().dtype); });
  for (size_t i = 0; i < done.size(); ++i) {
    if (done[i]) continue;
    if (is_packed(inside_output(i).type().dtype)) {
      done[i] = true;
      SLUICE_TRY(lower_packed(i));
      continue;
    }
    const Index extents = this->extents(node_.output(i));
    const Index index =
        reads_packed ? unflatten(begin_nest({product(extents)})[0], extents) : begin_nest(extents);
    for (size_t k = i; k < done.size(); ++k) {
      if (done[k] || this->extents(node_.output(k)) != extents) continue;
      if (is_packed(inside_output(k).type().dtype)) continue;
      done[k] = true;
      const Value& inside = inside_output(k);
      SLUICE_ASSIGN(const InstructionId id, element(inside, index));
      nest().sweeps.back().stores.push_back({{buffers_.at(&inside), index}, id, {}});
    }
  }
  return {};
}

// Removes sweeps that do nothing, and puts the row-local buffers after the operands.
void Lowering::finish() {
  for (Nest& nest : graph_.nests) {
    std::vector<int32_t> new_sweep(nest.sweeps.size(), -1);
    std::vector<Sweep> kept;
    for (size_t i = 0; i < nest.sweeps.size(); ++i) {
      Sweep& sweep = nest.sweeps[i];
      if (is_idle(sweep)) continue;
      new_sweep[i] = static_cast<int32_t>(kept.size());
      kept.push_back(std::move(sweep));
    }
    nest.sweeps = std::move(kept);
    for (Accumulator& accumulator : nest.accumulators)
      accumulator.sweep = new_sweep[static_cast<size_t>(accumulator.sweep)];
  }
  move_local_buffers_last();
}

void Lowering::move_local_buffers_last() {
  std::vector<BufferId> renamed(graph_.buffers.size());
  std::vector<Buffer> ordered;
  for (const bool local : {false, true}) {
    for (size_t i = 0; i < renamed.size(); ++i) {
      if (graph_.buffers[i].is_local != local) continue;
      renamed[i] = static_cast<BufferId>(ordered.size());
      ordered.push_back(graph_.buffers[i]);
    }
  }
  graph_.buffers = std::move(ordered);
  const auto rename = [&](Access& access) {
    if (access.buffer >= 0) access.buffer = renamed[static_cast<size_t>(access.buffer)];
  };
  for (Nest& nest : graph_.nests) {
    for (Instruction& instruction : nest.instructions) rename(instruction.access);
    for (Sweep& sweep : nest.sweeps)
      for (Store& store : sweep.stores) rename(store.access);
  }
}

}  // namespace sluice::loop
