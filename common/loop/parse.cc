// Parses a text of loops by recursive descent.
#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

#include "common/loop/text.h"
#include "common/symbolic/parse_expression.h"

namespace sluice::loop {
namespace {

using text::Lexer;
using text::Token;
using text::TokenKind;

constexpr int32_t kMaxNumber = 1 << 24;  // of an instruction or accumulator

class LoopParser {
 public:
  explicit LoopParser(Lexer lexer) : lexer_(std::move(lexer)) {}
  Result<LoopGraph> parse();

 private:
  // Sizes and buffers.
  Result<void> parse_line();
  Result<void> parse_size();
  Result<void> parse_range(Symbol& symbol);
  Result<void> parse_buffer();
  Result<DType> parse_dtype();

  // Nests. `nest` is graph_.nests.back(), `sweep` the last of it.
  Result<void> parse_nest();
  Result<void> parse_axes(Nest& nest, std::vector<AxisId>& ids);
  Result<void> parse_sweep(Nest& nest);
  Result<void> parse_sweep_line(Nest& nest, Sweep& sweep);
  Result<void> parse_instruction(Nest& nest, Sweep& sweep);
  Result<void> parse_value_symbol(InstructionId id);
  Result<void> parse_operation(Instruction& instruction);
  Result<void> parse_constant(Instruction& instruction);
  Result<uint64_t> parse_bits(DType dtype, const std::string& text);
  Result<void> parse_load(Instruction& instruction);
  Result<void> parse_operands(Instruction& instruction, int count);
  Result<void> parse_accumulator(Nest& nest, Sweep& sweep);
  Result<void> parse_store(Sweep& sweep);

  // Parts.
  Result<SymbolId> add_symbol(Symbol symbol, const LoopSymbol& role, size_t offset);
  Result<Access> parse_access();
  Result<std::vector<Guard>> parse_guards();
  Result<std::vector<ExpressionId>> parse_list();
  Result<ExpressionId> parse_expression() {
    return text::ExpressionParser(lexer_, graph_.expressions, symbols_).parse();
  }
  Result<int32_t> take_number(TokenKind kind, std::string_view what);
  Result<void> take_next_number(TokenKind kind, size_t next, std::string_view what);
  const Token& token() const { return lexer_.token(); }

  Lexer lexer_;
  LoopGraph graph_;
  text::ExpressionParser::Symbols symbols_;
  std::map<std::string, BufferId> buffers_;
};

// ---- parts

Result<SymbolId> LoopParser::add_symbol(Symbol symbol, const LoopSymbol& role, size_t offset) {
  const auto id = static_cast<SymbolId>(graph_.symbols.size());
  if (!symbols_.emplace(symbol.name, id).second)
    return lexer_.error_at(offset, fmt::format("there is another symbol '{}'", symbol.name));
  graph_.expressions.add_symbol(std::move(symbol));
  graph_.symbols.push_back(role);
  return id;
}

Result<std::vector<ExpressionId>> LoopParser::parse_list() {
  std::vector<ExpressionId> list;
  SLUICE_TRY(lexer_.expect("["));
  while (!token().is("]")) {
    if (!list.empty()) SLUICE_TRY(lexer_.expect(","));
    SLUICE_ASSIGN(const ExpressionId id, parse_expression());
    list.push_back(id);
  }
  SLUICE_TRY(lexer_.advance());
  return list;
}

Result<Access> LoopParser::parse_access() {
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const std::string name, lexer_.take_name("a buffer"));
  const auto found = buffers_.find(name);
  if (found == buffers_.end())
    return lexer_.error_at(offset, fmt::format("there is no buffer '{}' above", name));
  Access access;
  access.buffer = found->second;
  SLUICE_ASSIGN(access.index, parse_list());
  return access;
}

Result<std::vector<Guard>> LoopParser::parse_guards() {
  std::vector<Guard> guards;
  for (bool more = true; more;) {
    Guard guard;
    SLUICE_TRY(lexer_.take_int("0", 0, 0));
    SLUICE_TRY(lexer_.expect("<="));
    SLUICE_ASSIGN(guard.value, parse_expression());
    SLUICE_TRY(lexer_.expect("<"));
    SLUICE_ASSIGN(guard.limit, parse_expression());
    guards.push_back(guard);
    SLUICE_ASSIGN(more, lexer_.skip("and"));
  }
  return guards;
}

Result<int32_t> LoopParser::take_number(TokenKind kind, std::string_view what) {
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const Token token, lexer_.take(kind, what));
  int32_t number = 0;
  const char* end = token.text.data() + token.text.size();
  const auto read = std::from_chars(token.text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0 || number > kMaxNumber)
    return lexer_.error_at(offset, fmt::format("'{}' is no number of {}", token.text, what));
  return number;
}

// Takes the number of a definition, which is one more than that of the definition before.
Result<void> LoopParser::take_next_number(TokenKind kind, size_t next, std::string_view what) {
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const int32_t number, take_number(kind, what));
  if (static_cast<size_t>(number) != next)
    return lexer_.error_at(offset, fmt::format("the next number of {} is {}", what, next));
  return {};
}

Result<DType> LoopParser::parse_dtype() {
  const auto dtype = dtype_from_name(token().text);
  if (token().kind != TokenKind::kWord || !dtype)
    return lexer_.unexpected("an element type (f32, i64, …)");
  SLUICE_TRY(lexer_.advance());
  return *dtype;
}

// ---- sizes and buffers

Result<void> LoopParser::parse_range(Symbol& symbol) {
  SLUICE_TRY(lexer_.expect("in"));
  SLUICE_TRY(lexer_.expect("["));
  SLUICE_ASSIGN(symbol.low, lexer_.take_int("the lowest value"));
  SLUICE_TRY(lexer_.expect(","));
  SLUICE_ASSIGN(const bool is_open, lexer_.skip("*"));
  if (!is_open) {
    SLUICE_ASSIGN(symbol.high, lexer_.take_int("the highest value", symbol.low));
  }
  SLUICE_TRY(lexer_.expect("]"));
  SLUICE_ASSIGN(const bool has_divisor, lexer_.skip("multiple"));
  if (!has_divisor) return {};
  SLUICE_ASSIGN(symbol.divisor, lexer_.take_int("multiple", 1));
  return {};
}

Result<void> LoopParser::parse_size() {
  Symbol symbol;
  LoopSymbol role;
  const size_t offset = token().offset;
  SLUICE_ASSIGN(symbol.name, lexer_.take_name("a size"));
  SLUICE_TRY(lexer_.expect("="));
  SLUICE_TRY(lexer_.expect("dim"));
  SLUICE_ASSIGN(const int64_t index, lexer_.take_int("a dim", 0, kMaxNumber));
  role.index = static_cast<int32_t>(index);
  SLUICE_TRY(parse_range(symbol));
  SLUICE_TRY(lexer_.expect("nominal"));
  SLUICE_ASSIGN(role.nominal, lexer_.take_int("nominal", 1));
  SLUICE_TRY(add_symbol(std::move(symbol), role, offset));
  return {};
}

Result<void> LoopParser::parse_buffer() {
  Buffer buffer;
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const std::string name, lexer_.take_name("a buffer"));
  if (!buffers_.emplace(name, static_cast<BufferId>(graph_.buffers.size())).second)
    return lexer_.error_at(offset, fmt::format("there is another buffer '{}'", name));
  SLUICE_TRY(lexer_.expect(":"));
  SLUICE_ASSIGN(buffer.dtype, parse_dtype());
  SLUICE_ASSIGN(buffer.dims, parse_list());
  buffer.capacity = buffer.dims;
  buffer.storage = dense_map(buffer.dims.size());
  SLUICE_ASSIGN(const bool has_capacity, lexer_.skip("capacity"));
  if (has_capacity) {
    SLUICE_ASSIGN(buffer.capacity, parse_list());
  }
  SLUICE_ASSIGN(const bool has_storage, lexer_.skip("stored"));
  if (has_storage) {
    SLUICE_ASSIGN(buffer.storage, parse_storage_map(lexer_));
  }
  SLUICE_ASSIGN(buffer.is_local, lexer_.skip("local"));
  SLUICE_ASSIGN(buffer.is_written, lexer_.skip("written"));
  buffer.is_written |= buffer.is_local;
  graph_.buffers.push_back(std::move(buffer));
  return {};
}

// ---- nests

Result<void> LoopParser::parse_axes(Nest& nest, std::vector<AxisId>& ids) {
  SLUICE_ASSIGN(bool more, lexer_.skip("for"));
  while (more) {
    const auto id = static_cast<AxisId>(nest.axes.size());
    const size_t offset = token().offset;
    SLUICE_ASSIGN(std::string name, lexer_.take_name("an axis"));
    SLUICE_TRY(lexer_.expect("<"));
    Axis axis;
    SLUICE_ASSIGN(axis.extent, parse_expression());
    Symbol symbol = axis_symbol(graph_.expressions, axis.extent);
    symbol.name = std::move(name);
    const auto own = static_cast<int32_t>(graph_.nests.size()) - 1;
    SLUICE_ASSIGN(axis.symbol, add_symbol(std::move(symbol), {SymbolRole::kAxis, own, id}, offset));
    nest.axes.push_back(axis);
    ids.push_back(id);
    SLUICE_ASSIGN(more, lexer_.skip(","));
  }
  return {};
}

Result<void> LoopParser::parse_nest() {
  Nest& nest = graph_.nests.emplace_back();
  std::vector<AxisId> outer;
  SLUICE_TRY(parse_axes(nest, outer));
  nest.outer = static_cast<int32_t>(outer.size());
  SLUICE_TRY(lexer_.expect("{"));
  while (!token().is("}")) {
    SLUICE_TRY(lexer_.expect("sweep"));
    SLUICE_TRY(parse_sweep(nest));
  }
  return lexer_.advance();
}

Result<void> LoopParser::parse_sweep(Nest& nest) {
  Sweep& sweep = nest.sweeps.emplace_back();
  SLUICE_TRY(parse_axes(nest, sweep.axes));
  SLUICE_TRY(lexer_.expect("{"));
  while (!token().is("}")) SLUICE_TRY(parse_sweep_line(nest, sweep));
  return lexer_.advance();
}

Result<void> LoopParser::parse_sweep_line(Nest& nest, Sweep& sweep) {
  if (token().kind == TokenKind::kValue) return parse_instruction(nest, sweep);
  if (token().kind == TokenKind::kConstant) return parse_accumulator(nest, sweep);
  SLUICE_ASSIGN(const bool is_store, lexer_.skip("store"));
  return is_store ? parse_store(sweep) : lexer_.unexpected("%, $ or store");
}

Result<void> LoopParser::parse_instruction(Nest& nest, Sweep& sweep) {
  const auto id = static_cast<InstructionId>(nest.instructions.size());
  SLUICE_TRY(take_next_number(TokenKind::kValue, nest.instructions.size(), "an instruction"));
  Instruction instruction;
  SLUICE_TRY(lexer_.expect(":"));
  SLUICE_ASSIGN(instruction.dtype, parse_dtype());
  SLUICE_ASSIGN(const bool has_symbol, lexer_.skip("as"));
  // The symbol is known below, not in this line.
  const size_t symbol_offset = token().offset;
  Symbol symbol;
  if (has_symbol) {
    SLUICE_ASSIGN(symbol.name, lexer_.take_name("a symbol"));
    SLUICE_TRY(parse_range(symbol));
  }
  SLUICE_TRY(lexer_.expect("="));
  SLUICE_TRY(parse_operation(instruction));
  nest.instructions.push_back(std::move(instruction));
  sweep.instructions.push_back(id);
  if (!has_symbol) return {};
  const auto own = static_cast<int32_t>(graph_.nests.size()) - 1;
  SLUICE_TRY(add_symbol(std::move(symbol), {SymbolRole::kValue, own, id}, symbol_offset));
  return {};
}

Result<void> LoopParser::parse_operation(Instruction& instruction) {
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const Token word, lexer_.take(TokenKind::kWord, "an operation"));
  if (word.text == "constant") return parse_constant(instruction);
  if (word.text == "load") return parse_load(instruction);
  if (word.text == "expression") {
    instruction.kind = InstructionKind::kIndex;
    SLUICE_ASSIGN(instruction.index, parse_expression());
    return {};
  }
  if (word.text == "test") {
    instruction.kind = InstructionKind::kTest;
    SLUICE_ASSIGN(instruction.guards, parse_guards());
    return {};
  }
  if (word.text == "value" || word.text == "position") {
    instruction.kind =
        word.text == "value" ? InstructionKind::kAccumulator : InstructionKind::kPosition;
    SLUICE_ASSIGN(instruction.accumulator, take_number(TokenKind::kConstant, "an accumulator"));
    return {};
  }
  const auto op = scalar_from_text(word.text);
  if (!op) return lexer_.error_at(offset, fmt::format("there is no operation '{}'", word.text));
  instruction.kind = InstructionKind::kScalar;
  instruction.op = *op;
  return parse_operands(instruction, scalar_row(*op).operands);
}

Result<void> LoopParser::parse_operands(Instruction& instruction, int count) {
  for (int i = 0; i < count; ++i) {
    if (i > 0) SLUICE_TRY(lexer_.expect(","));
    SLUICE_ASSIGN(instruction.operands[static_cast<size_t>(i)],
                  take_number(TokenKind::kValue, "an instruction"));
  }
  return {};
}

Result<void> LoopParser::parse_load(Instruction& instruction) {
  instruction.kind = InstructionKind::kLoad;
  SLUICE_ASSIGN(instruction.access, parse_access());
  SLUICE_ASSIGN(const bool is_guarded, lexer_.skip("if"));
  if (!is_guarded) return {};
  SLUICE_ASSIGN(instruction.guards, parse_guards());
  SLUICE_TRY(lexer_.expect("else"));
  return parse_operands(instruction, 1);
}

// ---- constants

template <typename T>
std::optional<T> number_from(const std::string& text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>) {
    read = std::from_chars(text.data(), end, value);
  } else {
    read = std::from_chars(text.data(), end, value, base);
  }
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

template <typename Float, typename Bits>
std::optional<uint64_t> float_bits(const std::string& text) {
  if (text.starts_with("0x")) {
    const auto bits = number_from<Bits>(text.substr(2), 16);
    return bits ? std::optional<uint64_t>(*bits) : std::nullopt;
  }
  const auto value = number_from<Float>(text);
  return value ? std::optional<uint64_t>(std::bit_cast<Bits>(*value)) : std::nullopt;
}

std::optional<uint64_t> integer_bits(DType dtype, const std::string& text) {
  const int bits = dtype_bits(dtype);
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (!dtype_is_signed(dtype)) {
    const auto value = number_from<uint64_t>(text);
    return value && (*value & mask) == *value ? value : std::nullopt;
  }
  const auto value = number_from<int64_t>(text);
  if (!value || bits < 8) return std::nullopt;
  const int64_t high = static_cast<int64_t>(mask >> 1);
  if (*value > high || *value < -high - 1) return std::nullopt;
  return static_cast<uint64_t>(*value) & mask;
}

Result<uint64_t> LoopParser::parse_bits(DType dtype, const std::string& text) {
  std::optional<uint64_t> bits;
  if (dtype == DType::kF32) bits = float_bits<float, uint32_t>(text);
  if (dtype == DType::kF64) bits = float_bits<double, uint64_t>(text);
  if (dtype == DType::kBool && (text == "true" || text == "false")) bits = text == "true";
  if (dtype_is_integer(dtype)) bits = integer_bits(dtype, text);
  if (!bits) return lexer_.error(fmt::format("'{}' is no {}", text, dtype_name(dtype)));
  return *bits;
}

Result<void> LoopParser::parse_constant(Instruction& instruction) {
  if (token().kind != TokenKind::kNumber && token().kind != TokenKind::kWord)
    return lexer_.unexpected("a number");
  SLUICE_ASSIGN(instruction.bits, parse_bits(instruction.dtype, token().text));
  return lexer_.advance();
}

// ---- accumulators and stores

Result<void> LoopParser::parse_accumulator(Nest& nest, Sweep& sweep) {
  Accumulator own;
  own.sweep = static_cast<int32_t>(nest.sweeps.size()) - 1;
  sweep.accumulators.push_back(static_cast<AccumulatorId>(nest.accumulators.size()));
  SLUICE_TRY(take_next_number(TokenKind::kConstant, nest.accumulators.size(), "an accumulator"));
  SLUICE_TRY(lexer_.expect(":"));
  SLUICE_ASSIGN(own.dtype, parse_dtype());
  SLUICE_TRY(lexer_.expect("="));
  const auto combine = combine_from_name(token().text);
  if (token().kind != TokenKind::kWord || !combine)
    return lexer_.unexpected("how values are combined (sum, max, …)");
  own.combine = *combine;
  SLUICE_TRY(lexer_.advance());
  SLUICE_TRY(lexer_.expect("of"));
  SLUICE_ASSIGN(own.value, take_number(TokenKind::kValue, "an instruction"));
  SLUICE_ASSIGN(const bool has_position, lexer_.skip("at"));
  if (has_position) {
    SLUICE_ASSIGN(own.position, take_number(TokenKind::kValue, "an instruction"));
  }
  SLUICE_TRY(lexer_.expect("from"));
  SLUICE_ASSIGN(own.initial, take_number(TokenKind::kValue, "an instruction"));
  SLUICE_ASSIGN(own.is_last, lexer_.skip("last"));
  nest.accumulators.push_back(own);
  return {};
}

Result<void> LoopParser::parse_store(Sweep& sweep) {
  Store store;
  SLUICE_ASSIGN(store.access, parse_access());
  SLUICE_TRY(lexer_.expect("="));
  SLUICE_ASSIGN(store.value, take_number(TokenKind::kValue, "an instruction"));
  SLUICE_ASSIGN(const bool is_guarded, lexer_.skip("if"));
  if (is_guarded) {
    SLUICE_ASSIGN(store.guards, parse_guards());
  }
  sweep.stores.push_back(std::move(store));
  return {};
}

// ---- the whole

Result<void> LoopParser::parse_line() {
  SLUICE_ASSIGN(const bool is_size, lexer_.skip("size"));
  if (is_size) return parse_size();
  SLUICE_ASSIGN(const bool is_buffer, lexer_.skip("buffer"));
  if (is_buffer) return parse_buffer();
  SLUICE_ASSIGN(const bool is_nest, lexer_.skip("nest"));
  return is_nest ? parse_nest() : lexer_.unexpected("size, buffer or nest");
}

Result<LoopGraph> LoopParser::parse() {
  SLUICE_TRY(lexer_.expect("loops"));
  SLUICE_TRY(lexer_.take_int("the version of the text", 1, 1));
  while (token().kind != TokenKind::kEnd) SLUICE_TRY(parse_line());
  return std::move(graph_);
}

}  // namespace

Result<LoopGraph> parse_loops(std::string_view text, const std::string& name) {
  Lexer lexer(text, name);
  SLUICE_TRY(lexer.advance());
  return parse_loops(std::move(lexer));
}

Result<LoopGraph> parse_loops(text::Lexer lexer) { return LoopParser(std::move(lexer)).parse(); }

}  // namespace sluice::loop
