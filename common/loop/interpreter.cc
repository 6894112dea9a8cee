#include "common/loop/interpreter.h"

#include <algorithm>
#include <vector>

#include "common/loop/scalar_value.h"

namespace sluice::loop {
namespace {

// A buffer with known extents.
struct Memory {
  std::byte* data = nullptr;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // elements, by stored axis
  int64_t elements = 1;          // gaps included
  std::vector<std::byte> own;    // of a row-local buffer
};

// The state of an accumulator while its sweep runs, and its final state after that.
struct Running {
  uint64_t value = 0;
  int64_t position = 0;
  bool has_started = false;
};

class Interpreter {
 public:
  Interpreter(const LoopGraph& graph, std::span<const int64_t> sizes,
              std::span<std::byte* const> operands)
      : graph_(graph), sizes_(sizes), operands_(operands), symbols_(graph.symbols.size()) {}

  Result<void> run();

 private:
  Result<void> bind_sizes();
  Result<void> bind_buffers();
  Result<Memory> memory_of(const Buffer& buffer) const;
  Result<int64_t> evaluate(ExpressionId id) const {
    return graph_.expressions.evaluate(id, symbols_);
  }
  void forget_local_buffers();
  template <typename Body>
  Result<void> for_each_point(const Nest& nest, std::span<const AxisId> axes, const Body& body);
  Result<void> run_nest(const Nest& nest);
  Result<void> run_sweep(const Nest& nest, const Sweep& sweep);
  Result<void> run_iteration(const Nest& nest, const Sweep& sweep);
  Result<uint64_t> compute(const Nest& nest, const Instruction& instruction);
  Result<uint64_t> compute_operator(const Nest& nest, const Instruction& instruction);
  Result<uint64_t> load(const Instruction& instruction);
  Result<void> store(const Store& store);
  Result<bool> all_hold(const std::vector<Guard>& guards) const;
  Result<std::byte*> locate(const Access& access) const;
  Result<std::byte*> locate_byte(const Access& access) const;
  void set_register(InstructionId id, uint64_t value);
  void combine(const Accumulator& accumulator, Running& running);

  const LoopGraph& graph_;
  std::span<const int64_t> sizes_;
  std::span<std::byte* const> operands_;
  std::vector<int64_t> symbols_;  // the values, by SymbolId
  std::vector<Memory> memories_;  // by BufferId
  // Of the nest that runs.
  std::vector<uint64_t> registers_;        // by InstructionId
  std::vector<Running> running_;           // by AccumulatorId
  std::vector<std::vector<SymbolId>> of_;  // by InstructionId: the symbols of its value
};

// ---- sizes and buffers

Result<void> Interpreter::bind_sizes() {
  for (size_t i = 0; i < graph_.symbols.size(); ++i) {
    const LoopSymbol& symbol = graph_.symbols[i];
    if (symbol.role != SymbolRole::kSize) continue;
    if (symbol.index < 0 || at(symbol.index) >= sizes_.size())
      return make_error(ErrorCode::kBadShape, "a size is dim {} of {}", symbol.index,
                        sizes_.size());
    symbols_[i] = sizes_[at(symbol.index)];
  }
  return {};
}

Result<Memory> Interpreter::memory_of(const Buffer& buffer) const {
  Memory memory;
  for (const ExpressionId dim : buffer.dims) {
    SLUICE_ASSIGN(const int64_t extent, evaluate(dim));
    memory.dims.push_back(extent);
  }
  memory.strides.resize(buffer.storage.size());
  for (size_t i = buffer.storage.size(); i-- > 0;) {
    const StoredAxis& axis = buffer.storage[i];
    SLUICE_ASSIGN(const int64_t whole, evaluate(buffer.capacity[at(axis.dim)]));
    memory.strides[i] = memory.elements;
    memory.elements *= axis.modulus > 0 ? axis.modulus : (whole + axis.divisor - 1) / axis.divisor;
  }
  return memory;
}

Result<void> Interpreter::bind_buffers() {
  size_t operand = 0, size = 0;
  for (const Buffer& buffer : graph_.buffers) {
    SLUICE_ASSIGN(Memory memory, memory_of(buffer));
    if (!buffer.is_local) {
      if (operand == operands_.size())
        return make_error(ErrorCode::kBadShape, "there are only {} operands", operands_.size());
      for (const int64_t dim : memory.dims) {
        if (size < sizes_.size() && sizes_[size] != dim)
          return make_error(ErrorCode::kBadShape, "dim {} of the operands is {}, not {}", size,
                            sizes_[size], dim);
        ++size;
      }
      memory.data = operands_[operand++];
    }
    memories_.push_back(std::move(memory));
  }
  if (operand != operands_.size() || size != sizes_.size())
    return make_error(ErrorCode::kBadShape, "{} operands have {} dims, given are {} with {}",
                      operand, size, operands_.size(), sizes_.size());
  return {};
}

// Fills row-local buffers with ones, so that a read before the first write is seen.
void Interpreter::forget_local_buffers() {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (!graph_.buffers[i].is_local) continue;
    Memory& memory = memories_[i];
    const auto elements = static_cast<uint64_t>(std::max<int64_t>(memory.elements, 0));
    memory.own.assign(dtype_bytes(graph_.buffers[i].dtype, elements), std::byte{0xff});
    memory.data = memory.own.data();
  }
}

Result<std::byte*> Interpreter::locate(const Access& access) const {
  const Buffer& buffer = graph_.buffers[at(access.buffer)];
  const Memory& memory = memories_[at(access.buffer)];
  if (is_packed(buffer.dtype)) return locate_byte(access);
  std::vector<int64_t> index;
  for (size_t i = 0; i < access.index.size(); ++i) {
    SLUICE_ASSIGN(const int64_t own, evaluate(access.index[i]));
    if (own < 0 || own >= memory.dims[i])
      return make_error(ErrorCode::kBadGraph, "buffer {}: index {} of dim {}, which is {}",
                        access.buffer, own, i, memory.dims[i]);
    index.push_back(own);
  }
  int64_t offset = 0;
  for (size_t i = 0; i < buffer.storage.size(); ++i) {
    const StoredAxis& axis = buffer.storage[i];
    const int64_t part = index[at(axis.dim)] / axis.divisor;
    offset += (axis.modulus > 0 ? part % axis.modulus : part) * memory.strides[i];
  }
  return memory.data + dtype_bytes(buffer.dtype, static_cast<uint64_t>(offset));
}

Result<std::byte*> Interpreter::locate_byte(const Access& access) const {
  const Memory& memory = memories_[at(access.buffer)];
  const auto bytes = static_cast<int64_t>(
      dtype_bytes(graph_.buffers[at(access.buffer)].dtype, static_cast<uint64_t>(memory.elements)));
  SLUICE_ASSIGN(const int64_t index, evaluate(access.index[0]));
  if (index >= 0 && index < bytes) return memory.data + index;
  return make_error(ErrorCode::kBadGraph, "buffer {}: byte {} of {}", access.buffer, index, bytes);
}

// ---- loops

// Calls body() at every point of the axes, the last one fastest.
template <typename Body>
Result<void> Interpreter::for_each_point(const Nest& nest, std::span<const AxisId> axes,
                                         const Body& body) {
  if (axes.empty()) return body();
  const Axis& axis = nest.axes[at(axes.front())];
  SLUICE_ASSIGN(const int64_t extent, evaluate(axis.extent));
  for (int64_t i = 0; i < extent; ++i) {
    symbols_[at(axis.symbol)] = i;
    SLUICE_TRY(for_each_point(nest, axes.subspan(1), body));
  }
  return {};
}

Result<void> Interpreter::run() {
  SLUICE_TRY(bind_sizes());
  SLUICE_TRY(bind_buffers());
  for (size_t i = 0; i < graph_.nests.size(); ++i) {
    const Nest& nest = graph_.nests[i];
    registers_.assign(nest.instructions.size(), 0);
    of_.assign(nest.instructions.size(), {});
    for (size_t k = 0; k < graph_.symbols.size(); ++k) {
      const LoopSymbol& symbol = graph_.symbols[k];
      if (symbol.role == SymbolRole::kValue && at(symbol.nest) == i)
        of_[at(symbol.index)].push_back(static_cast<SymbolId>(k));
    }
    SLUICE_TRY(run_nest(nest));
  }
  return {};
}

Result<void> Interpreter::run_nest(const Nest& nest) {
  std::vector<AxisId> outer(at(nest.outer));
  for (size_t i = 0; i < outer.size(); ++i) outer[i] = static_cast<AxisId>(i);
  return for_each_point(nest, outer, [&]() -> Result<void> {
    forget_local_buffers();
    running_.assign(nest.accumulators.size(), {});
    for (const Sweep& sweep : nest.sweeps) SLUICE_TRY(run_sweep(nest, sweep));
    return {};
  });
}

Result<void> Interpreter::run_sweep(const Nest& nest, const Sweep& sweep) {
  for (const AccumulatorId id : sweep.accumulators) {
    const InstructionId initial = nest.accumulators[at(id)].initial;
    const Instruction& from = nest.instructions[at(initial)];
    // A constant may be one of this sweep, which has not run yet.
    running_[at(id)].value =
        from.kind == InstructionKind::kConstant ? from.bits : registers_[at(initial)];
  }
  return for_each_point(nest, sweep.axes, [&] { return run_iteration(nest, sweep); });
}

Result<void> Interpreter::run_iteration(const Nest& nest, const Sweep& sweep) {
  for (const InstructionId id : sweep.instructions) {
    SLUICE_ASSIGN(const uint64_t value, compute(nest, nest.instructions[at(id)]));
    set_register(id, value);
  }
  for (const Store& store : sweep.stores) SLUICE_TRY(this->store(store));
  for (const AccumulatorId id : sweep.accumulators)
    combine(nest.accumulators[at(id)], running_[at(id)]);
  return {};
}

void Interpreter::set_register(InstructionId id, uint64_t value) {
  registers_[at(id)] = value;
  for (const SymbolId symbol : of_[at(id)]) symbols_[at(symbol)] = static_cast<int64_t>(value);
}

// ---- instructions

Result<bool> Interpreter::all_hold(const std::vector<Guard>& guards) const {
  for (const Guard& guard : guards) {
    SLUICE_ASSIGN(const int64_t value, evaluate(guard.value));
    SLUICE_ASSIGN(const int64_t limit, evaluate(guard.limit));
    if (value < 0 || value >= limit) return false;
  }
  return true;
}

Result<uint64_t> Interpreter::load(const Instruction& instruction) {
  SLUICE_ASSIGN(const bool is_read, all_hold(instruction.guards));
  if (!is_read) return registers_[at(instruction.operands[0])];
  SLUICE_ASSIGN(const std::byte* element, locate(instruction.access));
  return load_value(graph_.buffers[at(instruction.access.buffer)].dtype, element);
}

Result<void> Interpreter::store(const Store& store) {
  SLUICE_ASSIGN(const bool is_written, all_hold(store.guards));
  if (!is_written) return {};
  SLUICE_ASSIGN(std::byte * element, locate(store.access));
  store_value(graph_.buffers[at(store.access.buffer)].dtype, registers_[at(store.value)], element);
  return {};
}

Result<uint64_t> Interpreter::compute_operator(const Nest& nest, const Instruction& instruction) {
  const auto& operands = instruction.operands;
  std::array<uint64_t, 3> values = {};
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] >= 0) values[i] = registers_[at(operands[i])];
  const InstructionId typed = operands[instruction.op == ScalarOp::kSelect ? 1 : 0];
  bool fault = false;
  const uint64_t result = compute_scalar(instruction.op, nest.instructions[at(typed)].dtype,
                                         instruction.dtype, values, fault);
  if (!fault) return result;
  if (instruction.op != ScalarOp::kCheckIndex)
    return make_error(ErrorCode::kBadValue, "an integer is divided by zero");
  return make_error(ErrorCode::kBadValue, "index {} of an axis with {} elements",
                    static_cast<int64_t>(values[0]), static_cast<int64_t>(values[1]));
}

Result<uint64_t> Interpreter::compute(const Nest& nest, const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::kConstant:
      return instruction.bits;
    case InstructionKind::kIndex: {
      SLUICE_ASSIGN(const int64_t value, evaluate(instruction.index));
      return static_cast<uint64_t>(value);
    }
    case InstructionKind::kLoad:
      return load(instruction);
    case InstructionKind::kTest: {
      SLUICE_ASSIGN(const bool holds, all_hold(instruction.guards));
      return static_cast<uint64_t>(holds);
    }
    case InstructionKind::kScalar:
      return compute_operator(nest, instruction);
    case InstructionKind::kAccumulator:
      return running_[at(instruction.accumulator)].value;
    case InstructionKind::kPosition:
      return static_cast<uint64_t>(running_[at(instruction.accumulator)].position);
  }
  return make_error(ErrorCode::kBadGraph, "an instruction of no kind");
}

// ---- accumulators

// Returns true when a value takes the place of the best so far.
bool is_better(const Accumulator& accumulator, uint64_t value, uint64_t best) {
  bool fault = false;
  const auto compare = [&](ScalarOp op, uint64_t a, uint64_t b) {
    return compute_scalar(op, accumulator.dtype, DType::kBool, {a, b}, fault) != 0;
  };
  const bool is_max = accumulator.combine == Combine::kArgMax;
  if (compare(ScalarOp::kLess, is_max ? best : value, is_max ? value : best)) return true;
  return accumulator.is_last && compare(ScalarOp::kEqual, value, best);
}

ScalarOp operator_of(Combine combine) {
  switch (combine) {
    case Combine::kProduct:
      return ScalarOp::kMul;
    case Combine::kMax:
      return ScalarOp::kMax;
    case Combine::kMin:
      return ScalarOp::kMin;
    default:
      return ScalarOp::kAdd;
  }
}

void Interpreter::combine(const Accumulator& accumulator, Running& running) {
  const uint64_t value = registers_[at(accumulator.value)];
  bool fault = false;
  switch (accumulator.combine) {
    case Combine::kCarry:
      running.value = value;
      return;
    case Combine::kArgMax:
    case Combine::kArgMin:
      if (running.has_started && !is_better(accumulator, value, running.value)) return;
      running = {value, static_cast<int64_t>(registers_[at(accumulator.position)]), true};
      return;
    default:
      running.value = compute_scalar(operator_of(accumulator.combine), accumulator.dtype,
                                     accumulator.dtype, {running.value, value}, fault);
  }
}

}  // namespace

Result<void> interpret(const LoopGraph& graph, std::span<const int64_t> sizes,
                       std::span<std::byte* const> operands) {
  return Interpreter(graph, sizes, operands).run();
}

}  // namespace sluice::loop
