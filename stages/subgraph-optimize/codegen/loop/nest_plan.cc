#include "stages/subgraph-optimize/codegen/loop/nest_plan.h"

#include <algorithm>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/loop/limits.h"

namespace sluice {
namespace {

using loop::InstructionId;
using loop::InstructionKind;

// A row of at most so many vectors is written out, when its sweeps are short.
constexpr int64_t kShortRow = 12;
constexpr size_t kShortRowInstructions = 24;

constexpr double kManyPoints = 1 << 14;

// An axis is repeated inside when it has this many points, and so much of a vector's work is
// shared.
constexpr double kMinRepeated = 4, kMinShared = 0.4, kMinSharedCycles = 8;

// Bits of the widest number that the lanes compute with; bools follow others.
int widest_bits(const FlatNest& nest, const std::vector<bool>& differing) {
  int bits = 8;
  for (size_t i = 0; i < differing.size(); ++i) {
    const loop::Instruction& instruction = nest.nest.instructions[i];
    if (!differing[i] || instruction.dtype == DType::kBool) continue;
    if (instruction.kind == InstructionKind::kConstant) continue;
    bits = std::max(bits, dtype_bits(instruction.dtype));
  }
  return bits;
}

double nominal_points(const loop::LoopGraph& graph, const FlatNest& nest,
                      const std::vector<loop::AxisId>& axes) {
  double points = 1;
  for (const loop::AxisId axis : axes) {
    points *= static_cast<double>(
        nominal_number(graph, nest.nest.axes[static_cast<size_t>(axis)].extent));
  }
  return points;
}

double in_cycles(int64_t hundredths) { return static_cast<double>(hundredths) / 100; }

// What an access costs for one vector of lanes, in cycles, when `symbol` runs along the lanes.
class AccessCost {
 public:
  AccessCost(loop::LoopGraph& graph, const Costs& costs, SymbolId symbol, int lanes,
             const std::vector<bool>& differing)
      : graph_(graph), costs_(costs), symbol_(symbol), lanes_(lanes), differing_(differing) {}

  double of(ExpressionId offset, bool is_store) {
    if (!expression_differs(graph_, offset, {symbol_}, differing_))
      return in_cycles(is_store ? costs_.access * lanes_ : costs_.access / 2);
    const auto linear = loop::split_linear(graph_.expressions, offset, symbol_);
    const auto stride =
        linear ? graph_.expressions.as_constant(linear->stride) : std::optional<int64_t>();
    const bool by_value = expression_differs(graph_, offset, {}, differing_);
    if (stride == 1 && !by_value) return in_cycles(costs_.access);
    if (!is_store && !linear && is_limited_row(offset)) return in_cycles(2 * costs_.access);
    if (is_store) return in_cycles(costs_.scatter * lanes_);
    const bool is_pattern = linear ? stride && *stride > 1 && *stride <= 4
                                   : repeated_times(graph_, offset, symbol_, lanes_) > 1;
    return in_cycles(is_pattern && !by_value ? costs_.pattern : costs_.gather * lanes_);
  }

 private:
  // Whether the lanes are neighbours but at the limits of an axis.
  bool is_limited_row(ExpressionId offset) {
    const auto plain = without_limits(graph_, offset, symbol_);
    if (!plain || expression_differs(graph_, plain->offset, {}, differing_)) return false;
    const auto linear = loop::split_linear(graph_.expressions, plain->offset, symbol_);
    return linear && graph_.expressions.as_constant(linear->stride) == 1;
  }

  loop::LoopGraph& graph_;
  const Costs& costs_;
  SymbolId symbol_;
  int lanes_;
  const std::vector<bool>& differing_;
};

class Planner {
 public:
  Planner(loop::LoopGraph& graph, const FlatNest& nest, const DeviceProfile& profile)
      : graph_(graph), nest_(nest), profile_(profile) {}

  NestPlan run() {
    NestPlan best = candidate(NestPlan::Vector::kNone, -1);
    for (const loop::AxisId axis : nest_.outer) take_better(best, outer(axis));
    if (can_vectorize_sweeps()) take_better(best, candidate(NestPlan::Vector::kInner, -1));
    return best;
  }

 private:
  static void take_better(NestPlan& best, const NestPlan& other) {
    if (other.cycles < best.cycles) best = other;
  }

  NestPlan outer(loop::AxisId axis) {
    NestPlan plan = candidate(NestPlan::Vector::kOuter, axis);
    find_tile_axis(plan);
    if (plan.tile_axis < 0) find_repeat_axis(plan);
    return plan;
  }

  // A sweep's iterations may run side by side when none needs what an earlier one made.
  bool can_vectorize_sweeps() const {
    bool any = false;
    for (size_t s = 0; s < nest_.nest.sweeps.size(); ++s) {
      const loop::Sweep& sweep = nest_.nest.sweeps[s];
      if (sweep.axes.empty()) continue;
      any = true;
      for (const loop::AccumulatorId id : sweep.accumulators) {
        if (nest_.nest.accumulators[static_cast<size_t>(id)].combine == loop::Combine::kCarry)
          return false;
      }
      const SymbolId symbol = last_symbol(sweep);
      for (size_t i = 0; i < sweep.stores.size(); ++i) {
        const auto linear = loop::split_linear(graph_.expressions, nest_.stores[s][i], symbol);
        if (!linear || graph_.expressions.as_constant(linear->stride) != 1) return false;
        if (expression_differs(graph_, linear->remainder, {}, all_values_)) return false;
        if (reads(sweep, sweep.stores[i].access.buffer)) return false;
      }
    }
    return any;
  }

  bool reads(const loop::Sweep& sweep, loop::BufferId buffer) const {
    return std::ranges::any_of(sweep.instructions, [&](InstructionId id) {
      const loop::Instruction& instruction = nest_.nest.instructions[static_cast<size_t>(id)];
      return instruction.kind == InstructionKind::kLoad && instruction.access.buffer == buffer;
    });
  }

  SymbolId last_symbol(const loop::Sweep& sweep) const { return axis(sweep.axes.back()).symbol; }

  const loop::Axis& axis(loop::AxisId id) const { return nest_.nest.axes[static_cast<size_t>(id)]; }

  std::vector<SymbolId> lane_symbols(NestPlan::Vector vector, loop::AxisId axis) const {
    if (vector == NestPlan::Vector::kOuter)
      return {nest_.nest.axes[static_cast<size_t>(axis)].symbol};
    std::vector<SymbolId> symbols;
    if (vector == NestPlan::Vector::kNone) return symbols;
    for (const loop::Sweep& sweep : nest_.nest.sweeps)
      if (!sweep.axes.empty()) symbols.push_back(last_symbol(sweep));
    return symbols;
  }

  NestPlan candidate(NestPlan::Vector vector, loop::AxisId axis) {
    NestPlan plan;
    plan.vector = vector, plan.axis = axis;
    const bool is_inner = vector == NestPlan::Vector::kInner;
    const std::vector<SymbolId> symbols = lane_symbols(vector, axis);
    const std::vector<bool> differing = differing_instructions(graph_, nest_, symbols, is_inner);
    plan.lanes = vector == NestPlan::Vector::kNone
                     ? 1
                     : profile_.vector_bits / widest_bits(nest_, differing);
    const double outer_points = nominal_points(graph_, nest_, nest_.outer);
    const int registers = profile_.vector_registers * (may_spill(plan, outer_points) ? 2 : 1);
    plan.unroll = vector == NestPlan::Vector::kNone || is_dear_to_write(plan, outer_points)
                      ? 1
                      : choose_unroll(differing, registers);
    if (is_inner) plan.unroll = std::max(plan.unroll, short_row_vectors(plan.lanes));
    if (vector == NestPlan::Vector::kOuter) {
      fit_local_buffers(plan);
      if (has_limits(symbols[0])) plan.unroll = 1;  // few pieces are at limits
    }
    double points = outer_points;
    if (vector == NestPlan::Vector::kOuter) points = in_vectors(points, axis, plan.lanes);
    for (size_t s = 0; s < nest_.nest.sweeps.size(); ++s) {
      const loop::Sweep& sweep = nest_.nest.sweeps[s];
      double iterations = points * nominal_points(graph_, nest_, sweep.axes);
      plan.elements +=
          static_cast<int64_t>(outer_points * nominal_points(graph_, nest_, sweep.axes));
      SymbolId symbol = symbols.empty() ? -1 : symbols[0];
      if (is_inner && !sweep.axes.empty()) {
        iterations = in_vectors(iterations, sweep.axes.back(), plan.lanes);
        symbol = last_symbol(sweep);
        plan.cycles += 20 * points;  // lanes are combined
      }
      plan.cycles += iterations * (1 + sweep_cycles(s, symbol, plan.lanes, differing));
    }
    return plan;
  }

  bool has_limits(SymbolId symbol) {
    return std::ranges::any_of(nest_.load_offsets, [&](ExpressionId offset) {
      return offset >= 0 && without_limits(graph_, offset, symbol);
    });
  }

  // How many vectors `count` points take when `axis` runs along the lanes.
  double in_vectors(double count, loop::AxisId axis, int lanes) const {
    const auto extent = static_cast<double>(nominal_number(graph_, this->axis(axis).extent));
    if (extent <= 0) return count;
    return count / extent * static_cast<double>((static_cast<int64_t>(extent) + lanes - 1) / lanes);
  }

  double sweep_cycles(size_t s, SymbolId symbol, int lanes, const std::vector<bool>& differing) {
    const loop::Sweep& sweep = nest_.nest.sweeps[s];
    AccessCost access(graph_, profile_.costs, symbol, lanes, differing);
    double cycles = 0;
    for (const InstructionId id : sweep.instructions) {
      const auto i = static_cast<size_t>(id);
      const loop::Instruction& instruction = nest_.nest.instructions[i];
      if (instruction.kind == InstructionKind::kLoad)
        cycles += access.of(nest_.load_offsets[i], false);
      if (instruction.kind == InstructionKind::kScalar)
        cycles += scalar_cost(instruction, differing[i] ? lanes : 1);
    }
    for (const ExpressionId offset : nest_.stores[s]) cycles += access.of(offset, true);
    return cycles;
  }

  double scalar_cost(const loop::Instruction& instruction, int lanes) const {
    const Costs& costs = profile_.costs;
    switch (loop::scalar_row(instruction.op).cost) {
      case loop::CostClass::kSimple:
        return in_cycles(costs.simple);
      case loop::CostClass::kDivide:
        return in_cycles(costs.divide * lanes);
      case loop::CostClass::kTranscendental:
        return in_cycles(costs.transcendental);
    }
    return 0;
  }

  // Of open sizes, nominal ones may be far below what a model runs with.
  bool has_many_points(double nominal) const {
    return nominal >= kManyPoints || !loop::is_fixed(graph_);
  }

  // Whether latencies cost more than keeping some vectors in memory: of many points, or where each
  // iteration waits for the best place so far. Along other rows iterations hide each other's.
  bool may_spill(const NestPlan& plan, double outer_points) const {
    if (plan.vector == NestPlan::Vector::kOuter) return has_many_points(outer_points);
    return std::ranges::any_of(nest_.nest.accumulators, [](const loop::Accumulator& own) {
      return own.combine == loop::Combine::kArgMax || own.combine == loop::Combine::kArgMin;
    });
  }

  // A long body of few points is run for less time than it takes to compile; its own instructions
  // hide each other's latencies.
  bool is_dear_to_write(const NestPlan& plan, double outer_points) const {
    return plan.vector == NestPlan::Vector::kOuter && !has_many_points(outer_points) &&
           nest_.nest.instructions.size() >= kLongBody;
  }

  // Four vectors side by side hide latencies; fewer when that many registers would not do.
  int choose_unroll(const std::vector<bool>& differing, int registers) const {
    int live = 0;
    for (const loop::Sweep& sweep : nest_.nest.sweeps)
      live = std::max(live, live_vectors(sweep, differing));
    for (const int unroll : {4, 2}) {
      if (live * unroll <= registers) return unroll;
    }
    return 1;
  }

  // A short row of known length is written out whole: its vectors. 0: it is none.
  int short_row_vectors(int lanes) const {
    int64_t vectors = 0;
    size_t instructions = 0;
    for (const loop::Sweep& sweep : nest_.nest.sweeps) {
      instructions += sweep.instructions.size();
      if (sweep.axes.empty()) continue;
      const auto extent = graph_.expressions.as_constant(axis(sweep.axes.back()).extent);
      if (!extent) return 0;
      vectors = std::max(vectors, (*extent + lanes - 1) / lanes);
    }
    return vectors <= kShortRow && instructions <= kShortRowInstructions ? static_cast<int>(vectors)
                                                                         : 0;
  }

  // The most vectors that are in use at once, for each of the copies: values that are still read,
  // accumulators, and what an instruction needs meanwhile.
  int live_vectors(const loop::Sweep& sweep, const std::vector<bool>& differing) const {
    std::vector<size_t> last_use(nest_.nest.instructions.size(), 0);
    for (size_t at = 0; at < sweep.instructions.size(); ++at) {
      for (const InstructionId operand : own(sweep.instructions[at]).operands)
        if (operand >= 0) last_use[static_cast<size_t>(operand)] = at;
    }
    for (const loop::Store& store : sweep.stores)
      last_use[static_cast<size_t>(store.value)] = sweep.instructions.size();
    for (const loop::AccumulatorId id : sweep.accumulators) {
      const InstructionId value = nest_.nest.accumulators[static_cast<size_t>(id)].value;
      last_use[static_cast<size_t>(value)] = sweep.instructions.size();
    }
    int in_use = 0;
    std::vector<InstructionId> live;
    for (size_t at = 0; at < sweep.instructions.size(); ++at) {
      const InstructionId id = sweep.instructions[at];
      if (!differing[static_cast<size_t>(id)]) continue;
      in_use = std::max(in_use, static_cast<int>(live.size()) + working_vectors(own(id)));
      std::erase_if(
          live, [&](InstructionId value) { return last_use[static_cast<size_t>(value)] <= at; });
      if (last_use[static_cast<size_t>(id)] > at) live.push_back(id);
    }
    return in_use + static_cast<int>(sweep.accumulators.size());
  }

  static int working_vectors(const loop::Instruction& instruction) {
    if (instruction.kind != InstructionKind::kScalar) return 1;
    return loop::scalar_row(instruction.op).cost == loop::CostClass::kTranscendental ? 5 : 2;
  }

  const loop::Instruction& own(InstructionId id) const {
    return nest_.nest.instructions[static_cast<size_t>(id)];
  }

  // Row-local buffers have an element for each lane.
  void fit_local_buffers(NestPlan& plan) const {
    int64_t bytes = 0;
    for (const loop::Buffer& buffer : graph_.buffers) {
      if (!buffer.is_local) continue;
      int64_t elements = 1;
      for (const ExpressionId dim : buffer.dims) elements *= nominal_number(graph_, dim);
      bytes += elements * dtype_bits(buffer.dtype) / 8;
    }
    while (plan.unroll > 1 && bytes * plan.lanes * plan.unroll > profile_.l2_bytes / 4)
      plan.unroll /= 2;
    if (bytes * plan.lanes * plan.unroll > profile_.scratch_limit) plan.lanes = plan.unroll = 1;
  }

  // Loads whose elements are neighbours along another outer axis are better loaded along that one.
  void find_tile_axis(NestPlan& plan) {
    const loop::Nest& nest = nest_.nest;
    if (nest.sweeps.size() != 1 || !nest.sweeps[0].axes.empty() || plan.lanes < 4) return;
    if (nest.sweeps[0].instructions.size() > 12 || plan.lanes > 16) return;
    const SymbolId lane = nest.axes[static_cast<size_t>(plan.axis)].symbol;
    for (const loop::AxisId axis : nest_.outer) {
      if (axis == plan.axis) continue;
      const loop::Axis& other = nest.axes[static_cast<size_t>(axis)];
      if (nominal_number(graph_, other.extent) < plan.lanes / 2) continue;
      const std::vector<bool> differing =
          differing_instructions(graph_, nest_, {lane, other.symbol}, false);
      const bool any = std::ranges::any_of(nest.sweeps[0].instructions, [&](InstructionId id) {
        return is_tile_load(graph_, nest_, id, lane, other.symbol, differing);
      });
      if (!any) continue;
      plan.tile_axis = axis;
      plan.cycles *= 0.3;
      plan.unroll = plan.lanes;
      return;
    }
  }

  // The outer axis whose points share the most work, when that is most of it.
  void find_repeat_axis(NestPlan& plan) {
    const loop::Nest& nest = nest_.nest;
    if (nest.sweeps.size() != 1 || !nest.sweeps[0].axes.empty() || plan.lanes < 4) return;
    if (!nest.accumulators.empty()) return;
    const SymbolId lane = axis(plan.axis).symbol;
    const std::vector<bool> by_lane = differing_instructions(graph_, nest_, {lane}, false);
    const double all = 1 + sweep_cycles(0, lane, plan.lanes, by_lane);
    const double iterations = plan.cycles / all;
    for (const loop::AxisId other : nest_.outer) {
      const double points = static_cast<double>(nominal_number(graph_, axis(other).extent));
      if (other == plan.axis || points < kMinRepeated) continue;
      const std::vector<bool> by_other =
          differing_instructions(graph_, nest_, {axis(other).symbol}, false);
      const double shared = shared_cycles(plan, axis(other).symbol, by_lane, by_other);
      const double cycles = iterations * (all - shared * (1 - 1 / points));
      if (shared < all * kMinShared || shared < kMinSharedCycles || cycles >= plan.cycles) continue;
      plan.cycles = cycles, plan.repeat_axis = other;
      std::vector<bool> inside = by_lane;
      for (size_t i = 0; i < inside.size(); ++i) inside[i] = inside[i] && by_other[i];
      plan.lanes = profile_.vector_bits / widest_bits(nest_, inside);
      plan.unroll = std::min(choose_unroll(inside, profile_.vector_registers), 2);
    }
  }

  // The cycles of one vector that do not depend on the points of an axis: instructions, and the
  // greater part of gathering elements that lie together.
  double shared_cycles(const NestPlan& plan, SymbolId other, const std::vector<bool>& by_lane,
                       const std::vector<bool>& by_other) {
    const SymbolId lane = axis(plan.axis).symbol;
    AccessCost access(graph_, profile_.costs, lane, plan.lanes, by_lane);
    double shared = 0;
    for (const InstructionId id : nest_.nest.sweeps[0].instructions) {
      const auto i = static_cast<size_t>(id);
      if (own(id).kind == InstructionKind::kScalar && !by_other[i])
        shared += scalar_cost(own(id), by_lane[i] ? plan.lanes : 1);
      if (own(id).kind != InstructionKind::kLoad) continue;
      const ExpressionId offset = nest_.load_offsets[i];
      const double cycles = access.of(offset, false), window = in_cycles(profile_.costs.pattern);
      const auto linear = loop::split_linear(graph_.expressions, offset, other);
      if (!by_other[i])
        shared += cycles;
      else if (linear && cycles > window &&
               !expression_differs(graph_, linear->remainder, {other}, by_other))
        shared += cycles - window;
    }
    return shared;
  }

  loop::LoopGraph& graph_;
  const FlatNest& nest_;
  const DeviceProfile& profile_;
  const std::vector<bool> all_values_ = std::vector<bool>(nest_.nest.instructions.size(), true);
};

}  // namespace

NestPlan plan_nest(loop::LoopGraph& graph, const FlatNest& nest, const DeviceProfile& profile) {
  NestPlan plan = Planner(graph, nest, profile).run();
  plan.bypasses_caches = operand_bytes(graph) > static_cast<double>(profile.last_cache_bytes);
  return plan;
}

double operand_bytes(const loop::LoopGraph& graph) {
  std::vector<double> accesses(graph.buffers.size(), 0);
  for (const loop::Nest& nest : graph.nests) {
    const auto extent = [&](loop::AxisId axis) {
      return static_cast<double>(
          nominal_number(graph, nest.axes[static_cast<size_t>(axis)].extent));
    };
    double points = 1;
    for (loop::AxisId axis = 0; axis < nest.outer; ++axis) points *= extent(axis);
    for (const loop::Sweep& sweep : nest.sweeps) {
      double own = points;
      for (const loop::AxisId axis : sweep.axes) own *= extent(axis);
      for (const loop::InstructionId id : sweep.instructions) {
        const loop::Instruction& instruction = nest.instructions[static_cast<size_t>(id)];
        if (instruction.kind == loop::InstructionKind::kLoad)
          accesses[static_cast<size_t>(instruction.access.buffer)] += own;
      }
      for (const loop::Store& store : sweep.stores)
        accesses[static_cast<size_t>(store.access.buffer)] += own;
    }
  }
  double bytes = 0;
  for (size_t id = 0; id < graph.buffers.size(); ++id) {
    const loop::Buffer& buffer = graph.buffers[id];
    if (buffer.is_local) continue;
    double elements = 1;
    for (const ExpressionId dim : buffer.dims)
      elements *= static_cast<double>(nominal_number(graph, dim));
    bytes += std::min(elements, accesses[id]) * dtype_bits(buffer.dtype) / 8;
  }
  return bytes;
}

int64_t nominal_number(const loop::LoopGraph& graph, ExpressionId id) {
  const auto value = graph.expressions.evaluate(id, [&](SymbolId symbol) {
    const loop::LoopSymbol& own = graph.symbols[static_cast<size_t>(symbol)];
    return own.role == loop::SymbolRole::kSize ? own.nominal : 0;
  });
  return value ? *value : 1;
}

int64_t repeated_times(loop::LoopGraph& graph, ExpressionId offset, SymbolId lane, int lanes) {
  ExpressionTable& table = graph.expressions;
  const auto add_symbol = [&](int64_t high) {
    Symbol symbol;
    symbol.name = fmt::format("r{}", graph.symbols.size());
    symbol.low = 0, symbol.high = high;
    graph.symbols.push_back({loop::SymbolRole::kAxis, -1, -1});
    return table.add_symbol(std::move(symbol));
  };
  for (const int64_t times : {2, 4, 8}) {
    if (lanes % times != 0) continue;
    const SymbolId quotient = add_symbol(INT32_MAX), remainder = add_symbol(times - 1);
    std::vector<ExpressionId> replacement(table.symbol_count(), -1);
    replacement[static_cast<size_t>(lane)] =
        table.add(table.multiply(table.constant(times), table.symbol_expression(quotient)),
                  table.symbol_expression(remainder));
    const ExpressionId split = table.substitute(offset, replacement);
    const auto linear = loop::split_linear(table, split, quotient);
    if (linear && table.as_constant(linear->stride) == 1 &&
        !loop::mentions(table, linear->remainder, remainder))
      return times;
  }
  return 1;
}

bool expression_differs(const loop::LoopGraph& graph, ExpressionId id,
                        const std::vector<SymbolId>& symbols, const std::vector<bool>& differing) {
  const Expression& e = graph.expressions[id];
  if (e.op == ExpressionOp::kConstant) return false;
  if (e.op == ExpressionOp::kSymbol) {
    const auto symbol = static_cast<SymbolId>(e.value);
    if (std::ranges::find(symbols, symbol) != symbols.end()) return true;
    const loop::LoopSymbol& own = graph.symbols[static_cast<size_t>(symbol)];
    return own.role == loop::SymbolRole::kValue && differing[static_cast<size_t>(own.index)];
  }
  return expression_differs(graph, e.a, symbols, differing) ||
         expression_differs(graph, e.b, symbols, differing);
}

bool is_tile_load(loop::LoopGraph& graph, const FlatNest& nest, InstructionId id, SymbolId lane,
                  SymbolId tile, const std::vector<bool>& differing) {
  const auto i = static_cast<size_t>(id);
  const loop::Instruction& own = nest.nest.instructions[i];
  if (own.kind != InstructionKind::kLoad) return false;
  ExpressionTable& table = graph.expressions;
  const ExpressionId offset = nest.load_offsets[i];
  const auto along = loop::split_linear(table, offset, tile),
             across = loop::split_linear(table, offset, lane);
  if (!along || !across || table.as_constant(along->stride) != 1 ||
      table.as_constant(across->stride) == 0 || loop::mentions(table, across->stride, tile) ||
      expression_differs(graph, offset, {}, differing))
    return false;
  if (own.guards.empty()) return true;
  const loop::Instruction& otherwise = nest.nest.instructions[static_cast<size_t>(own.operands[0])];
  return otherwise.kind == InstructionKind::kConstant &&
         std::ranges::none_of(own.guards, [&](const loop::Guard& guard) {
           return expression_differs(graph, guard.value, {tile}, differing) ||
                  expression_differs(graph, guard.limit, {tile}, differing);
         });
}

std::vector<bool> differing_instructions(const loop::LoopGraph& graph, const FlatNest& nest,
                                         const std::vector<SymbolId>& lane_symbols, bool is_inner) {
  const loop::Nest& loops = nest.nest;
  std::vector<bool> differing(loops.instructions.size(), false);
  const auto differs = [&](ExpressionId id) {
    return id >= 0 && expression_differs(graph, id, lane_symbols, differing);
  };
  bool changed = true;
  while (changed) {  // accumulators may be read before their value is known
    changed = false;
    for (size_t s = 0; s < loops.sweeps.size(); ++s) {
      for (const InstructionId id : loops.sweeps[s].instructions) {
        const auto i = static_cast<size_t>(id);
        const loop::Instruction& instruction = loops.instructions[i];
        bool own = differs(nest.load_offsets[i]) || differs(instruction.index);
        // Lanes along an outer axis have rows of their own.
        if (instruction.kind == InstructionKind::kLoad && !is_inner && !lane_symbols.empty())
          own = own || graph.buffers[static_cast<size_t>(instruction.access.buffer)].is_local;
        for (const loop::Guard& guard : instruction.guards)
          own = own || differs(guard.value) || differs(guard.limit);
        for (const InstructionId operand : instruction.operands)
          own = own || (operand >= 0 && differing[static_cast<size_t>(operand)]);
        if (instruction.accumulator >= 0) {
          const loop::Accumulator& from =
              loops.accumulators[static_cast<size_t>(instruction.accumulator)];
          const bool is_over = is_inner && from.sweep < static_cast<int32_t>(s) &&
                               !loops.sweeps[static_cast<size_t>(from.sweep)].axes.empty();
          for (const InstructionId operand : {from.initial, from.value, from.position})
            own = own || (!is_over && operand >= 0 && differing[static_cast<size_t>(operand)]);
        }
        if (own && !differing[i]) differing[i] = changed = true;
      }
    }
  }
  return differing;
}

}  // namespace sluice
