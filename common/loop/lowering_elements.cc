// How Lowering gives elements of values: computed where they are read, loaded, or constant.
#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/half.h"
#include "common/loop/lowering.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/ops/small_constant.h"

namespace sluice::loop {

namespace {

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
  if (!at_hand || !is_register_dtype(register_dtype(value.type().dtype))) return {};
  return segment.data;
}

}  // namespace

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
  if (is_sum(value)) {
    SLUICE_ASSIGN(const InstructionId sum, begin_epilogue(index));
    return rounded(value, sum);
  }
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

}  // namespace sluice::loop
