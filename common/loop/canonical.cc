#include <algorithm>
#include <map>

#include "common/loop/text.h"

namespace sluice::loop {
namespace {

class Canonical {
 public:
  explicit Canonical(const LoopGraph& from) : from_(from) {}
  LoopGraph make();

 private:
  void add_symbol(SymbolId old, Symbol symbol);
  void add_sizes();
  void add_axis(Nest& nest, AxisId id);
  void add_values(int32_t nest, InstructionId id);
  void renumber_nest(int32_t id);
  void renumber_sweep(int32_t nest_id, const Sweep& sweep);
  ExpressionId moved(ExpressionId id);
  void move(ExpressionId& id) { id = moved(id); }
  void move(std::vector<ExpressionId>& ids) {
    for (ExpressionId& id : ids) move(id);
  }
  void move(std::vector<Guard>& guards) {
    for (Guard& guard : guards) move(guard.value), move(guard.limit);
  }

  const LoopGraph& from_;
  LoopGraph to_;
  std::map<SymbolId, SymbolId> symbols_;              // new ones by old ones
  std::map<ExpressionId, ExpressionId> expressions_;  // new ones by old ones
  size_t axes_ = 0, values_ = 0;
};

void Canonical::add_symbol(SymbolId old, Symbol symbol) {
  symbols_[old] = to_.expressions.add_symbol(std::move(symbol));
  to_.symbols.push_back(from_.symbols[static_cast<size_t>(old)]);
}

ExpressionId Canonical::moved(ExpressionId id) {
  if (id < 0) return id;
  if (const auto found = expressions_.find(id); found != expressions_.end()) return found->second;
  const Expression e = from_.expressions[id];
  ExpressionTable& table = to_.expressions;
  ExpressionId result = -1;
  if (e.op == ExpressionOp::kConstant) {
    result = table.constant(e.value);
  } else if (e.op == ExpressionOp::kSymbol) {
    result = table.symbol_expression(symbols_.at(static_cast<SymbolId>(e.value)));
  } else {
    const ExpressionId a = moved(e.a), b = moved(e.b);
    result = table.make(e.op, a, b);
  }
  return expressions_[id] = result;
}

void Canonical::add_sizes() {
  for (size_t i = 0; i < from_.symbols.size(); ++i) {
    if (from_.symbols[i].role != SymbolRole::kSize) continue;
    const Symbol& old = from_.expressions.symbol(static_cast<SymbolId>(i));
    Symbol symbol;
    symbol.name = fmt::format("n{}", from_.symbols[i].index);
    symbol.low = old.low, symbol.high = old.high, symbol.divisor = old.divisor;
    add_symbol(static_cast<SymbolId>(i), std::move(symbol));
  }
}

void Canonical::add_axis(Nest& nest, AxisId id) {
  Axis& axis = nest.axes[static_cast<size_t>(id)];
  move(axis.extent);
  Symbol symbol = axis_symbol(to_.expressions, axis.extent);
  symbol.name = fmt::format("i{}", axes_++);
  add_symbol(axis.symbol, std::move(symbol));
  axis.symbol = symbols_.at(axis.symbol);
}

void Canonical::add_values(int32_t nest, InstructionId id) {
  for (size_t i = 0; i < from_.symbols.size(); ++i) {
    const LoopSymbol& own = from_.symbols[i];
    if (own.role != SymbolRole::kValue || own.nest != nest || own.index != id) continue;
    const Symbol& old = from_.expressions.symbol(static_cast<SymbolId>(i));
    Symbol symbol;
    symbol.name = fmt::format("v{}", values_++);
    symbol.low = old.low, symbol.high = old.high, symbol.divisor = old.divisor;
    add_symbol(static_cast<SymbolId>(i), std::move(symbol));
  }
}

void Canonical::renumber_sweep(int32_t nest_id, const Sweep& sweep) {
  Nest& nest = to_.nests[static_cast<size_t>(nest_id)];
  for (const AxisId id : sweep.axes) add_axis(nest, id);
  for (const InstructionId id : sweep.instructions) {
    Instruction& instruction = nest.instructions[static_cast<size_t>(id)];
    move(instruction.index);
    move(instruction.access.index);
    move(instruction.guards);
    add_values(nest_id, id);
  }
}

void Canonical::renumber_nest(int32_t id) {
  Nest& nest = to_.nests[static_cast<size_t>(id)];
  for (AxisId axis = 0; axis < nest.outer; ++axis) add_axis(nest, axis);
  for (Sweep& sweep : nest.sweeps) {
    renumber_sweep(id, sweep);
    for (Store& store : sweep.stores) {
      move(store.access.index);
      move(store.guards);
    }
  }
}

LoopGraph Canonical::make() {
  to_.buffers = from_.buffers;
  to_.nests = from_.nests;
  add_sizes();
  for (Buffer& buffer : to_.buffers) {
    move(buffer.dims);
    move(buffer.capacity);
  }
  for (size_t i = 0; i < to_.nests.size(); ++i) renumber_nest(static_cast<int32_t>(i));
  return std::move(to_);
}

}  // namespace

LoopGraph canonical(const LoopGraph& graph) { return Canonical(graph).make(); }

}  // namespace sluice::loop
