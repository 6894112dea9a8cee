#include <algorithm>
#include <bit>

#include "common/loop/text.h"

namespace sluice::loop {

namespace {

constexpr std::string_view kCombineNames[] = {"sum",    "product", "max",  "min",
                                              "argmax", "argmin",  "carry"};

template <typename Float, typename Bits>
std::string float_text(Bits bits) {
  const auto value = std::bit_cast<Float>(bits);
  if (value == value) return fmt::format("{}", value);
  constexpr Bits kNaN = sizeof(Bits) == 4 ? Bits{0x7fc00000} : static_cast<Bits>(0x7ff8ull << 48);
  return bits == kNaN ? "nan" : fmt::format("0x{:x}", bits);
}

std::string constant_text(DType dtype, uint64_t bits) {
  if (dtype == DType::kF32) return float_text<float>(static_cast<uint32_t>(bits));
  if (dtype == DType::kF64) return float_text<double>(bits);
  if (dtype == DType::kBool) return bits != 0 ? "true" : "false";
  if (!dtype_is_signed(dtype)) return fmt::format("{}", bits);
  const int spare = 64 - dtype_bits(dtype);
  return fmt::format("{}", static_cast<int64_t>(bits << spare) >> spare);
}

class LoopPrinter {
 public:
  explicit LoopPrinter(const LoopGraph& graph) : graph_(graph) {}  // canonical
  std::string print();

 private:
  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<size_t>(2 * depth), ' ') + text + "\n";
  }
  void print_nest(const Nest& nest);
  void print_sweep(const Nest& nest, const Sweep& sweep);
  std::string size(const LoopSymbol& symbol, SymbolId id) const;
  std::string buffer(BufferId id) const;
  std::string buffer_name(BufferId id) const;
  std::string range(SymbolId id) const;
  std::string axes(const Nest& nest, const std::vector<AxisId>& ids) const;
  std::string instruction(const Nest& nest, InstructionId id) const;
  std::string operation(const Instruction& instruction) const;
  std::string load(const Instruction& instruction) const;
  std::string accumulator(const Nest& nest, AccumulatorId id) const;
  std::string store(const Store& store) const;
  std::string access(const Access& access) const {
    return buffer_name(access.buffer) + list(access.index);
  }
  std::string guards(const std::vector<Guard>& guards) const;
  std::string list(const std::vector<ExpressionId>& ids) const;
  std::string text(ExpressionId id) const { return graph_.expressions.text(id); }

  const LoopGraph& graph_;
  std::string out_;
  std::vector<std::string> values_;  // by InstructionId of the nest: the name of its symbol
};

std::string LoopPrinter::list(const std::vector<ExpressionId>& ids) const {
  std::string result = "[";
  for (const ExpressionId id : ids) result += (result.size() > 1 ? ", " : "") + text(id);
  return result + "]";
}

std::string LoopPrinter::guards(const std::vector<Guard>& guards) const {
  std::string result;
  for (const Guard& guard : guards)
    result += fmt::format("{}0 <= {} < {}", result.empty() ? "" : " and ", text(guard.value),
                          text(guard.limit));
  return result;
}

// ---- sizes and buffers

std::string LoopPrinter::range(SymbolId id) const {
  const Symbol& symbol = graph_.expressions.symbol(id);
  const std::string high = symbol.high == INT64_MAX ? "*" : fmt::format("{}", symbol.high);
  const std::string multiple =
      symbol.divisor == 1 ? std::string() : fmt::format(" multiple {}", symbol.divisor);
  return fmt::format("in [{}, {}]{}", symbol.low, high, multiple);
}

std::string LoopPrinter::size(const LoopSymbol& symbol, SymbolId id) const {
  return fmt::format("size {} = dim {} {} nominal {}", graph_.expressions.symbol(id).name,
                     symbol.index, range(id), symbol.nominal);
}

std::string LoopPrinter::buffer_name(BufferId id) const {
  const Buffer& buffer = graph_.buffers[static_cast<size_t>(id)];
  return fmt::format("{}{}", buffer.is_local ? "t" : buffer.is_written ? "y" : "x", id);
}

std::string LoopPrinter::buffer(BufferId id) const {
  const Buffer& buffer = graph_.buffers[static_cast<size_t>(id)];
  std::string result =
      fmt::format("buffer {}: {}{}", buffer_name(id), dtype_name(buffer.dtype), list(buffer.dims));
  if (buffer.capacity != buffer.dims) result += " capacity " + list(buffer.capacity);
  if (buffer.storage != dense_map(buffer.dims.size()))
    result += " stored " + print_storage_map(buffer.storage);
  return result + (buffer.is_local ? " local" : buffer.is_written ? " written" : "");
}

// ---- nests

std::string LoopPrinter::axes(const Nest& nest, const std::vector<AxisId>& ids) const {
  std::string result;
  for (const AxisId id : ids) {
    const Axis& axis = nest.axes[static_cast<size_t>(id)];
    result += fmt::format("{}{} < {}", result.empty() ? " for " : ", ",
                          graph_.expressions.symbol(axis.symbol).name, text(axis.extent));
  }
  return result;
}

std::string LoopPrinter::load(const Instruction& instruction) const {
  const std::string result = "load " + access(instruction.access);
  if (instruction.guards.empty()) return result;
  return fmt::format("{} if {} else %{}", result, guards(instruction.guards),
                     instruction.operands[0]);
}

std::string LoopPrinter::operation(const Instruction& instruction) const {
  switch (instruction.kind) {
    case InstructionKind::kConstant:
      return "constant " + constant_text(instruction.dtype, instruction.bits);
    case InstructionKind::kIndex:
      return "expression " + text(instruction.index);
    case InstructionKind::kLoad:
      return load(instruction);
    case InstructionKind::kTest:
      return "test " + guards(instruction.guards);
    case InstructionKind::kAccumulator:
      return fmt::format("value ${}", instruction.accumulator);
    case InstructionKind::kPosition:
      return fmt::format("position ${}", instruction.accumulator);
    case InstructionKind::kScalar:
      break;
  }
  const ScalarRow& row = scalar_row(instruction.op);
  std::string result(row.text);
  for (size_t i = 0; i < static_cast<size_t>(row.operands); ++i)
    result += fmt::format("{}%{}", i == 0 ? " " : ", ", instruction.operands[i]);
  return result;
}

std::string LoopPrinter::instruction(const Nest& nest, InstructionId id) const {
  const Instruction& instruction = nest.instructions[static_cast<size_t>(id)];
  return fmt::format("%{}: {}{} = {}", id, dtype_name(instruction.dtype),
                     values_[static_cast<size_t>(id)], operation(instruction));
}

std::string LoopPrinter::accumulator(const Nest& nest, AccumulatorId id) const {
  const Accumulator& own = nest.accumulators[static_cast<size_t>(id)];
  std::string result = fmt::format("${}: {} = {} of %{}", id, dtype_name(own.dtype),
                                   combine_name(own.combine), own.value);
  if (own.position >= 0) result += fmt::format(" at %{}", own.position);
  return result + fmt::format(" from %{}{}", own.initial, own.is_last ? " last" : "");
}

std::string LoopPrinter::store(const Store& store) const {
  const std::string result = fmt::format("store {} = %{}", access(store.access), store.value);
  return store.guards.empty() ? result : result + " if " + guards(store.guards);
}

void LoopPrinter::print_sweep(const Nest& nest, const Sweep& sweep) {
  line(1, "sweep" + axes(nest, sweep.axes) + " {");
  for (const InstructionId id : sweep.instructions) line(2, instruction(nest, id));
  for (const AccumulatorId id : sweep.accumulators) line(2, accumulator(nest, id));
  for (const Store& own : sweep.stores) line(2, store(own));
  line(1, "}");
}

void LoopPrinter::print_nest(const Nest& nest) {
  values_.assign(nest.instructions.size(), "");
  const auto number = static_cast<int32_t>(&nest - graph_.nests.data());
  for (size_t i = 0; i < graph_.symbols.size(); ++i) {
    const LoopSymbol& symbol = graph_.symbols[i];
    if (symbol.role != SymbolRole::kValue || symbol.nest != number) continue;
    const auto id = static_cast<SymbolId>(i);
    values_[static_cast<size_t>(symbol.index)] =
        fmt::format(" as {} {}", graph_.expressions.symbol(id).name, range(id));
  }
  std::vector<AxisId> outer(static_cast<size_t>(nest.outer));
  for (size_t i = 0; i < outer.size(); ++i) outer[i] = static_cast<AxisId>(i);
  line(0, "nest" + axes(nest, outer) + " {");
  for (const Sweep& sweep : nest.sweeps) print_sweep(nest, sweep);
  line(0, "}");
}

std::string LoopPrinter::print() {
  line(0, "loops 1");
  for (size_t i = 0; i < graph_.symbols.size(); ++i)
    if (graph_.symbols[i].role == SymbolRole::kSize)
      line(0, size(graph_.symbols[i], static_cast<SymbolId>(i)));
  for (size_t i = 0; i < graph_.buffers.size(); ++i) line(0, buffer(static_cast<BufferId>(i)));
  for (const Nest& nest : graph_.nests) print_nest(nest);
  return std::move(out_);
}

}  // namespace

std::string_view combine_name(Combine combine) {
  return kCombineNames[static_cast<size_t>(combine)];
}

std::optional<Combine> combine_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kCombineNames, name);
  if (found == std::end(kCombineNames)) return std::nullopt;
  return static_cast<Combine>(found - std::begin(kCombineNames));
}

std::string print_loops(const LoopGraph& graph) { return LoopPrinter(canonical(graph)).print(); }

}  // namespace sluice::loop
