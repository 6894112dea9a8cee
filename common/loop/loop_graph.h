// A loop graph: what a kernel computes, as loops over buffers with scalar instructions inside. It
// knows no machine: how loops are ordered, tiled, vectorized and split is the generator's choice.
//
// A kernel is a list of nests that write disjoint bytes. A nest has outer axes, whose points are
// independent of each other and may run in any order, and sweeps, which run one after the other at
// each point. A sweep has inner axes of its own, which run in order, instructions, accumulators
// (reductions and carried values), and stores:
//
//   for n in outer axes:                     (any order, any threads)
//     sweep 0: for i in inner axes: a = max(a, load x[n, i])
//     sweep 1: for i in inner axes: b = b + exp(load x[n, i] - a)
//     sweep 2: for i in inner axes: store y[n, i] = exp(load x[n, i] - a) / b
//
// An instruction of a sweep without inner axes, and the final value of an accumulator, can be read
// by later sweeps of the nest; others only in their own. Integers such as extents and indices are
// expressions over sizes (dims of operands), axes, and values that were loaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/storage_map.h"
#include "common/loop/scalar.h"
#include "common/symbolic/expression.h"

namespace sluice::loop {

using BufferId = int32_t;       // into LoopGraph::buffers
using AxisId = int32_t;         // into Nest::axes
using InstructionId = int32_t;  // into Nest::instructions
using AccumulatorId = int32_t;  // into Nest::accumulators

// An id as an index into its list.
inline size_t at(int32_t id) { return static_cast<size_t>(id); }

// Elements of less than 8 bits lie packed in bytes, in row-major order, the first in the low bits.
// A buffer of such is accessed by the byte: its index is one number.
struct Buffer {
  DType dtype = DType::kF32;           // of the elements; see register_dtype
  std::vector<ExpressionId> dims;      // logical extents
  std::vector<ExpressionId> capacity;  // extents that strides follow from; the dims, but for states
  StorageMap storage;
  bool is_written = false;
  // A row-local buffer has the worker's scratch as memory; its contents live within one outer
  // point. Operands come first in LoopGraph::buffers, in the order of the launch.
  bool is_local = false;
  bool operator==(const Buffer&) const = default;
};

// Holds when 0 <= value < limit.
struct Guard {
  ExpressionId value = -1;
  ExpressionId limit = -1;
  auto operator<=>(const Guard&) const = default;
};

// An element of a buffer by its logical index, one expression per dim; a byte of packed elements.
struct Access {
  BufferId buffer = -1;
  std::vector<ExpressionId> index;
  auto operator<=>(const Access&) const = default;
};

enum class InstructionKind : uint8_t {
  kConstant,     // bits
  kIndex,        // the value of `index`, i64
  kLoad,         // of `access` where all guards hold; operands[0] elsewhere (-1: no guards)
  kTest,         // bool: all guards hold
  kScalar,       // op of the operands
  kAccumulator,  // accumulator's value: in its own sweep that before this iteration, later the
                 // final
  kPosition,     // the position of an accumulator kArgMax or kArgMin, i64
};

struct Instruction {
  InstructionKind kind = InstructionKind::kConstant;
  DType dtype = DType::kF32;  // f32, f64, i8 … u64, bool
  ScalarOp op = ScalarOp::kAdd;
  std::array<InstructionId, 3> operands = {-1, -1, -1};
  uint64_t bits = 0;  // of the dtype, in the low bits
  ExpressionId index = -1;
  Access access;
  std::vector<Guard> guards;
  AccumulatorId accumulator = -1;
  auto operator<=>(const Instruction&) const = default;
};

enum class Combine : uint8_t {
  kSum,
  kProduct,
  kMax,  // a NaN wins
  kMin,
  // The first of the largest; see is_last. NaN is as in eval: never larger. The initial value is a
  // constant than which nothing is smaller (of kArgMin: larger), so that the first iteration's is
  // taken; the position is the index of the sweep's only axis, or 0.
  kArgMax,
  kArgMin,
  kCarry,  // the next value is `value`, whatever it was: iterations run one after the other
};

// Returns true when an accumulator has a position.
inline bool is_arg(Combine combine) {
  return combine == Combine::kArgMax || combine == Combine::kArgMin;
}

struct Accumulator {
  Combine combine = Combine::kSum;
  DType dtype = DType::kF32;
  int32_t sweep = 0;            // of which it is
  InstructionId initial = -1;   // of a constant, or of an earlier sweep
  InstructionId value = -1;     // combined in every iteration
  InstructionId position = -1;  // kArgMax, kArgMin: i64
  bool is_last = false;         // the last of equal ones
  bool operator==(const Accumulator&) const = default;
};

struct Store {
  Access access;
  InstructionId value = -1;
  std::vector<Guard> guards;  // stores only where they hold
  bool operator==(const Store&) const = default;
};

struct Sweep {
  std::vector<AxisId> axes;                 // outermost first; may be empty
  std::vector<InstructionId> instructions;  // operands before their users
  std::vector<AccumulatorId> accumulators;
  std::vector<Store> stores;  // in order, after the instructions
  bool operator==(const Sweep&) const = default;
};

struct Axis {
  SymbolId symbol = -1;
  ExpressionId extent = -1;  // over sizes
  bool operator==(const Axis&) const = default;
};

struct Nest {
  std::vector<Axis> axes;  // outer ones first, then those of the sweeps
  int32_t outer = 0;       // number of outer axes
  std::vector<Instruction> instructions;
  std::vector<Accumulator> accumulators;
  std::vector<Sweep> sweeps;
};

enum class SymbolRole : uint8_t { kSize, kAxis, kValue };
struct LoopSymbol {
  SymbolRole role = SymbolRole::kSize;
  int32_t nest = -1;  // kAxis, kValue
  // kSize: the index among all dims of all operands, in order. kAxis: AxisId. kValue: the
  // InstructionId of an i64.
  int32_t index = -1;
  int64_t nominal = 1;  // kSize: the guess that plans are made for (common/symbolic/nominal.h)
};

struct LoopGraph {
  std::vector<Buffer> buffers;
  ExpressionTable expressions;
  std::vector<LoopSymbol> symbols;  // parallel to the symbols of `expressions`
  std::vector<Nest> nests;
};

// Returns the symbol of an axis of this extent, without name: at least 0, below the extent.
Symbol axis_symbol(const ExpressionTable& expressions, ExpressionId extent);

bool is_fixed(const LoopGraph& graph);  // no size is a symbol
// Returns the element offset of an access in its buffer, of packed elements that of the byte: an
// expression over sizes, axes and values.
ExpressionId offset_of(LoopGraph& graph, const Access& access);
// Returns the number of elements that a buffer takes, gaps included.
ExpressionId stored_elements(LoopGraph& graph, const Buffer& buffer);

// The value of an expression split along one symbol: value = stride * symbol + remainder, where
// neither contains the symbol. Nothing when it is not of that form.
struct Linear {
  ExpressionId stride = -1;
  ExpressionId remainder = -1;
};
std::optional<Linear> split_linear(ExpressionTable& table, ExpressionId id, SymbolId symbol);
bool mentions(const ExpressionTable& table, ExpressionId id, SymbolId symbol);

// Returns true for floats of 8 and 4 bits and integers of less than 8.
bool is_narrow(DType dtype);
bool is_packed(DType dtype);  // elements of less than 8 bits
// The dtype that instructions have for elements of a buffer's dtype: f32 for f16 and bf16; u8, the
// bits, for narrow ones.
DType register_dtype(DType dtype);
bool is_register_dtype(DType dtype);  // instructions can have it
// The bits of what is loaded and stored at once: an element, or a byte of packed ones.
int access_bits(DType dtype);
// The bits of a number: 1 of bool.
inline int number_bits(DType dtype) { return dtype == DType::kBool ? 1 : dtype_bits(dtype); }
inline bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

}  // namespace sluice::loop
