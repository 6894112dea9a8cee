// How Lowering makes loops, instructions, accumulators and row-local buffers.
#include <algorithm>
#include <bit>

#include "common/loop/lowering.h"

namespace sluice::loop {

// ---- loops

SymbolId Lowering::add_axis(ExpressionId extent) {
  Symbol symbol = axis_symbol(table(), extent);
  symbol.name = fmt::format("i{}", graph_.symbols.size());
  const SymbolId id = table().add_symbol(std::move(symbol));
  graph_.symbols.push_back({SymbolRole::kAxis, static_cast<int32_t>(graph_.nests.size()) - 1,
                            static_cast<int32_t>(nest().axes.size())});
  nest().axes.push_back({id, extent});
  return id;
}

Index Lowering::begin_nest(const Index& extents) {
  graph_.nests.emplace_back();
  Index index;
  for (const ExpressionId extent : extents) {
    index.push_back(table().as_constant(extent) == 1 ? number(0)
                                                     : table().symbol_expression(add_axis(extent)));
  }
  nest().outer = static_cast<int32_t>(nest().axes.size());
  nest().sweeps.emplace_back();
  known_.clear();
  visible_.clear();
  equal_.clear();
  equal_visible_.clear();
  return index;
}

bool Lowering::is_idle(const Sweep& sweep) {
  return sweep.instructions.empty() && sweep.accumulators.empty() && sweep.stores.empty();
}

// Returns true when the same instruction may have another value after the sweep that ends.
bool Lowering::may_change(const Instruction& instruction) const {
  const Nest& nest = graph_.nests.back();
  if (instruction.kind == InstructionKind::kLoad)
    return graph_.buffers[static_cast<size_t>(instruction.access.buffer)].is_written;
  if (instruction.accumulator < 0) return false;
  return nest.accumulators[static_cast<size_t>(instruction.accumulator)].sweep ==
         static_cast<int32_t>(nest.sweeps.size()) - 1;
}

Index Lowering::begin_sweep(const Index& extents) {
  if (nest().sweeps.back().axes.empty()) {  // its elements stay known
    visible_ = known_;
    equal_visible_ = equal_;
  }
  std::erase_if(equal_visible_, [&](const auto& entry) { return may_change(entry.first); });
  if (nest().sweeps.back().axes.empty() && is_idle(nest().sweeps.back())) nest().sweeps.pop_back();
  known_ = visible_;
  equal_ = equal_visible_;
  Index index;
  std::vector<AxisId> axes;
  for (const ExpressionId extent : extents) {
    if (table().as_constant(extent) == 1) {
      index.push_back(number(0));
      continue;
    }
    axes.push_back(static_cast<AxisId>(nest().axes.size()));
    index.push_back(table().symbol_expression(add_axis(extent)));
  }
  nest().sweeps.emplace_back();
  nest().sweeps.back().axes = std::move(axes);
  return index;
}

// ---- instructions

InstructionId Lowering::append(Instruction instruction) {
  const auto [found, inserted] =
      equal_.try_emplace(instruction, static_cast<InstructionId>(nest().instructions.size()));
  if (!inserted) return found->second;
  nest().instructions.push_back(std::move(instruction));
  nest().sweeps.back().instructions.push_back(found->second);
  return found->second;
}

DType Lowering::dtype_of(InstructionId id) const {
  return graph_.nests.back().instructions[static_cast<size_t>(id)].dtype;
}

std::optional<double> Lowering::known_real(InstructionId id) const {
  const Instruction& given = graph_.nests.back().instructions[static_cast<size_t>(id)];
  if (given.kind != InstructionKind::kConstant) return std::nullopt;
  if (given.dtype == DType::kF64) return std::bit_cast<double>(given.bits);
  if (given.dtype == DType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(given.bits));
  if (given.dtype == DType::kBool) return given.bits != 0;
  const int unused = 64 - dtype_bits(given.dtype);
  if (unused < 32) return std::nullopt;
  const auto number = static_cast<int64_t>(given.bits << unused) >> unused;
  return static_cast<double>(dtype_is_signed(given.dtype) ? number
                                                          : static_cast<int64_t>(given.bits));
}

InstructionId Lowering::real(DType dtype, double value) {
  if (dtype != DType::kF32 && dtype != DType::kF64)
    return integer(dtype, static_cast<int64_t>(value));
  Instruction constant;
  constant.dtype = dtype;
  constant.bits = dtype == DType::kF64 ? std::bit_cast<uint64_t>(value)
                                       : std::bit_cast<uint32_t>(static_cast<float>(value));
  return append(std::move(constant));
}

InstructionId Lowering::integer(DType dtype, int64_t value) {
  if (dtype == DType::kF32 || dtype == DType::kF64) return real(dtype, static_cast<double>(value));
  Instruction constant;
  constant.dtype = dtype;
  const int bits = dtype == DType::kBool ? 1 : dtype_bits(dtype);
  constant.bits = static_cast<uint64_t>(value);
  if (dtype == DType::kBool) constant.bits = value != 0;
  if (bits < 64) constant.bits &= (uint64_t{1} << bits) - 1;
  return append(std::move(constant));
}

// Where guards do not hold, loads give 0, so operands that fault on it are replaced.
InstructionId Lowering::scalar(ScalarOp op, InstructionId a, InstructionId b, InstructionId c) {
  if (!guards_.empty() && may_fault(op, dtype_of(a))) {
    b = guarded(guards_, b, integer(dtype_of(b), 1));
    if (op == ScalarOp::kCheckIndex) a = guarded(guards_, a, integer(dtype_of(a), 0));
  }
  Instruction instruction;
  instruction.kind = InstructionKind::kScalar;
  instruction.op = op;
  instruction.operands = {a, b, c};
  const ScalarRow& row = scalar_row(op);
  instruction.dtype = row.result == ScalarResult::kBool ? DType::kBool
                      : op == ScalarOp::kSelect         ? dtype_of(b)
                                                        : dtype_of(a);
  return append(std::move(instruction));
}

InstructionId Lowering::converted(ScalarOp op, InstructionId a, DType to) {
  if (dtype_of(a) == to) return a;
  Instruction instruction;
  instruction.kind = InstructionKind::kScalar;
  instruction.op = op;
  instruction.operands[0] = a;
  instruction.dtype = to;
  return append(std::move(instruction));
}

InstructionId Lowering::cast(InstructionId a, DType to) {
  return converted(ScalarOp::kCast, a, to);
}

InstructionId Lowering::bit_cast(InstructionId a, DType to) {
  return converted(ScalarOp::kBitCast, a, to);
}

InstructionId Lowering::index_value(ExpressionId value) {
  if (const auto constant = table().as_constant(value)) return integer(DType::kI64, *constant);
  Instruction instruction;
  instruction.kind = InstructionKind::kIndex;
  instruction.dtype = DType::kI64;
  instruction.index = value;
  return append(std::move(instruction));
}

InstructionId Lowering::test(std::vector<Guard> guards) {
  Instruction instruction;
  instruction.kind = InstructionKind::kTest;
  instruction.dtype = DType::kBool;
  instruction.guards = std::move(guards);
  return append(std::move(instruction));
}

InstructionId Lowering::guarded(std::vector<Guard> guards, InstructionId value,
                                InstructionId otherwise) {
  return guards.empty() ? value
                        : scalar(ScalarOp::kSelect, test(std::move(guards)), value, otherwise);
}

ExpressionId Lowering::as_index(InstructionId id, int64_t low, int64_t high) {
  const Instruction& given = nest().instructions[static_cast<size_t>(id)];
  if (given.kind == InstructionKind::kConstant) return number(static_cast<int64_t>(given.bits));
  if (given.kind == InstructionKind::kIndex) return given.index;
  for (size_t i = 0; i < graph_.symbols.size(); ++i) {
    const LoopSymbol& symbol = graph_.symbols[i];
    if (symbol.role == SymbolRole::kValue && symbol.index == id &&
        symbol.nest == static_cast<int32_t>(graph_.nests.size()) - 1)
      return table().symbol_expression(static_cast<SymbolId>(i));
  }
  Symbol symbol;
  symbol.name = fmt::format("v{}", graph_.symbols.size());
  symbol.low = low, symbol.high = std::max(low, high);  // an axis may have no elements
  const SymbolId added = table().add_symbol(std::move(symbol));
  graph_.symbols.push_back({SymbolRole::kValue, static_cast<int32_t>(graph_.nests.size()) - 1, id});
  return table().symbol_expression(added);
}

ExpressionId Lowering::checked_index(InstructionId id, ExpressionId extent) {
  id = cast(id, DType::kI64);
  const Instruction& given = nest().instructions[static_cast<size_t>(id)];
  if (given.kind == InstructionKind::kConstant || given.kind == InstructionKind::kIndex) {
    ExpressionId known = as_index(id, INT64_MIN, INT64_MAX);
    if (table().bounds(known).high < 0) known = table().add(known, extent);
    if (always_holds({known, extent})) return known;
  }
  const InstructionId checked = scalar(ScalarOp::kCheckIndex, id, index_value(extent));
  const int64_t high = table().bounds(extent).high;
  return as_index(checked, 0, high == INT64_MAX ? high : std::max<int64_t>(high - 1, 0));
}

// ---- accumulators

AccumulatorId Lowering::accumulate(Combine combine, InstructionId initial, InstructionId value,
                                   InstructionId position, bool is_last) {
  Accumulator accumulator;
  accumulator.combine = combine;
  accumulator.dtype = dtype_of(value);
  accumulator.sweep = static_cast<int32_t>(nest().sweeps.size()) - 1;
  accumulator.initial = initial, accumulator.value = value, accumulator.position = position;
  accumulator.is_last = is_last;
  const auto id = static_cast<AccumulatorId>(nest().accumulators.size());
  nest().accumulators.push_back(accumulator);
  nest().sweeps.back().accumulators.push_back(id);
  return id;
}

AccumulatorId Lowering::begin_carry(InstructionId initial) {
  return accumulate(Combine::kCarry, initial, initial);
}

void Lowering::end_carry(AccumulatorId carry, InstructionId next) {
  nest().accumulators[static_cast<size_t>(carry)].value = next;
}

InstructionId Lowering::value_of(AccumulatorId accumulator) {
  Instruction instruction;
  instruction.kind = InstructionKind::kAccumulator;
  instruction.dtype = nest().accumulators[static_cast<size_t>(accumulator)].dtype;
  instruction.accumulator = accumulator;
  return append(std::move(instruction));
}

InstructionId Lowering::position_of(AccumulatorId accumulator) {
  Instruction instruction;
  instruction.kind = InstructionKind::kPosition;
  instruction.dtype = DType::kI64;
  instruction.accumulator = accumulator;
  return append(std::move(instruction));
}

// ---- row-local buffers

std::optional<BufferId> Lowering::local_buffer(DType dtype, const Index& extents) {
  const auto elements = table().as_constant(product(extents));
  if (!elements || *elements < 1) return std::nullopt;
  const auto bytes = static_cast<int64_t>(
      dtype_bytes(dtype, static_cast<uint64_t>(std::min<int64_t>(*elements, kMaxLocalBytes))));
  if (local_bytes_ + bytes > kMaxLocalBytes) return std::nullopt;
  local_bytes_ += (bytes + 63) / 64 * 64;
  Buffer buffer;
  buffer.dtype = dtype;
  buffer.dims = buffer.capacity = extents;
  buffer.storage = dense_map(extents.size());
  buffer.is_written = buffer.is_local = true;
  graph_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(graph_.buffers.size()) - 1;
}

void Lowering::store_local(BufferId buffer, const Index& index, InstructionId value,
                           std::vector<Guard> guards) {
  nest().sweeps.back().stores.push_back({{buffer, index}, value, std::move(guards)});
}

InstructionId Lowering::load_local(BufferId buffer, const Index& index) {
  return load(buffer, index, {}, -1);
}

}  // namespace sluice::loop
