#include "common/loop/lowering.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/half.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/ops/small_constant.h"
#include "common/symbolic/nominal.h"

namespace sluice::loop {
namespace {

bool is_number(DType dtype) {
  switch (register_dtype(dtype)) {
    case DType::kF32:
    case DType::kF64:
    case DType::kU8:
    case DType::kI8:
    case DType::kU16:
    case DType::kI16:
    case DType::kU32:
    case DType::kI32:
    case DType::kU64:
    case DType::kI64:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

std::string value_reason(const Value& value, ElementKinds kinds) {
  const Type& type = value.type();
  if (!type.is_tensor() || !type.ranked) return "a value is no tensor of known rank";
  if (!is_number(type.dtype) || (is_narrow(type.dtype) && kinds == ElementKinds::kNumbers))
    return fmt::format("dtype {}, only integers of 8 to 64 bits and floats of 16 to 64 bits",
                       dtype_name(type.dtype));
  const bool unknown =
      std::ranges::any_of(type.dims, [](const Dim& dim) { return dim.is_unknown(); });
  return unknown ? "a size that is known only while running" : std::string();
}

std::string node_reason(const Node& node) {
  const LoweringRow* row = find_lowering(node.op());
  if (row == nullptr) return fmt::format("{} has no loops", op_name(node.op()));
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) continue;
    if (std::string reason = value_reason(*node.input(i), row->elements); !reason.empty())
      return reason;
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (std::string reason = value_reason(node.output(i), row->elements); !reason.empty())
      return reason;
  }
  return row->unsupported_reason == nullptr ? std::string() : row->unsupported_reason(node);
}

const Graph* body_of(const Node& node) {
  return node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
}

// Returns a constant input, null when the input is none. Inputs of the body of a Fused node are
// what the node is given.
const Value* find_constant(const Node& node, size_t input) {
  const Value* value = node.input(input);
  if (value == nullptr || value->is_constant()) return value;
  const Node* owner = node.graph().owner();
  if (value->producer() != nullptr || owner == nullptr || owner->op() != Op::kFused) return nullptr;
  const std::vector<Value*>& inputs = node.graph().inputs();
  const auto found = std::ranges::find(inputs, value);
  if (found == inputs.end()) return nullptr;
  return find_constant(*owner, static_cast<size_t>(found - inputs.begin()));
}

// Returns the bytes of the single element of a constant, empty when it is none or not at hand.
std::span<const std::byte> single_element(const Value& value) {
  if (!value.is_constant()) return {};
  const Segment& segment = value.graph().module().segment(value.segment());
  const bool at_hand = segment.kind == SegmentKind::kSplat ||
                       (segment.kind == SegmentKind::kSmall && value.type().element_count() == 1);
  if (!at_hand || !is_number(value.type().dtype)) return {};
  return segment.data;
}

}  // namespace

std::string unsupported_reason(const Node& node) {
  const Graph* body = body_of(node);
  if (body == nullptr) return node_reason(node);
  const bool has_packed = std::ranges::any_of(
      body->outputs(), [](const Value* output) { return is_packed(output->type().dtype); });
  size_t nests = 0;
  for (const Node& inner : body->nodes()) {
    if (std::string reason = node_reason(inner); !reason.empty())
      return fmt::format("{}: {}", inner.label(), reason);
    if (find_lowering(inner.op())->element == nullptr) ++nests;
  }
  if (nests > 0 && has_packed) return "a node with loops of its own beside packed results";
  return nests > 1 ? "it has more than one node with loops of its own" : std::string();
}

std::string element_unsupported_reason(const Node& node) {
  if (std::string reason = node_reason(node); !reason.empty()) return reason;
  return find_lowering(node.op())->element != nullptr
             ? std::string()
             : fmt::format("{} has loops of its own", op_name(node.op()));
}

Lowering::Lowering(const Node& node) : node_(node), body_(body_of(node)) {}

Result<LoweredNode> lower_node(const Node& node) {
  if (std::string reason = unsupported_reason(node); !reason.empty())
    return make_error(ErrorCode::kNotLowerable, "{}: {}", node.label(), reason);
  Lowering lowering(node);
  SLUICE_TRY(lowering.run());
  return LoweredNode{std::move(lowering.graph_), std::move(lowering.operands_)};
}

// ---- operands and sizes

void Lowering::add_operand(const Value& outside, const Value& inside, bool is_written) {
  Buffer buffer;
  buffer.dtype = outside.type().dtype;
  buffer.is_written = is_written;
  buffers_[&inside] = static_cast<BufferId>(graph_.buffers.size());
  operands_.push_back(&outside);
  graph_.buffers.push_back(std::move(buffer));
}

// Names the sizes that are symbols: first the operands' dims that are symbols of the module, then
// those that are no expression over these.
void Lowering::name_sizes() {
  const Module& module = node_.graph().module();
  const auto name_dims = [&](bool bare) {
    int32_t index = 0;
    for (const Value* operand : operands_) {
      for (const Dim& dim : operand->type().dims) {
        const int32_t own = index++;
        if (!dim.is_expression()) continue;
        const auto id = static_cast<ExpressionId>(dim.value);
        const bool is_bare = module.expressions[id].op == ExpressionOp::kSymbol;
        if (is_bare != bare || imported_.contains(id)) continue;
        if (!bare && imported(id) >= 0) continue;
        Symbol symbol;
        symbol.name = fmt::format("n{}", own);
        const Interval range = module.expressions.bounds(id);
        symbol.low = std::max<int64_t>(range.low, 0), symbol.high = range.high;
        if (bare)
          symbol.divisor =
              module.expressions.symbol(static_cast<SymbolId>(module.expressions[id].value))
                  .divisor;
        imported_[id] = table().symbol_expression(table().add_symbol(symbol));
        graph_.symbols.push_back(
            {SymbolRole::kSize, -1, own, nominal_value(module.expressions, id)});
      }
    }
  };
  name_dims(true);
  name_dims(false);
}

// Returns -1 when a symbol of the expression is not known here.
ExpressionId Lowering::imported(ExpressionId id) {
  if (const auto found = imported_.find(id); found != imported_.end()) return found->second;
  const Expression& e = node_.graph().module().expressions[id];
  ExpressionId result = -1;
  if (e.op == ExpressionOp::kConstant) {
    result = number(e.value);
  } else if (e.op != ExpressionOp::kSymbol) {
    const ExpressionId a = imported(e.a), b = imported(e.b);
    if (a >= 0 && b >= 0) result = table().make(e.op, a, b);
  }
  if (result >= 0) imported_[id] = result;
  return result;
}

ExpressionId Lowering::dim(const Dim& dim) {
  if (dim.is_fixed()) return number(dim.value);
  return imported(static_cast<ExpressionId>(dim.value));
}

Index Lowering::extents(const Value& value) {
  Index extents;
  for (const Dim& own : value.type().dims) extents.push_back(dim(own));
  return extents;
}

ExpressionId Lowering::product(const Index& extents) {
  ExpressionId product = number(1);
  for (const ExpressionId extent : extents) product = table().multiply(product, extent);
  return product;
}

ExpressionId Lowering::flatten(const Index& index, const Index& extents) {
  ExpressionId position = number(0);
  for (size_t i = 0; i < index.size(); ++i)
    position = table().add(table().multiply(position, extents[i]), index[i]);
  return position;
}

Index Lowering::unflatten(ExpressionId position, const Index& extents) {
  Index index(extents.size());
  for (size_t i = extents.size(); i-- > 1;) {
    const auto known = table().as_constant(extents[i]);
    if (known && *known <= 1) {
      index[i] = number(0);
    } else {
      const ExpressionId outer = table().floor_divide(position, extents[i]);
      index[i] = table().subtract(position, table().multiply(outer, extents[i]));
      position = outer;
    }
  }
  if (!index.empty()) index[0] = position;  // whatever the first extent is
  return index;
}

Index Lowering::broadcast(const Value& from, const Index& index) {
  const std::vector<Dim>& dims = from.type().dims;
  Index own(dims.size());
  const size_t skipped = index.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_one = dims[i].is_fixed() && dims[i].value == 1;
    own[i] = is_one ? number(0) : index[skipped + i];
  }
  return own;
}

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

namespace {

bool is_idle(const Sweep& sweep) {
  return sweep.instructions.empty() && sweep.accumulators.empty() && sweep.stores.empty();
}

}  // namespace

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

InstructionId Lowering::cast(InstructionId a, DType to) {
  if (dtype_of(a) == to) return a;
  Instruction instruction;
  instruction.kind = InstructionKind::kScalar;
  instruction.op = ScalarOp::kCast;
  instruction.operands[0] = a;
  instruction.dtype = to;
  return append(std::move(instruction));
}

InstructionId Lowering::bit_cast(InstructionId a, DType to) {
  if (dtype_of(a) == to) return a;
  Instruction instruction;
  instruction.kind = InstructionKind::kScalar;
  instruction.op = ScalarOp::kBitCast;
  instruction.operands[0] = a;
  instruction.dtype = to;
  return append(std::move(instruction));
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

// ---- elements

// Returns true when a register is known to hold a number of the 16-bit dtype.
bool Lowering::is_rounded(DType dtype, InstructionId id) const {
  const Instruction& own = graph_.nests.back().instructions[static_cast<size_t>(id)];
  const auto [condition, a, b] = own.operands;
  if (own.kind == InstructionKind::kLoad) {
    return graph_.buffers[static_cast<size_t>(own.access.buffer)].dtype == dtype &&
           (condition < 0 || is_rounded(dtype, condition));
  }
  if (own.kind == InstructionKind::kConstant) return own.bits == 0;
  if (own.kind != InstructionKind::kScalar) return false;
  if (own.op == ScalarOp::kSelect) return is_rounded(dtype, a) && is_rounded(dtype, b);
  return own.op == (dtype == DType::kF16 ? ScalarOp::kRoundToHalf : ScalarOp::kRoundToBfloat);
}

InstructionId Lowering::rounded(const Value& value, InstructionId id) {
  const DType dtype = value.type().dtype;
  const bool is_short = dtype == DType::kF16 || dtype == DType::kBF16;
  if (!is_short || is_rounded(dtype, id)) return id;
  return scalar(dtype == DType::kF16 ? ScalarOp::kRoundToHalf : ScalarOp::kRoundToBfloat, id);
}

Result<InstructionId> Lowering::element(const Value& value, const Index& index) {
  if (const auto found = known_.find({&value, index}); found != known_.end()) return found->second;
  SLUICE_ASSIGN(const InstructionId id, computed(value, index));
  known_[{&value, index}] = id;
  return id;
}

Result<InstructionId> Lowering::computed(const Value& value, const Index& index) {
  if (const auto bytes = constant_element(value); !bytes.empty()) return constant(value, bytes);
  if (is_sum(value)) return begin_epilogue(index);
  if (!is_computed(value)) return load_value(value, index, guards_, -1);
  const Node& producer = *value.producer();
  const LoweringRow* row = find_lowering(producer.op());
  if (row == nullptr || row->element == nullptr) {
    return make_error(ErrorCode::kNotLowerable, "{}: {} is read at another place than it gives",
                      node_.label(), producer.label());
  }
  SLUICE_ASSIGN(const InstructionId id, row->element(*this, producer, value.result(), index));
  return rounded(value, id);
}

// Returns true when elements of a value are computed here, not read from memory.
bool Lowering::is_computed(const Value& value) const {
  const Node* producer = value.producer();
  return producer != nullptr && (body_ != nullptr || producer == &node_);
}

// Returns the bytes of a constant of one element, also of one that is an input of the body.
std::span<const std::byte> Lowering::constant_element(const Value& value) const {
  if (const auto bytes = single_element(value); !bytes.empty()) return bytes;
  const auto outside = constants_.find(&value);
  return outside == constants_.end() ? std::span<const std::byte>()
                                     : single_element(*outside->second);
}

// Returns the buffer of a value that is not computed; a constant becomes an operand.
BufferId Lowering::memory_of(const Value& value) {
  if (const auto found = buffers_.find(&value); found != buffers_.end()) return found->second;
  const auto outside = constants_.find(&value);
  add_operand(outside == constants_.end() ? value : *outside->second, value, false);
  describe_buffer(value, graph_.buffers.back());
  return buffers_.at(&value);
}

InstructionId Lowering::load(BufferId buffer, const Index& index, std::vector<Guard> guards,
                             InstructionId otherwise) {
  Instruction instruction;
  instruction.kind = InstructionKind::kLoad;
  instruction.dtype = register_dtype(graph_.buffers[static_cast<size_t>(buffer)].dtype);
  instruction.access = {buffer, index};
  if (!guards.empty())
    instruction.operands[0] = otherwise >= 0 ? otherwise : integer(instruction.dtype, 0);
  instruction.guards = std::move(guards);
  return append(std::move(instruction));
}

InstructionId Lowering::constant(const Value& value, std::span<const std::byte> bytes) {
  const DType dtype = value.type().dtype;
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), std::min(bytes.size(), sizeof(bits)));
  if (dtype == DType::kF16) return real(DType::kF32, half_to_float(static_cast<uint16_t>(bits)));
  if (dtype == DType::kBF16)
    return real(DType::kF32, std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
  if (is_packed(dtype)) bits &= (uint64_t{1} << dtype_bits(dtype)) - 1;
  Instruction instruction;
  instruction.dtype = register_dtype(dtype);
  instruction.bits = dtype == DType::kBool ? bits != 0 : bits;
  return append(std::move(instruction));
}

Result<InstructionId> Lowering::element_if(const Value& value, const Index& index,
                                           std::vector<Guard> guards, InstructionId otherwise) {
  std::erase_if(guards, [&](const Guard& guard) { return always_holds(guard); });
  if (guards.empty()) return element(value, index);
  const size_t outer = guards_.size();
  guards_.insert(guards_.end(), guards.begin(), guards.end());
  if (!is_computed(value) && constant_element(value).empty()) {
    const InstructionId id = load_value(value, index, guards_, otherwise);
    guards_.resize(outer);
    return id;
  }
  const Known before = known_;
  auto id = element(value, index);
  known_ = before;
  guards_.resize(outer);
  if (!id) return id;
  if (otherwise < 0) otherwise = integer(dtype_of(*id), 0);
  return guarded(std::move(guards), *id, otherwise);
}

bool Lowering::always_holds(const Guard& guard) {
  const Interval below = table().bounds(guard.value);
  const Interval above =
      table().bounds(table().subtract(guard.limit, table().add(guard.value, number(1))));
  return below.low >= 0 && above.low >= 0;
}

Result<InstructionId> Lowering::broadcast_element(const Node& node, size_t input,
                                                  const Index& index) {
  return element(*node.input(input), broadcast(*node.input(input), index));
}

bool Lowering::depends_on(const Value& value, const Value& source) {
  if (&value == &source) return true;
  if (body_ == nullptr || value.producer() == nullptr) return false;
  auto& known = depends_[&source];
  if (const auto found = known.find(&value); found != known.end()) return found->second;
  bool depends = false;
  const Node& producer = *value.producer();
  for (size_t i = 0; i < producer.input_count() && !depends; ++i)
    depends = producer.input(i) != nullptr && depends_on(*producer.input(i), source);
  return known[&value] = depends;
}

Result<void> Lowering::give(const Node& node, size_t result, const Index& index,
                            InstructionId value, std::vector<Guard> guards) {
  const Value& given = node.output(result);
  known_[{&given, index}] = rounded(given, value);
  std::erase_if(guards, [&](const Guard& guard) { return always_holds(guard); });
  return store_outputs(given, index, guards);
}

Result<void> Lowering::store_outputs(const Value& given, const Index& index,
                                     const std::vector<Guard>& guards) {
  const Known before = known_;  // what is computed under guards is not known without them
  const size_t outer = guards_.size();
  guards_.insert(guards_.end(), guards.begin(), guards.end());
  for (size_t i = 0; i < node_.output_count(); ++i) {
    const Value& inside = inside_output(i);
    if (!depends_on(inside, given)) continue;
    if (extents(inside) != extents(given)) {
      return make_error(ErrorCode::kNotLowerable,
                        "{}: an output has another shape than the result that it is computed from",
                        node_.label());
    }
    is_stored_[i] = true;
    auto id = element(inside, index);
    if (!id) return std::move(id).error();
    nest().sweeps.back().stores.push_back({{buffers_.at(&inside), index}, *id, guards});
  }
  guards_.resize(outer);
  if (!guards.empty()) known_ = before;
  return {};
}

bool Lowering::store_if_output(const Value& value, const Index& index, InstructionId id) {
  bool found = false;
  for (size_t i = 0; body_ != nullptr && i < node_.output_count(); ++i) {
    if (body_->outputs()[i] != &value) continue;
    is_stored_[i] = found = true;
    nest().sweeps.back().stores.push_back({{buffers_.at(&value), index}, id, {}});
  }
  return found;
}

void Lowering::remember(const Value& value, const Index& index, InstructionId id) {
  known_[{&value, index}] = id;
}

bool Lowering::is_read(InstructionId id) const {
  const InstructionKind kind = graph_.nests.back().instructions[static_cast<size_t>(id)].kind;
  return kind == InstructionKind::kLoad || kind == InstructionKind::kConstant;
}

bool Lowering::is_wanted(const Node& node, size_t result) const {
  return result < node.output_count() && (body_ == nullptr || node.output(result).is_used());
}

bool Lowering::can_reread(const Node& node, size_t result) const {
  const Value& value = node.output(result);
  const auto found = buffers_.find(&value);
  return found != buffers_.end() && register_dtype(value.type().dtype) == value.type().dtype;
}

InstructionId Lowering::reread(const Node& node, size_t result, const Index& index,
                               std::vector<Guard> guards) {
  std::erase_if(guards, [&](const Guard& guard) { return always_holds(guard); });
  return load(buffers_.at(&node.output(result)), index, std::move(guards), -1);
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

// ---- constants

std::optional<std::vector<int64_t>> Lowering::integers(const Node& node, size_t input) {
  const Value* value = find_constant(node, input);
  if (value == nullptr) return std::nullopt;
  return read_small_integers(node.graph().module(), value->segment());
}

std::optional<std::vector<double>> Lowering::reals(const Node& node, size_t input) {
  const Value* value = find_constant(node, input);
  if (value == nullptr) return std::nullopt;
  return read_small_reals(node.graph().module(), value->segment());
}

// ---- the whole

void Lowering::describe_buffer(const Value& value, Buffer& buffer) {
  buffer.dims = buffer.capacity = extents(value);
  const size_t rank = buffer.dims.size();
  buffer.storage = dense_map(rank);
  const Storage* storage = value.storage();
  if (storage == nullptr || epilogue_ != nullptr)
    return;  // a contraction knows its operands' places
  if (storage->map != buffer.storage) {
    buffer.storage = storage->map;
  } else {  // a state, in memory for its bound
    for (size_t i = 0; i < rank; ++i) buffer.capacity[i] = dim(storage->dims[i]);
  }
}

// Returns true when a value is a result of `source`, or elementwise nodes lead from there to it
// without another shape.
bool Lowering::follows(const Value& value, const Node& source) {
  std::vector<const Value*> found = {&value};
  for (size_t i = 0; i < found.size(); ++i) {
    const Node* producer = found[i]->producer();
    if (producer == &source) return true;
    const OpRow* row = producer == nullptr ? nullptr : find_op(producer->op());
    if (row == nullptr || (row->flags & kElementwise) == 0) continue;
    for (size_t k = 0; k < producer->input_count(); ++k) {
      const Value* input = producer->input(k);
      const bool leads = input != nullptr && input->type().dims == value.type().dims;
      if (leads && std::ranges::find(found, input) == found.end()) found.push_back(input);
    }
  }
  return false;
}

// Returns the node that lays out the nests: the one that has no other rule; else the last one with
// nests whose every element leads to one element of each output; null: each output element by
// element.
const Node* Lowering::find_nest_node() const {
  if (body_ == nullptr) return find_lowering(node_.op())->nests != nullptr ? &node_ : nullptr;
  const Node* last = nullptr;
  for (const Node& inner : body_->nodes()) {
    const LoweringRow& row = *find_lowering(inner.op());
    if (row.element == nullptr) return &inner;
    const bool leads =
        row.nests != nullptr && std::ranges::all_of(body_->outputs(), [&](const Value* output) {
          return follows(*output, inner) && !is_packed(output->type().dtype);
        });
    if (leads) last = &inner;
  }
  return last;
}

Result<void> Lowering::run() {
  for (size_t i = 0; i < node_.output_count(); ++i)
    add_operand(node_.output(i), body_ == nullptr ? node_.output(i) : *body_->outputs()[i], true);
  for (size_t i = 0; i < node_.input_count(); ++i) {
    const Value* outside = node_.input(i);
    if (outside == nullptr || outside->is_constant()) continue;
    const Value& inside = body_ == nullptr ? *outside : *body_->inputs()[i];
    if (!buffers_.contains(&inside)) add_operand(*outside, inside, false);
  }
  for (size_t i = 0; body_ != nullptr && i < node_.input_count(); ++i) {
    if (node_.input(i) != nullptr && node_.input(i)->is_constant())
      constants_[body_->inputs()[i]] = node_.input(i);
  }
  is_stored_.assign(node_.output_count(), false);
  name_sizes();
  for (size_t i = 0; i < operands_.size(); ++i) describe_buffer(*operands_[i], graph_.buffers[i]);
  if (const Node* own = find_nest_node()) {
    SLUICE_TRY(find_lowering(own->op())->nests(*this, *own));
  }
  SLUICE_TRY(lower_elements());
  finish();
  return {};
}

// The value that output i is where it is computed.
const Value& Lowering::inside_output(size_t i) const {
  return body_ == nullptr ? node_.output(i) : *body_->outputs()[i];
}

// Computes every output that no nest has stored element by element, equal shapes in one nest. Where
// packed elements are read, one axis runs over all elements, along which neighbours share bytes.
Result<void> Lowering::lower_elements() {
  std::vector<bool>& done = is_stored_;
  const bool reads_packed = std::ranges::any_of(
      operands_, [](const Value* operand) { return is_packed(operand->type().dtype); });
  for (size_t i = 0; i < done.size(); ++i) {
    if (done[i]) continue;
    if (is_packed(inside_output(i).type().dtype)) {
      done[i] = true;
      SLUICE_TRY(lower_packed(i));
      continue;
    }
    const Index extents = this->extents(node_.output(i));
    const Index index =
        reads_packed ? unflatten(begin_nest({product(extents)})[0], extents) : begin_nest(extents);
    for (size_t k = i; k < done.size(); ++k) {
      if (done[k] || this->extents(node_.output(k)) != extents) continue;
      if (is_packed(inside_output(k).type().dtype)) continue;
      done[k] = true;
      const Value& inside = inside_output(k);
      SLUICE_ASSIGN(const InstructionId id, element(inside, index));
      nest().sweeps.back().stores.push_back({{buffers_.at(&inside), index}, id, {}});
    }
  }
  return {};
}

// Removes sweeps that do nothing, and puts the row-local buffers after the operands.
void Lowering::finish() {
  for (Nest& nest : graph_.nests) {
    std::vector<int32_t> new_sweep(nest.sweeps.size(), -1);
    std::vector<Sweep> kept;
    for (size_t i = 0; i < nest.sweeps.size(); ++i) {
      Sweep& sweep = nest.sweeps[i];
      if (is_idle(sweep)) continue;
      new_sweep[i] = static_cast<int32_t>(kept.size());
      kept.push_back(std::move(sweep));
    }
    nest.sweeps = std::move(kept);
    for (Accumulator& accumulator : nest.accumulators)
      accumulator.sweep = new_sweep[static_cast<size_t>(accumulator.sweep)];
  }
  move_local_buffers_last();
}

void Lowering::move_local_buffers_last() {
  std::vector<BufferId> renamed(graph_.buffers.size());
  std::vector<Buffer> ordered;
  for (const bool local : {false, true}) {
    for (size_t i = 0; i < renamed.size(); ++i) {
      if (graph_.buffers[i].is_local != local) continue;
      renamed[i] = static_cast<BufferId>(ordered.size());
      ordered.push_back(graph_.buffers[i]);
    }
  }
  graph_.buffers = std::move(ordered);
  const auto rename = [&](Access& access) {
    if (access.buffer >= 0) access.buffer = renamed[static_cast<size_t>(access.buffer)];
  };
  for (Nest& nest : graph_.nests) {
    for (Instruction& instruction : nest.instructions) rename(instruction.access);
    for (Sweep& sweep : nest.sweeps)
      for (Store& store : sweep.stores) rename(store.access);
  }
}

}  // namespace sluice::loop
