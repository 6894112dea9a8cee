// Lowers a node, or the body of a Fused node, to a loop graph.
//
// Most operators say how one element of their result is computed from elements of their inputs
// (ElementRule); a chain of them becomes one expression, whatever lies between: broadcasts, views,
// transposes, slices, casts. Operators with sums over elements (reductions, softmax, pools, …) lay
// out nests and sweeps (NestRule), read their inputs through `element` too, and give each result
// element through `give`, which goes on with the elementwise nodes that read it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/loop/loop_graph.h"

namespace sluice::loop {

using Id = InstructionId;                 // in the rules of operators
using Index = std::vector<ExpressionId>;  // one expression per dim of a value

class Lowering;
struct EpilogueRules;  // epilogue.h
struct LoweredEpilogue;

// A row that is kept in scratch takes at most this.
inline constexpr int64_t kMaxLocalBytes = 64 * 1024;

// Returns element `index` of result `result` of a node.
using ElementRule = Result<InstructionId> (*)(Lowering& lowering, const Node& node, size_t result,
                                              const Index& index);
// Lays out the nests of a node and gives all of its results, or, with an ElementRule beside it,
// none.
using NestRule = Result<void> (*)(Lowering& lowering, const Node& node);

// The dtypes that an operator's loops know. Elements of narrow ones (loop_graph.h) are their bits.
enum class ElementKinds : uint8_t { kNumbers, kNumbersAndNarrow };

// An operator that can be lowered. With both rules, `nests` is how the operator alone, or followed
// by elementwise nodes, is computed best, and `element` how others read it (see find_nest_node).
struct LoweringRow {
  Op op;
  // Returns the reason why this node cannot be lowered, beyond what all nodes need (tensors of
  // ranked shapes with known extents and numbers as elements); null: every such node can.
  std::string (*unsupported_reason)(const Node& node);
  ElementRule element = nullptr;
  NestRule nests = nullptr;
  ElementKinds elements = ElementKinds::kNumbers;
};

// Returns null when the operator cannot be lowered.
const LoweringRow* find_lowering(Op op);

// Returns an empty text when the node, or Fused body, can be lowered; otherwise the reason.
std::string unsupported_reason(const Node& node);

// The same for what reads the elements of a node's results where it computes its own.
std::string element_unsupported_reason(const Node& node);

// Lowers a node. Buffers are its outputs, then its present inputs that are no constants of one
// element, in order. Error: kNotLowerable with the reason.
struct LoweredNode {
  LoopGraph graph;
  // The operands of the launch, outputs first; parallel to the buffers that are not local.
  std::vector<const Value*> operands;
};
// Storages of operands are those of the values (Value::storage).
Result<LoweredNode> lower_node(const Node& node);

class Lowering {
 public:
  // ---- sizes and indices
  ExpressionTable& table() { return graph_.expressions; }
  ExpressionId number(int64_t value) { return table().constant(value); }
  ExpressionId extent(const Value& value, size_t axis) { return dim(value.type().dims[axis]); }
  Index extents(const Value& value);
  ExpressionId product(const Index& extents);
  // The place of an element in row-major order, and the inverse.
  ExpressionId flatten(const Index& index, const Index& extents);
  Index unflatten(ExpressionId position, const Index& extents);
  // The index of the element of `from` that is broadcast to `index` of a value of rank
  // index.size().
  Index broadcast(const Value& from, const Index& index);
  // The index of the first element.
  Index first(const Value& value) { return Index(value.type().dims.size(), number(0)); }
  // An axis attribute: negative ones count from the end.
  static size_t axis_of(int64_t axis, size_t rank) {
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  }

  // ---- loops
  // Starts a nest with these outer axes and returns their symbols; instructions follow in a sweep
  // without inner axes.
  Index begin_nest(const Index& extents);
  // Starts the next sweep of the nest and returns the symbols of its inner axes.
  Index begin_sweep(const Index& extents);

  // ---- instructions; equal ones in one sweep are one instruction
  InstructionId real(DType dtype, double value);  // of a float dtype, or rounded towards zero
  InstructionId integer(DType dtype, int64_t value);
  InstructionId scalar(ScalarOp op, InstructionId a, InstructionId b = -1, InstructionId c = -1);
  InstructionId cast(InstructionId a, DType to);  // nothing when it has that dtype
  InstructionId bit_cast(InstructionId a, DType to);
  InstructionId index_value(ExpressionId value);  // i64
  InstructionId test(std::vector<Guard> guards);  // bool
  // `value` where the guards hold, else `otherwise`.
  InstructionId guarded(std::vector<Guard> guards, InstructionId value, InstructionId otherwise);
  DType dtype_of(InstructionId id) const;
  // The number that an instruction is known to be, of floats, bools and integers of at most 32
  // bits.
  std::optional<double> known_real(InstructionId id) const;
  // The value of an i64 instruction, for indices; it lies in [low, high].
  ExpressionId as_index(InstructionId id, int64_t low, int64_t high);
  // An index in [0, extent) from an integer that may count from the end; one that is out of range
  // is a fault. Nothing can be read there when the extent is 0: see not_empty.
  ExpressionId checked_index(InstructionId id, ExpressionId extent);
  Guard not_empty(ExpressionId extent) { return {number(0), extent}; }

  // ---- elements
  // The element of a value: of a constant, an operand, or a node of the body.
  Result<InstructionId> element(const Value& value, const Index& index);
  // The same where the guards hold, else `otherwise`, by default 0; memory is read only where they
  // hold, and nothing is a fault elsewhere.
  Result<InstructionId> element_if(const Value& value, const Index& index,
                                   std::vector<Guard> guards, InstructionId otherwise = -1);
  // Element `index` of input `input` of a node, broadcast to the rank of `index`.
  Result<InstructionId> broadcast_element(const Node& node, size_t input, const Index& index);
  // Gives an element of a result, or, with guards, gives it only where they hold: rounds it to the
  // dtype of the result, computes what reads it in the body, and stores.
  Result<void> give(const Node& node, size_t result, const Index& index, InstructionId value,
                    std::vector<Guard> guards = {});
  // An element of a result that was given in an earlier iteration or sweep, from its memory.
  // Available where can_reread says so: nothing follows the node, and memory holds all bits.
  bool can_reread(const Node& node, size_t result) const;
  InstructionId reread(const Node& node, size_t result, const Index& index,
                       std::vector<Guard> guards = {});
  bool is_wanted(const Node& node, size_t result) const;  // something uses it

  // ---- elements that several sweeps read (lower/row.h)
  // A load or a constant: reading the element again costs no more than keeping it.
  bool is_read(InstructionId id) const;
  // Stores an element that was computed when the value itself is an output; says whether it is.
  bool store_if_output(const Value& value, const Index& index, InstructionId id);
  // The instruction is the element, for what reads it in this sweep.
  void remember(const Value& value, const Index& index, InstructionId id);

  // ---- accumulators
  AccumulatorId accumulate(Combine combine, InstructionId initial, InstructionId value,
                           InstructionId position = -1, bool is_last = false);
  // A carried value: `begin_carry` makes it readable, `end_carry` says the next one.
  AccumulatorId begin_carry(InstructionId initial);
  void end_carry(AccumulatorId carry, InstructionId next);
  InstructionId value_of(AccumulatorId accumulator);
  InstructionId position_of(AccumulatorId accumulator);

  // ---- row-local buffers
  // A buffer of these extents, or nothing when it would take more than the scratch that kernels may
  // have, or an extent is not known: then the row is computed again.
  std::optional<BufferId> local_buffer(DType dtype, const Index& extents);
  void store_local(BufferId buffer, const Index& index, InstructionId value,
                   std::vector<Guard> guards = {});
  InstructionId load_local(BufferId buffer, const Index& index);

  // ---- operands that are constants
  // The elements of a small constant, or nothing (see common/ops/small_constant.h); an absent input
  // is nothing too. An input of a Fused body is what the Fused node reads.
  static std::optional<std::vector<int64_t>> integers(const Node& node, size_t input);
  static std::optional<std::vector<double>> reals(const Node& node, size_t input);

  const Node& node() const { return node_; }

 private:
  friend Result<LoweredNode> lower_node(const Node& node);
  friend Result<LoweredEpilogue> lower_epilogue(const Node& node, const EpilogueRules& rules);
  explicit Lowering(const Node& node);
  Result<void> run_epilogue(const EpilogueRules& rules);
  bool is_sum(const Value& value) const;
  Result<InstructionId> begin_epilogue(const Index& index);
  Result<void> run();
  void add_operand(const Value& outside, const Value& inside, bool is_written);
  void name_sizes();
  ExpressionId dim(const Dim& dim);
  ExpressionId imported(ExpressionId module_expression);
  Nest& nest() { return graph_.nests.back(); }
  InstructionId append(Instruction instruction);
  InstructionId converted(ScalarOp op, InstructionId a, DType to);
  InstructionId load(BufferId buffer, const Index& index, std::vector<Guard> guards,
                     InstructionId otherwise);
  InstructionId load_value(const Value& value, const Index& index, const std::vector<Guard>& guards,
                           InstructionId otherwise);
  InstructionId bits_of_byte(DType dtype, InstructionId byte, ExpressionId place);
  InstructionId constant(const Value& value, std::span<const std::byte> bytes);
  bool always_holds(const Guard& guard);
  bool is_computed(const Value& value) const;
  std::span<const std::byte> constant_element(const Value& value) const;
  BufferId memory_of(const Value& value);
  bool is_rounded(DType dtype, InstructionId id) const;
  static bool is_idle(const Sweep& sweep);
  bool may_change(const Instruction& instruction) const;
  void describe_buffer(const Value& value, Buffer& buffer);
  Result<void> lower_elements();
  Result<void> lower_packed(size_t output);
  const Value& inside_output(size_t i) const;
  void finish();
  void move_local_buffers_last();
  Result<InstructionId> computed(const Value& value, const Index& index);
  InstructionId rounded(const Value& value, InstructionId id);
  Result<void> store_outputs(const Value& given, const Index& index,
                             const std::vector<Guard>& guards);
  bool depends_on(const Value& value, const Value& source);
  static bool follows(const Value& value, const Node& source);
  const Node* find_nest_node() const;
  SymbolId add_axis(ExpressionId extent);

  const Node& node_;
  const Graph* body_ = nullptr;  // of a Fused node
  const EpilogueRules* epilogue_ = nullptr;
  LoopGraph graph_;
  std::vector<const Value*> operands_;
  std::vector<bool> is_stored_;                    // by output
  std::map<const Value*, BufferId> buffers_;       // by the value inside; looked up only
  std::map<ExpressionId, ExpressionId> imported_;  // from the module's expressions
  // The elements that were given or computed in this sweep, and those that later sweeps can read.
  using Known = std::map<std::pair<const Value*, Index>, InstructionId>;  // looked up only
  Known known_, visible_;
  std::map<Instruction, InstructionId> equal_, equal_visible_;  // looked up only
  std::vector<Guard> guards_;                       // of the elements that are being computed
  std::map<const Value*, const Value*> constants_;  // inputs of the body that are constants outside
  std::map<const Value*, std::map<const Value*, bool>> depends_;
  int64_t local_bytes_ = 0;
};

}  // namespace sluice::loop
