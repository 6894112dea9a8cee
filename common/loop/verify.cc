#include "common/loop/verify.h"

#include <algorithm>
#include <string>

#include "common/loop/text.h"
#include "common/symbolic/any_symbol.h"

namespace sluice::loop {
namespace {

// More axes than tensors have. The time to generate code rises with their cube: 13 s for 200.
constexpr size_t kMaxAxes = 64;

template <typename T>
bool has(const std::vector<T>& list, int32_t id) {
  return id >= 0 && at(id) < list.size();
}

class LoopVerifier {
 public:
  explicit LoopVerifier(const LoopGraph& graph) : graph_(graph) {}
  Result<void> verify();

 private:
  Result<void> check_symbols() const;
  Result<void> check_size(SymbolId id) const;
  Result<void> check_axis_symbol(SymbolId id) const;
  Result<void> check_value_symbol(SymbolId id) const;
  Result<void> check_buffer(const Buffer& buffer) const;
  Result<void> check_extents(const std::vector<ExpressionId>& extents) const;
  Result<void> check_nest();
  Result<void> check_sweep();
  Result<void> check_instruction(InstructionId id);
  Result<void> check_fields(const Instruction& own) const;
  Result<void> check_constant(const Instruction& own) const;
  Result<void> check_load(const Instruction& own) const;
  Result<void> check_scalar(const Instruction& own) const;
  Result<void> check_read(const Instruction& own) const;
  Result<void> check_accumulator(const Accumulator& own) const;
  Result<void> check_initial(const Accumulator& own) const;
  Result<void> check_arg(const Accumulator& own) const;
  Result<void> check_store(const Store& store) const;
  Result<void> check_access(const Access& access, bool is_guarded) const;
  Result<void> check_within(ExpressionId index, ExpressionId dim) const;
  Result<void> check_guards(const std::vector<Guard>& guards) const;
  Result<void> check_operand(InstructionId id, DType dtype) const;
  Result<void> check_visible(InstructionId id) const;
  // Of sizes only, and of what is known at this place of a sweep.
  Result<void> check_sizes(ExpressionId id) const;
  Result<void> check_expression(ExpressionId id) const;
  bool is_known(SymbolId id) const;
  const Nest& nest() const { return graph_.nests[at(nest_)]; }
  const Sweep& sweep() const { return nest().sweeps[at(sweep_)]; }

  template <typename... Args>
  static Error broken(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::kVerifyFailed, format, std::forward<Args>(args)...);
  }

  const LoopGraph& graph_;
  int32_t nest_ = -1, sweep_ = -1;
  std::vector<bool> visible_;  // by InstructionId of the nest: can be read at this place
  int32_t axes_ = 0, instructions_ = 0, accumulators_ = 0;  // of the nest, up to this place
};

Result<void> within(Result<void> result, const std::string& where) {
  if (result) return result;
  return std::move(result).error().within(where);
}

// ---- symbols

Result<void> LoopVerifier::check_size(SymbolId id) const {
  const LoopSymbol& role = graph_.symbols[at(id)];
  const Symbol& symbol = graph_.expressions.symbol(id);
  if (symbol.low < 0) return broken("it may be {}", symbol.low);
  if (role.nominal < std::max<int64_t>(symbol.low, 1) || role.nominal > symbol.high)
    return broken("its nominal value is {}", role.nominal);
  int32_t index = role.index;
  for (const Buffer& buffer : graph_.buffers) {
    if (buffer.is_local || index < 0) break;
    const auto rank = static_cast<int32_t>(buffer.dims.size());
    if (index >= rank) {
      index -= rank;
      continue;
    }
    const ExpressionId dim = buffer.dims[at(index)];
    if (dim < 0 || at(dim) >= graph_.expressions.size()) break;
    const Expression& e = graph_.expressions[dim];
    if (e.op == ExpressionOp::kSymbol && e.value == id) return {};
    return broken("dim {} of the operands is {}", role.index, graph_.expressions.text(dim));
  }
  return broken("the operands have no dim {}", role.index);
}

Result<void> LoopVerifier::check_axis_symbol(SymbolId id) const {
  const LoopSymbol& role = graph_.symbols[at(id)];
  if (has(graph_.nests, role.nest)) {
    const Nest& nest = graph_.nests[at(role.nest)];
    if (has(nest.axes, role.index) && nest.axes[at(role.index)].symbol == id) return {};
  }
  return broken("it is no axis {} of nest {}", role.index, role.nest);
}

Result<void> LoopVerifier::check_value_symbol(SymbolId id) const {
  const LoopSymbol& role = graph_.symbols[at(id)];
  if (!has(graph_.nests, role.nest) || !has(graph_.nests[at(role.nest)].instructions, role.index))
    return broken("there is no %{} in nest {}", role.index, role.nest);
  if (graph_.nests[at(role.nest)].instructions[at(role.index)].dtype != DType::kI64)
    return broken("%{} of nest {} is no i64", role.index, role.nest);
  for (SymbolId other = 0; other < id; ++other) {
    const LoopSymbol& before = graph_.symbols[at(other)];
    if (before.role == role.role && before.nest == role.nest && before.index == role.index)
      return broken("%{} of nest {} has two symbols", role.index, role.nest);
  }
  return {};
}

Result<void> LoopVerifier::check_symbols() const {
  if (graph_.symbols.size() != graph_.expressions.symbol_count())
    return broken("there are {} symbols, {} of them in expressions", graph_.symbols.size(),
                  graph_.expressions.symbol_count());
  for (SymbolId id = 0; at(id) < graph_.symbols.size(); ++id) {
    const std::string& name = graph_.expressions.symbol(id).name;
    const Symbol& symbol = graph_.expressions.symbol(id);
    if (symbol.low > symbol.high || symbol.divisor < 1)
      return broken("symbol {}: it has no value", name);
    const SymbolRole role = graph_.symbols[at(id)].role;
    Result<void> result = role == SymbolRole::kSize   ? check_size(id)
                          : role == SymbolRole::kAxis ? check_axis_symbol(id)
                                                      : check_value_symbol(id);
    SLUICE_TRY(within(std::move(result), "symbol " + name));
  }
  return {};
}

// ---- expressions

bool LoopVerifier::is_known(SymbolId id) const {
  const LoopSymbol& role = graph_.symbols[at(id)];
  if (role.role == SymbolRole::kSize) return true;
  if (role.nest != nest_) return false;
  if (role.role == SymbolRole::kValue) return visible_[at(role.index)];
  return role.index < nest().outer || std::ranges::count(sweep().axes, role.index) != 0;
}

Result<void> LoopVerifier::check_sizes(ExpressionId id) const {
  if (id < 0 || at(id) >= graph_.expressions.size()) return broken("there is no expression {}", id);
  const auto is_other = [&](SymbolId symbol) {
    return graph_.symbols[at(symbol)].role != SymbolRole::kSize;
  };
  if (any_symbol(graph_.expressions, id, is_other))
    return broken("{} has symbols that are no sizes", graph_.expressions.text(id));
  return {};
}

Result<void> LoopVerifier::check_expression(ExpressionId id) const {
  if (id < 0 || at(id) >= graph_.expressions.size()) return broken("there is no expression {}", id);
  if (any_symbol(graph_.expressions, id, [&](SymbolId symbol) { return !is_known(symbol); }))
    return broken("{} has symbols that are not known here", graph_.expressions.text(id));
  return {};
}

Result<void> LoopVerifier::check_guards(const std::vector<Guard>& guards) const {
  for (const Guard& guard : guards) {
    SLUICE_TRY(check_expression(guard.value));
    SLUICE_TRY(check_expression(guard.limit));
  }
  return {};
}

// Returns whether the bounds of an expression are those of its values: it has axes alone, none of
// them twice or empty, and no remainder. Other conditions narrow sizes and what is loaded.
bool has_exact_bounds(const LoopGraph& graph, ExpressionId id, std::vector<SymbolId>& found) {
  const Expression& e = graph.expressions[id];
  if (e.op == ExpressionOp::kConstant) return true;
  if (e.op != ExpressionOp::kSymbol)
    return e.op != ExpressionOp::kMod && has_exact_bounds(graph, e.a, found) &&
           has_exact_bounds(graph, e.b, found);
  const auto symbol = static_cast<SymbolId>(e.value);
  const LoopSymbol& role = graph.symbols[at(symbol)];
  if (role.role != SymbolRole::kAxis || std::ranges::count(found, symbol) != 0) return false;
  found.push_back(symbol);
  const Axis& axis = graph.nests[at(role.nest)].axes[at(role.index)];
  return graph.expressions.as_constant(axis.extent).value_or(0) > 0;
}

// Finds indices of known range outside of known dims; of a dim of 0 nothing is read.
Result<void> LoopVerifier::check_within(ExpressionId index, ExpressionId dim) const {
  const std::optional<int64_t> extent = graph_.expressions.as_constant(dim);
  std::vector<SymbolId> found;
  if (extent.value_or(0) == 0 || !has_exact_bounds(graph_, index, found)) return {};
  const Interval range = graph_.expressions.bounds(index);
  if (range.low > range.high || (range.low >= 0 && range.high < *extent)) return {};
  return broken("index {} is from {} to {}, the dim is {}", graph_.expressions.text(index),
                range.low, range.high, *extent);
}

Result<void> LoopVerifier::check_access(const Access& access, bool is_guarded) const {
  if (!has(graph_.buffers, access.buffer)) return broken("there is no buffer {}", access.buffer);
  const Buffer& buffer = graph_.buffers[at(access.buffer)];
  const size_t rank = is_packed(buffer.dtype) ? 1 : buffer.dims.size();
  if (access.index.size() != rank)
    return broken("an index of {} numbers for {} dims", access.index.size(), rank);
  for (size_t i = 0; i < rank; ++i) {
    SLUICE_TRY(check_expression(access.index[i]));
    if (!is_guarded && !is_packed(buffer.dtype))
      SLUICE_TRY(check_within(access.index[i], buffer.dims[i]));
  }
  return {};
}

// ---- buffers

Result<void> LoopVerifier::check_extents(const std::vector<ExpressionId>& extents) const {
  if (extents.size() > kMaxAxes)
    return broken("{} dims, {} are the limit", extents.size(), kMaxAxes);
  for (const ExpressionId id : extents) {
    SLUICE_TRY(check_sizes(id));
    const int64_t extent = graph_.expressions.as_constant(id).value_or(0);
    if (extent < 0) return broken("a dim of {}", extent);
  }
  return {};
}

Result<void> LoopVerifier::check_buffer(const Buffer& buffer) const {
  if (!is_register_dtype(register_dtype(buffer.dtype)))
    return broken("its elements are {}", dtype_name(buffer.dtype));
  if (buffer.is_local && !buffer.is_written) return broken("it is row-local and never written");
  if (buffer.capacity.size() != buffer.dims.size())
    return broken("capacity of {} dims, {} dims", buffer.capacity.size(), buffer.dims.size());
  SLUICE_TRY(check_extents(buffer.dims));
  SLUICE_TRY(check_extents(buffer.capacity));
  const bool is_dense = !buffer.is_local && buffer.capacity == buffer.dims &&
                        buffer.storage == dense_map(buffer.dims.size());
  if (is_packed(buffer.dtype) && !is_dense) return broken("packed elements that are not dense");
  const std::string fault = storage_fault(buffer.storage, buffer.dims.size());
  return fault.empty() ? Result<void>() : broken("{}", fault);
}

// ---- instructions

Result<void> LoopVerifier::check_visible(InstructionId id) const {
  if (!has(nest().instructions, id)) return broken("there is no %{}", id);
  if (!visible_[at(id)]) return broken("%{} is not known here", id);
  return {};
}

Result<void> LoopVerifier::check_operand(InstructionId id, DType dtype) const {
  SLUICE_TRY(check_visible(id));
  const DType own = nest().instructions[at(id)].dtype;
  if (own != dtype) return broken("%{} is {}, not {}", id, dtype_name(own), dtype_name(dtype));
  return {};
}

// Fields of other kinds have their defaults.
Result<void> LoopVerifier::check_fields(const Instruction& own) const {
  Instruction expected;
  expected.kind = own.kind;
  expected.dtype = own.dtype;
  switch (own.kind) {
    case InstructionKind::kConstant:
      expected.bits = own.bits;
      break;
    case InstructionKind::kIndex:
      expected.index = own.index;
      break;
    case InstructionKind::kLoad:
      expected.access = own.access;
      expected.guards = own.guards;
      expected.operands[0] = own.operands[0];
      break;
    case InstructionKind::kTest:
      expected.guards = own.guards;
      break;
    case InstructionKind::kScalar:
      expected.op = own.op;
      std::copy_n(own.operands.begin(), scalar_row(own.op).operands, expected.operands.begin());
      break;
    case InstructionKind::kAccumulator:
    case InstructionKind::kPosition:
      expected.accumulator = own.accumulator;
      break;
  }
  if (own != expected) return broken("it has fields of another kind of instruction");
  return {};
}

Result<void> LoopVerifier::check_constant(const Instruction& own) const {
  const int bits = own.dtype == DType::kBool ? 1 : dtype_bits(own.dtype);
  if (bits < 64 && own.bits >> bits != 0)
    return broken("0x{:x} has more than {} bits", own.bits, bits);
  return {};
}

Result<void> LoopVerifier::check_load(const Instruction& own) const {
  SLUICE_TRY(check_access(own.access, !own.guards.empty()));
  const DType dtype = register_dtype(graph_.buffers[at(own.access.buffer)].dtype);
  if (own.dtype != dtype)
    return broken("it is {}, elements are {}", dtype_name(own.dtype), dtype_name(dtype));
  SLUICE_TRY(check_guards(own.guards));
  if (own.guards.empty() && own.operands[0] < 0) return {};
  if (own.guards.empty()) return broken("it has no guards, but another value");
  return check_operand(own.operands[0], own.dtype);
}

Result<void> LoopVerifier::check_scalar(const Instruction& own) const {
  const ScalarRow& row = scalar_row(own.op);
  for (int i = 0; i < row.operands; ++i) SLUICE_TRY(check_visible(own.operands[at(i)]));
  const bool is_select = own.op == ScalarOp::kSelect;
  if (is_select) SLUICE_TRY(check_operand(own.operands[0], DType::kBool));
  const int first = is_select ? 1 : 0;
  const DType dtype = nest().instructions[at(own.operands[at(first)])].dtype;
  for (int i = first + 1; i < row.operands; ++i)
    SLUICE_TRY(check_operand(own.operands[at(i)], dtype));
  if (!takes_dtype(own.op, dtype)) return broken("{} of {}", row.text, dtype_name(dtype));
  if (own.op == ScalarOp::kBitCast) {
    if (!takes_dtype(own.op, own.dtype) || dtype_bits(own.dtype) != dtype_bits(dtype))
      return broken("bits of {} as {}", dtype_name(dtype), dtype_name(own.dtype));
    return {};
  }
  if (row.result == ScalarResult::kCast) return {};
  const DType result = row.result == ScalarResult::kBool ? DType::kBool : dtype;
  if (own.dtype != result)
    return broken("it is {}, not {}", dtype_name(own.dtype), dtype_name(result));
  return {};
}

// Reads of accumulators, and their positions.
Result<void> LoopVerifier::check_read(const Instruction& own) const {
  if (!has(nest().accumulators, own.accumulator)) return broken("there is no ${}", own.accumulator);
  const Accumulator& read = nest().accumulators[at(own.accumulator)];
  if (read.sweep > sweep_) return broken("${} is of a later sweep", own.accumulator);
  const bool is_position = own.kind == InstructionKind::kPosition;
  if (is_position && !is_arg(read.combine)) return broken("${} has no position", own.accumulator);
  const DType dtype = is_position ? DType::kI64 : read.dtype;
  if (own.dtype != dtype)
    return broken("it is {}, not {}", dtype_name(own.dtype), dtype_name(dtype));
  return {};
}

Result<void> LoopVerifier::check_instruction(InstructionId id) {
  const Instruction& own = nest().instructions[at(id)];
  if (!is_register_dtype(own.dtype)) return broken("its dtype is {}", dtype_name(own.dtype));
  SLUICE_TRY(check_fields(own));
  switch (own.kind) {
    case InstructionKind::kConstant:
      return check_constant(own);
    case InstructionKind::kIndex:
      if (own.dtype != DType::kI64) return broken("it is {}, not i64", dtype_name(own.dtype));
      return check_expression(own.index);
    case InstructionKind::kLoad:
      return check_load(own);
    case InstructionKind::kTest:
      if (own.dtype != DType::kBool) return broken("it is {}, not bool", dtype_name(own.dtype));
      if (own.guards.empty()) return broken("it tests nothing");
      return check_guards(own.guards);
    case InstructionKind::kScalar:
      return check_scalar(own);
    case InstructionKind::kAccumulator:
    case InstructionKind::kPosition:
      return check_read(own);
  }
  return broken("it is of no kind");
}

// ---- accumulators and stores

// The value before the first iteration: of a constant that may stand in the same sweep, or of
// an earlier sweep.
Result<void> LoopVerifier::check_initial(const Accumulator& own) const {
  SLUICE_TRY(check_operand(own.initial, own.dtype));
  const Instruction& initial = nest().instructions[at(own.initial)];
  const bool is_here = std::ranges::count(sweep().instructions, own.initial) != 0;
  if (is_here && initial.kind != InstructionKind::kConstant)
    return broken("it begins with %{}, which its sweep computes", own.initial);
  return {};
}

// The bits of the value than which nothing is smaller (of kArgMin: larger).
uint64_t worst_bits(Combine combine, DType dtype) {
  const bool is_max = combine == Combine::kArgMax;
  if (dtype == DType::kF32) return is_max ? 0xff800000 : 0x7f800000;
  if (dtype == DType::kF64) return (is_max ? uint64_t{0xfff} : uint64_t{0x7ff}) << 52;
  const int width = dtype_bits(dtype);
  const uint64_t all = ~uint64_t{0} >> (64 - width), sign = uint64_t{1} << (width - 1);
  if (!dtype_is_signed(dtype)) return is_max ? 0 : all;
  return is_max ? sign : all ^ sign;
}

// See Combine::kArgMax.
Result<void> LoopVerifier::check_arg(const Accumulator& own) const {
  SLUICE_TRY(check_operand(own.position, DType::kI64));
  const Instruction& initial = nest().instructions[at(own.initial)];
  if (initial.kind != InstructionKind::kConstant ||
      initial.bits != worst_bits(own.combine, own.dtype))
    return broken("{} does not begin with the {} value", combine_name(own.combine),
                  own.combine == Combine::kArgMax ? "smallest" : "largest");
  const Instruction& position = nest().instructions[at(own.position)];
  if (position.kind == InstructionKind::kConstant && position.bits == 0) return {};
  if (position.kind == InstructionKind::kIndex) {
    const std::vector<AxisId>& axes = sweep().axes;
    const Expression& index = graph_.expressions[position.index];
    if (graph_.expressions.as_constant(position.index) == 0 ||
        (axes.size() == 1 && index.op == ExpressionOp::kSymbol &&
         index.value == nest().axes[at(axes[0])].symbol))
      return {};
  }
  return broken("the position of {} is not the index of the sweep's only axis",
                combine_name(own.combine));
}

Result<void> LoopVerifier::check_accumulator(const Accumulator& own) const {
  if (own.sweep != sweep_) return broken("it says that it is of sweep {}", own.sweep);
  SLUICE_TRY(check_operand(own.value, own.dtype));
  SLUICE_TRY(check_initial(own));
  if (own.dtype == DType::kBool && own.combine != Combine::kCarry)
    return broken("{} of bools", combine_name(own.combine));
  if (is_arg(own.combine)) return check_arg(own);
  if (own.position != -1 || own.is_last)
    return broken("{} has no position", combine_name(own.combine));
  return {};
}

Result<void> LoopVerifier::check_store(const Store& store) const {
  SLUICE_TRY(check_access(store.access, !store.guards.empty()));
  const Buffer& buffer = graph_.buffers[at(store.access.buffer)];
  if (!buffer.is_written) return broken("buffer {} is only read", store.access.buffer);
  SLUICE_TRY(check_guards(store.guards));
  return check_operand(store.value, register_dtype(buffer.dtype));
}

// ---- nests

Result<void> LoopVerifier::check_sweep() {
  for (const AxisId id : sweep().axes)
    if (id != axes_++) return broken("its axes are not the next ones of the nest");
  if (at(axes_) > nest().axes.size()) return broken("it has more axes than the nest");
  for (const InstructionId id : sweep().instructions) {
    if (id != instructions_++ || !has(nest().instructions, id))
      return broken("its instructions are not the next ones of the nest");
    SLUICE_TRY(within(check_instruction(id), fmt::format("%{}", id)));
    visible_[at(id)] = true;
  }
  for (const AccumulatorId id : sweep().accumulators) {
    if (id != accumulators_++ || !has(nest().accumulators, id))
      return broken("its accumulators are not the next ones of the nest");
    SLUICE_TRY(within(check_accumulator(nest().accumulators[at(id)]), fmt::format("${}", id)));
  }
  for (size_t i = 0; i < sweep().stores.size(); ++i)
    SLUICE_TRY(within(check_store(sweep().stores[i]), fmt::format("store {}", i)));
  if (sweep().axes.empty()) return {};
  for (const InstructionId id : sweep().instructions) visible_[at(id)] = false;
  return {};
}

Result<void> LoopVerifier::check_nest() {
  visible_.assign(nest().instructions.size(), false);
  axes_ = nest().outer, instructions_ = 0, accumulators_ = 0;
  if (nest().outer < 0 || at(nest().outer) > nest().axes.size())
    return broken("{} of {} axes are outer ones", nest().outer, nest().axes.size());
  if (nest().axes.size() > kMaxAxes)
    return broken("{} axes, {} are the limit", nest().axes.size(), kMaxAxes);
  for (size_t i = 0; i < nest().axes.size(); ++i) {
    const Axis& axis = nest().axes[i];
    SLUICE_TRY(within(check_sizes(axis.extent), fmt::format("axis {}", i)));
    const bool is_own = has(graph_.symbols, axis.symbol) &&
                        graph_.symbols[at(axis.symbol)].role == SymbolRole::kAxis &&
                        graph_.symbols[at(axis.symbol)].nest == nest_ &&
                        at(graph_.symbols[at(axis.symbol)].index) == i;
    if (!is_own) return broken("axis {} has a symbol of something else", i);
  }
  for (sweep_ = 0; at(sweep_) < nest().sweeps.size(); ++sweep_)
    SLUICE_TRY(within(check_sweep(), fmt::format("sweep {}", sweep_)));
  const bool are_all = at(axes_) == nest().axes.size() &&
                       at(instructions_) == nest().instructions.size() &&
                       at(accumulators_) == nest().accumulators.size();
  if (!are_all) return broken("an axis, instruction or accumulator is in no sweep");
  return {};
}

Result<void> LoopVerifier::verify() {
  SLUICE_TRY(check_symbols());
  bool has_local = false;
  for (size_t i = 0; i < graph_.buffers.size(); ++i) {
    const Buffer& buffer = graph_.buffers[i];
    SLUICE_TRY(within(check_buffer(buffer), fmt::format("buffer {}", i)));
    if (has_local && !buffer.is_local)
      return broken("buffer {}: an operand after row-local buffers", i);
    has_local |= buffer.is_local;
  }
  for (nest_ = 0; at(nest_) < graph_.nests.size(); ++nest_)
    SLUICE_TRY(within(check_nest(), fmt::format("nest {}", nest_)));
  return {};
}

}  // namespace

Result<void> verify(const LoopGraph& graph) { return LoopVerifier(graph).verify(); }

}  // namespace sluice::loop
