#include "stages/subgraph-optimize/codegen/loop/flat_nest.h"

#include <algorithm>

namespace sluice {
namespace {

using loop::AxisId;

class Flattener {
 public:
  Flattener(loop::LoopGraph& graph, const loop::Nest& nest)
      : graph_(graph), table_(graph.expressions) {
    flat_.nest = nest;
    for (int32_t i = 0; i < nest.outer; ++i) flat_.outer.push_back(i);
    for (const loop::Instruction& instruction : nest.instructions) {
      flat_.load_offsets.push_back(instruction.kind == loop::InstructionKind::kLoad
                                       ? loop::offset_of(graph, instruction.access)
                                       : -1);
    }
    for (const loop::Sweep& sweep : nest.sweeps) {
      flat_.stores.emplace_back();
      for (const loop::Store& store : sweep.stores)
        flat_.stores.back().push_back(loop::offset_of(graph, store.access));
    }
    collect();
  }

  FlatNest run() {
    join_all(flat_.outer, true);
    for (loop::Sweep& sweep : flat_.nest.sweeps) join_all(sweep.axes, false);
    return std::move(flat_);
  }

 private:
  // Gathers the places of all expressions that may mention an axis.
  void collect() {
    const auto add = [&](ExpressionId& id) {
      if (id >= 0) used_.push_back(&id);
    };
    for (ExpressionId& id : flat_.load_offsets) add(id);
    for (auto& stores : flat_.stores)
      for (ExpressionId& id : stores) add(id);
    const auto add_guards = [&](std::vector<loop::Guard>& guards) {
      for (loop::Guard& guard : guards) add(guard.value), add(guard.limit);
    };
    for (loop::Instruction& instruction : flat_.nest.instructions) {
      if (instruction.kind == loop::InstructionKind::kIndex) add(instruction.index);
      add_guards(instruction.guards);
    }
    for (loop::Sweep& sweep : flat_.nest.sweeps)
      for (loop::Store& store : sweep.stores) add_guards(store.guards);
  }

  // Outer axes are independent of each other, so any two may be joined; inner ones run in order,
  // so only neighbours.
  void join_all(std::vector<AxisId>& axes, bool any_order) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t a = 0; a < axes.size() && !changed; ++a) {
        for (size_t b = 0; b < axes.size() && !changed; ++b) {
          if (a == b || (!any_order && b != a + 1)) continue;
          if (!can_join(axis(axes[a]), axis(axes[b]))) continue;
          join(axis(axes[a]), axis(axes[b]));
          axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(a));
          changed = true;
        }
      }
    }
  }

  loop::Axis& axis(AxisId id) { return flat_.nest.axes[static_cast<size_t>(id)]; }

  bool can_join(const loop::Axis& a, const loop::Axis& b) {
    return std::ranges::all_of(used_, [&](const ExpressionId* id) {
      if (!loop::mentions(table_, *id, a.symbol) && !loop::mentions(table_, *id, b.symbol))
        return true;
      const auto along_a = loop::split_linear(table_, *id, a.symbol),
                 along_b = loop::split_linear(table_, *id, b.symbol);
      return along_a && along_b && !loop::mentions(table_, along_a->stride, b.symbol) &&
             along_a->stride == table_.multiply(along_b->stride, b.extent);
    });
  }

  // The joined axis keeps the symbol of b.
  void join(loop::Axis& a, loop::Axis& b) {
    std::vector<ExpressionId> replacement(table_.symbol_count(), -1);
    replacement[static_cast<size_t>(a.symbol)] = table_.constant(0);
    for (ExpressionId* id : used_) {
      if (loop::mentions(table_, *id, a.symbol)) *id = table_.substitute(*id, replacement);
    }
    b.extent = table_.multiply(a.extent, b.extent);
    const Interval range = table_.bounds(b.extent);
    table_.symbol(b.symbol).high =
        range.high == INT64_MAX ? INT64_MAX : std::max<int64_t>(range.high - 1, 0);
  }

  loop::LoopGraph& graph_;
  ExpressionTable& table_;
  FlatNest flat_;
  std::vector<ExpressionId*> used_;
};

}  // namespace

FlatNest flatten_nest(loop::LoopGraph& graph, const loop::Nest& nest) {
  return Flattener(graph, nest).run();
}

}  // namespace sluice
