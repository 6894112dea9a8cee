#include "stages/subgraph-optimize/codegen/prologue_emitter.h"

#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

constexpr int32_t kMatrixDims = 2;  // which come before the dims of what is read

// The symbols of numbers that the caller computes.
struct TileRows {
  SymbolId first, count;
};

SymbolId add_number(loop::LoopGraph& graph, const char* name, int64_t high, int64_t nominal) {
  Symbol symbol;
  symbol.name = name;
  symbol.low = 0, symbol.high = high;
  graph.symbols.push_back({loop::SymbolRole::kSize, -1, -1, nominal});
  return graph.expressions.add_symbol(std::move(symbol));
}

// Makes a nest over all rows of the matrix one over the rows of a tile: row r is first + i.
TileRows limit_rows(loop::LoopGraph& graph, loop::Nest& nest, int64_t tile_rows) {
  ExpressionTable& table = graph.expressions;
  const TileRows rows = {add_number(graph, "first", INT64_MAX, 1),
                         add_number(graph, "count", tile_rows, tile_rows)};
  const ExpressionId count = table.symbol_expression(rows.count);
  const SymbolId row = nest.axes[0].symbol;
  const SymbolId in_tile = table.add_symbol(loop::axis_symbol(table, count));
  graph.symbols.push_back({loop::SymbolRole::kAxis, 0, 0});
  const ExpressionId index = table.symbol_expression(in_tile);
  std::vector<ExpressionId> replacement(table.symbol_count(), -1);
  replacement[static_cast<size_t>(row)] = table.add(table.symbol_expression(rows.first), index);
  loop::substitute(table, nest, replacement);
  nest.axes[0] = {in_tile, count};
  nest.sweeps[0].stores[0].access.index[0] = index;
  graph.buffers[0].dims[0] = graph.buffers[0].capacity[0] = count;
  return rows;
}

}  // namespace

uint64_t PrologueEmitter::scratch_bytes() const {
  return prologue_.is_empty() ? 0 : static_cast<uint64_t>(tile_rows_ * columns_ * 4);
}

// The parameters are scratch, symbols, first row, number of rows, and what is read.
void PrologueEmitter::emit_function() {
  if (prologue_.is_empty()) return;
  std::vector<llvm::Type*> parameters = {b_.pointer_type(), b_.pointer_type(), b_.index_type(),
                                         b_.index_type()};
  parameters.insert(parameters.end(), static_cast<size_t>(prologue_.pointers()), b_.pointer_type());
  function_ = b_.begin_function("rows", parameters);
  b_.set_symbols(function_->getArg(1));
  IrValues buffers = {function_->getArg(0)};
  for (unsigned i = 4; i < parameters.size(); ++i) buffers.push_back(function_->getArg(i));
  for (const loop::Nest& nest : prologue_.loops.nests)
    emit_nest(nest, buffers, function_->getArg(2), function_->getArg(3));
  b_.ret_void();
}

void PrologueEmitter::emit_nest(const loop::Nest& nest, const IrValues& buffers, Value* first,
                                Value* rows) {
  loop::LoopGraph graph = prologue_.loops;
  for (loop::LoopSymbol& symbol : graph.symbols) {
    if (symbol.role == loop::SymbolRole::kSize)
      symbol.index += prologue_.first_symbol - kMatrixDims;
  }
  loop::Nest limited = nest;
  const TileRows tile = limit_rows(graph, limited, tile_rows_);
  FlatNest flat = flatten_nest(graph, limited);
  NestPlan plan = plan_nest(graph, flat, b_.profile());
  plan.bypasses_caches = false;  // a tile is read at once
  NestEmitter emitter(b_, graph, std::move(flat), plan, buffers, prologue_.math);
  emitter.set_number(tile.first, first);
  emitter.set_number(tile.count, rows);
  emitter.emit_all();
}

Value* PrologueEmitter::prepare(const IrValues& operands, Value* first, Value* rows) {
  Value* symbols =
      is_fixed(prologue_)
          ? llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(b_.ir().getContext()))
          : b_.symbols();
  IrValues arguments = {b_.scratch(), symbols, first, rows};
  arguments.insert(arguments.end(), operands.begin(), operands.end());
  b_.ir().CreateCall(function_, arguments);
  return arguments[0];
}

}  // namespace sluice
