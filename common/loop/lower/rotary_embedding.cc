// RotaryEmbedding: pairs (a, b) of a head's numbers are turned, the others stay:
//
//   for each position, head and k: a' = cos[k] * a - sin[k] * b, b' = sin[k] * a + cos[k] * b
#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// A number of the input [batch, heads, length, size], or [batch, length, heads * size].
struct NumberPlace {
  ExpressionId batch, head, position, number;
};

class Rotation {
 public:
  Rotation(Lowering& l, const Node& node) : l_(l), node_(node) {
    const Value& x = *node.input(0);
    is_flat_ = x.type().dims.size() == 3;
    heads_ = is_flat_ ? l.number(node.get(attributes::RotaryEmbedding::num_heads)) : l.extent(x, 1);
    size_ = is_flat_ ? l.table().floor_divide(l.extent(x, 2), heads_) : l.extent(x, 3);
    half_ = l.extent(*node.input(1), node.input(1)->type().dims.size() - 1);
    is_interleaved_ = node.get(attributes::RotaryEmbedding::interleaved) != 0;
  }

  ExpressionId half() const { return half_; }
  ExpressionId turned() { return l_.table().multiply(half_, l_.number(2)); }
  // The numbers that stay.
  ExpressionId unturned() { return l_.table().subtract(size_, turned()); }

  // Starts a nest over all heads and `numbers` numbers of each.
  NumberPlace begin(ExpressionId numbers) {
    const Value& x = *node_.input(0);
    const ExpressionId batches = l_.extent(x, 0), length = l_.extent(x, is_flat_ ? 1 : 2);
    if (is_flat_) {
      const Index at = l_.begin_nest({batches, length, heads_, numbers});
      return {at[0], at[2], at[1], at[3]};
    }
    const Index at = l_.begin_nest({batches, heads_, length, numbers});
    return {at[0], at[1], at[2], at[3]};
  }

  NumberPlace place_of(const Index& index) {
    if (!is_flat_) return {index[0], index[1], index[2], index[3]};
    const Index number = l_.unflatten(index[2], {heads_, size_});
    return {index[0], number[0], index[1], number[1]};
  }

  Index index_of(const NumberPlace& at, ExpressionId number) {
    if (!is_flat_) return {at.batch, at.head, at.position, number};
    return {at.batch, at.position, l_.flatten({at.head, number}, {heads_, size_})};
  }

  // Where the numbers of pair k are.
  ExpressionId first_of(ExpressionId k) {
    return is_interleaved_ ? l_.table().multiply(k, l_.number(2)) : k;
  }
  ExpressionId second_of(ExpressionId k) {
    return is_interleaved_ ? l_.table().add(first_of(k), l_.number(1)) : l_.table().add(k, half_);
  }

  // A pair after the rotation, where the guards hold.
  struct Pair {
    Id first, second;
  };
  Result<Pair> turned_pair(const NumberPlace& at, ExpressionId k,
                           const std::vector<Guard>& guards) {
    const Value& x = *node_.input(0);
    SLUICE_ASSIGN(const Id a, l_.element_if(x, index_of(at, first_of(k)), guards));
    SLUICE_ASSIGN(const Id b, l_.element_if(x, index_of(at, second_of(k)), guards));
    SLUICE_ASSIGN(const Id cosine, table_element(1, at, k, guards));
    SLUICE_ASSIGN(const Id sine, table_element(2, at, k, guards));
    const auto mul = [&](Id u, Id v) { return l_.scalar(ScalarOp::kMul, u, v); };
    return Pair{l_.scalar(ScalarOp::kSub, mul(cosine, a), mul(sine, b)),
                l_.scalar(ScalarOp::kAdd, mul(sine, a), mul(cosine, b))};
  }

  bool is_interleaved() const { return is_interleaved_; }

 private:
  // The tables are [batch, length, half], or [positions, half] with the position of each.
  Result<Id> table_element(size_t input, const NumberPlace& at, ExpressionId k,
                           std::vector<Guard> guards) {
    const Value& table = *node_.input(input);
    if (node_.input(3) == nullptr) return l_.element_if(table, {at.batch, at.position, k}, guards);
    SLUICE_ASSIGN(Id row, l_.element(*node_.input(3), {at.batch, at.position}));
    const Id is_negative = l_.scalar(ScalarOp::kLess, row, l_.integer(DType::kI64, 0));
    row = l_.scalar(ScalarOp::kSelect, is_negative, l_.integer(DType::kI64, INT64_MAX), row);
    const ExpressionId rows = l_.extent(table, 0);
    guards.push_back(l_.not_empty(rows));
    return l_.element_if(table, {l_.checked_index(row, rows), k}, std::move(guards));
  }

  Lowering& l_;
  const Node& node_;
  bool is_flat_, is_interleaved_;
  ExpressionId heads_, size_, half_;
};

// Number i is the first of pair i / 2 or the second: i - 2 * (i / 2) is 0 or 1.
Result<Id> rotate_interleaved(Lowering& l, Rotation& rotation, const NumberPlace& at, Id same) {
  const ExpressionId two = l.number(2), k = l.table().floor_divide(at.number, two);
  const Guard turned{at.number, rotation.turned()};
  const Guard is_first{l.table().modulo(at.number, two), l.number(1)};
  SLUICE_ASSIGN(const auto pair, rotation.turned_pair(at, k, {turned}));
  return l.guarded({turned}, l.guarded({is_first}, pair.first, pair.second), same);
}

// Number i is the first of pair i, or the second of pair i - half.
Result<Id> rotate_halves(Lowering& l, Rotation& rotation, const NumberPlace& at, Id same) {
  const ExpressionId behind = l.table().subtract(at.number, rotation.half());
  const Guard is_first{at.number, rotation.half()}, is_second{behind, rotation.half()};
  SLUICE_ASSIGN(const auto first, rotation.turned_pair(at, at.number, {is_first}));
  SLUICE_ASSIGN(const auto second, rotation.turned_pair(at, behind, {is_second}));
  return l.guarded({is_first}, first.first, l.guarded({is_second}, second.second, same));
}

Result<Id> rotate(Lowering& l, const Node& node, size_t, const Index& index) {
  Rotation rotation(l, node);
  const NumberPlace at = rotation.place_of(index);
  SLUICE_ASSIGN(const Id same, l.element(*node.input(0), index));
  return rotation.is_interleaved() ? rotate_interleaved(l, rotation, at, same)
                                   : rotate_halves(l, rotation, at, same);
}

// One nest for the pairs, one for the numbers that stay.
Result<void> rotate_nests(Lowering& l, const Node& node) {
  Rotation rotation(l, node);
  NumberPlace at = rotation.begin(rotation.half());
  const ExpressionId k = at.number;
  SLUICE_ASSIGN(const auto pair, rotation.turned_pair(at, k, {}));
  SLUICE_TRY(l.give(node, 0, rotation.index_of(at, rotation.first_of(k)), pair.first));
  SLUICE_TRY(l.give(node, 0, rotation.index_of(at, rotation.second_of(k)), pair.second));
  if (l.table().as_constant(rotation.unturned()) == 0) return {};
  at = rotation.begin(rotation.unturned());
  const Index index = rotation.index_of(at, l.table().add(at.number, rotation.turned()));
  SLUICE_ASSIGN(const Id same, l.element(*node.input(0), index));
  return l.give(node, 0, index, same);
}

// What the evaluator rejects, or accepts in other shapes than the standard's, is not lowered.
std::string rotary_embedding_reason(const Node& node) {
  const std::vector<Dim>& x = node.input(0)->type().dims;
  const std::vector<Dim>&cosines = node.input(1)->type().dims, &sines = node.input(2)->type().dims;
  const bool is_flat = x.size() == 3;
  const int64_t heads = node.get(attributes::RotaryEmbedding::num_heads);
  if ((x.size() != 4 && !is_flat) || (is_flat && heads < 1)) return "no heads";
  const Dim length = x[is_flat ? 1 : 2], size = x.back();
  const bool is_positioned = node.input(3) != nullptr;
  if (cosines != sines || cosines.size() != (is_positioned ? 2 : 3)) return "tables of other ranks";
  if (!size.is_fixed() || !cosines.back().is_fixed() || (is_flat && size.value % heads != 0))
    return "a head has no fixed size";
  const int64_t whole = is_flat ? size.value / heads : size.value;
  const int64_t named = node.get(attributes::RotaryEmbedding::rotary_embedding_dim);
  const int64_t turned = named > 0 ? named : whole;
  if (cosines.back().value != turned / 2 || turned > whole) return "tables of another size";
  const std::vector<Dim> positions = is_positioned
                                         ? node.input(3)->type().dims
                                         : std::vector<Dim>(cosines.begin(), cosines.end() - 1);
  if (positions != std::vector<Dim>{x[0], length})
    return "whether there is a position for each row is known only while running";
  return needs_floats(node);
}

constexpr LoweringRow kRotaryEmbeddingRows[] = {
    {Op::kRotaryEmbedding, rotary_embedding_reason, rotate, rotate_nests},
};

}  // namespace

std::span<const LoweringRow> rotary_embedding_rows() { return kRotaryEmbeddingRows; }

}  // namespace sluice::loop
