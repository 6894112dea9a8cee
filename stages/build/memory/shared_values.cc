#include "stages/build/memory/shared_values.h"

#include <algorithm>

#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "common/ops/value_bytes.h"
#include "common/target/aicore.h"
#include "stages/build/parts.h"

namespace sluice {
namespace {

void extend(std::map<uint32_t, LiveRange>& live, const LiveRange& range) {
  const auto [found, is_new] = live.try_emplace(range.stream, range);
  if (is_new) return;
  found->second.first = std::min(found->second.first, range.first);
  found->second.last = std::max(found->second.last, range.last);
}

// Returns whether input `index` of a Fused node is read only by elementwise nodes of its body, each
// element where it is written.
bool is_read_elementwise(const Node& node, size_t index) {
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  if (anchor == nullptr || index >= body->inputs().size()) return false;
  const Value& inside = *body->inputs()[index];
  return std::all_of(inside.uses().begin(), inside.uses().end(), [&](const Use& use) {
    return is_epilogue_op(*use.node) && use.node != anchor;
  });
}

}  // namespace

SharedValues::SharedValues(const Graph& graph, const NoReuse& no_reuse)
    : graph_(graph),
      no_reuse_(no_reuse),
      tasks_(tasks_of(graph)),
      order_(graph),
      pieces_(graph),
      shared_(graph.value_limit()) {
  for (const Node& node : graph.nodes()) pieces_.add(node);
  describe();
  bind_outputs();
  find_lives();
  for (const Node* task : tasks_) {
    if (!no_reuse.is_empty() && no_reuse.contains(*task)) keep_apart(*task);
  }
  for (uint32_t position = 0; position < tasks_.size(); ++position)
    write_in_place(*tasks_[position], position);
}

void SharedValues::describe() {
  for (const Value& value : graph_.values()) {
    if (value.is_erased()) continue;
    SharedBytes& bytes = of(value);
    measure(value);
    if (value.is_constant()) {
      bytes.constant = &value;
    } else if (value.is_input()) {
      bytes.input = &value;
    } else if (value.producer()->placement.no_task) {
      bytes.has_view = true;
    }
  }
}

Dim SharedValues::offset(const Value& value) {
  const Dim offset = pieces_.offset(value);
  return offset.is_unknown() ? Dim::fixed(0) : offset;
}

// Lets the bytes that are shared reach to the end of the value.
void SharedValues::measure(const Value& value) {
  Module& module = graph_.module();
  ExpressionTable& table = module.expressions;
  Dim& whole = of(value).bytes;
  const auto before = module.dim_expression(whole), at = module.dim_expression(offset(value)),
             own = module.dim_expression(value_bytes(value));
  whole = before && at && own ? module.make_dim(table.maximum(*before, table.add(*at, *own)))
                              : Dim::unknown();
}

void SharedValues::bind_outputs() {
  std::vector<bool> is_copied(graph_.outputs().size(), false);
  for (const Node* task : tasks_) {
    const auto output = copied_output(*task);
    if (!output || *output >= is_copied.size()) continue;  // a graph that was edited
    is_copied[*output] = true;
    of(task->output()).output = *output;
  }
  for (size_t k = 0; k < is_copied.size(); ++k) {
    if (!is_copied[k]) of(*graph_.outputs()[k]).output = static_cast<int64_t>(k);
  }
}

void SharedValues::find_lives() {
  for (uint32_t position = 0; position < tasks_.size(); ++position) {
    const Node& task = *tasks_[position];
    const LiveRange range = {order_.stream_of(position), position, position};
    for (size_t k = 0; k < task.output_count(); ++k) extend(of(task.output(k)).live, range);
    for (size_t i = 0; i < task.input_count(); ++i) {
      if (task.input(i) != nullptr) extend(of(*task.input(i)).live, range);
    }
  }
}

// Lets the bytes of a task's results be needed from the first task of each stream to the last.
void SharedValues::keep_apart(const Node& task) {
  for (size_t k = 0; k < task.output_count(); ++k) {
    SharedBytes& bytes = of(task.output(k));
    bytes.is_apart = true;
    for (uint32_t stream = 0; stream < order_.stream_count(); ++stream) {
      const std::span<const uint32_t> positions = order_.positions(stream);
      if (!positions.empty()) extend(bytes.live, {stream, positions.front(), positions.back()});
    }
  }
}

// Returns whether no task after the one at `position`, or beside it, needs the bytes.
bool SharedValues::ends_at(const SharedBytes& bytes, uint32_t position) const {
  return std::all_of(bytes.live.begin(), bytes.live.end(), [&](const auto& entry) {
    const uint32_t last = entry.second.last;
    return last == position || order_.is_before(last, position);
  });
}

bool SharedValues::can_overwrite(const Node& task, size_t index, uint32_t position) {
  const Value* operand = task.input(index);
  const Value& result = task.output();
  if (operand == nullptr || find(*operand) == find(result)) return false;
  const SharedBytes& from = of(*operand);
  if (from.constant != nullptr || from.input != nullptr || from.output >= 0) return false;
  if (from.is_apart || of(result).is_apart) return false;
  if (memory_class_of(*operand) != task.placement.memory_class) return false;
  for (size_t i = 0; i < task.input_count(); ++i) {
    if (i != index && task.input(i) != nullptr && find(*task.input(i)) == find(*operand))
      return false;
  }
  return ends_at(from, position) && operand->type_id() == result.type_id() &&
         operand->storage_id() == result.storage_id() && is_read_elementwise(task, index) &&
         fits_in_place(*operand, result);
}

bool SharedValues::is_alone(const Value& value) { return of(value).bytes == value_bytes(value); }

// Returns whether the two can be at one place without other values of their wholes in the way: one
// of them has none beside it; a result that has some is in memory when the operand is made; and the
// memory of an output has no place for what is beside the operand.
bool SharedValues::fits_in_place(const Value& operand, const Value& result) {
  if (is_alone(result)) return of(result).output < 0 || is_alone(operand);
  const std::map<uint32_t, LiveRange>& from = of(operand).live;
  return is_alone(operand) && std::ranges::all_of(of(result).live, [&](const auto& entry) {
           const auto found = from.find(entry.first);
           return from.size() == 1 && found != from.end() &&
                  entry.second.first <= found->second.first;
         });
}

// Lets the result share the operand's bytes.
void SharedValues::overwrite(const Value& operand, const Value& result) {
  SharedBytes whole = of(operand);
  const SharedBytes to = of(result);
  if (is_alone(operand)) whole.bytes = to.bytes;
  if (whole.output < 0) whole.output = to.output;
  whole.has_view = whole.has_view || to.has_view;
  for (const auto& [stream, range] : to.live) extend(whole.live, range);
  pieces_.overlay(operand, result);
  of(operand) = std::move(whole);
}

void SharedValues::write_in_place(const Node& task, uint32_t position) {
  if (task_kind(task) != TaskKind::kLaunch || task.output_count() != 1) return;
  for (size_t index = 0; index < task.input_count(); ++index) {
    if (!can_overwrite(task, index, position)) continue;
    overwrite(*task.input(index), task.output());
    return;
  }
}

}  // namespace sluice
