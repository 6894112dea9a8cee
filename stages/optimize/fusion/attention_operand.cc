#include "stages/optimize/fusion/attention_operand.h"

#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/attention_scores.h"

namespace sluice {
namespace {

using Order = std::vector<int64_t>;

bool is_viewing(Op op) {
  return op == Op::kReshape || op == Op::kUnsqueeze || op == Op::kSqueeze || op == Op::kFlatten;
}

bool has_dims(const Value& value, const std::vector<Dim>& dims) {
  return value.type().is_tensor() && value.type().ranked && value.type().dims == dims;
}

// Returns the operand of a node that only changes the shape where that has these dims, else null.
Value* find_viewed(const Value& value, const std::vector<Dim>& dims) {
  const Node* view = value.producer();
  const bool fits = view != nullptr && is_viewing(view->op()) && has_dims(*view->input(0), dims);
  return fits ? view->input(0) : nullptr;
}

// Returns the operand of a Transpose in this order, else null.
Value* find_transposed(const Value& value, const Order& order) {
  const Node* transpose = find_maker(&value, Op::kTranspose);
  const bool fits = transpose != nullptr && transpose->input(0)->type().ranked &&
                    transpose_order(*transpose) == order;
  return fits ? transpose->input(0) : nullptr;
}

std::vector<Dim> swapped(std::vector<Dim> dims, size_t a, size_t b) {
  std::swap(dims[a], dims[b]);
  return dims;
}

class OperandReader {
 public:
  explicit OperandReader(const OperandReading& reading) : reading_(reading) {
    operand_.dims = reading.dims;
  }

  std::optional<AttentionOperand> read(Value& value) {
    operand_.by_head = at_ = &value;
    if (reading_.role == OperandRole::kKeys && !read_transposed_keys()) return std::nullopt;
    while (read_factors() || read_view() || read_transpose() || read_part() || read_repeats()) {
    }
    // One head: both orders are the same.
    if (operand_.by_length == nullptr && operand_.dims[1] == Dim::fixed(1))
      operand_.by_length = operand_.by_head;
    return operand_;
  }

 private:
  // Returns whether nodes up to the producer of the value may be looked through.
  bool is_open(const Value& value) const {
    const Node* node = value.producer();
    return node != nullptr && is_removable(*node) && node->placement == reading_.reader.placement;
  }

  // Continues from a value with the same elements in the same order.
  bool step_to(Value* value) {
    if (value == nullptr) return false;
    at_ = value;
    (lies_by_length_ ? operand_.by_length : operand_.by_head) = value;
    return true;
  }

  bool step_by_length(Value* value) {
    if (value == nullptr) return false;
    lies_by_length_ = true;
    return step_to(value);
  }

  std::vector<Dim> dims_here() const {
    return lies_by_length_ ? swapped(operand_.dims, 1, 2) : operand_.dims;
  }

  bool read_transposed_keys() {
    read_factors();
    if (!is_open(*at_)) return false;
    if (Value* joint = find_viewed(*at_, swapped(operand_.dims, 2, 3))) step_to(joint);
    if (!is_open(*at_)) return false;
    if (Value* source = find_transposed(*at_, {0, 2, 3, 1})) {
      operand_.by_head = nullptr;
      return step_by_length(source);
    }
    Value* source = find_transposed(*at_, {0, 1, 3, 2});
    return step_to(source != nullptr ? source : find_transposed(*at_, {0, 2, 1}));
  }

  bool read_factors() {
    if (reading_.role == OperandRole::kValues || operand_.part || !is_open(*at_)) return false;
    const Scaled scaled = read_all_factors(*at_);
    if (scaled.value == at_ || scaled.value->type_id() != at_->type_id()) return false;
    operand_.factor *= scaled.factor;
    if (lies_by_length_) operand_.by_head = nullptr;
    return step_to(scaled.value);
  }

  bool read_view() {
    return is_open(*at_) && !has_dims(*at_, dims_here()) && !operand_.part &&
           step_to(find_viewed(*at_, dims_here()));
  }

  bool read_transpose() {
    return is_open(*at_) && !lies_by_length_ && has_dims(*at_, operand_.dims) &&
           step_by_length(find_transposed(*at_, {0, 2, 1, 3}));
  }

  // Reads part `i` of queries, keys and values that one product computes.
  bool read_part() {
    if (!is_open(*at_) || lies_by_length_ || !has_dims(*at_, operand_.dims)) return false;
    const Node* gather = find_maker(at_, Op::kGather);
    if (gather == nullptr || gather->get(attributes::Gather::axis) != 0 ||
        !is_open(*gather->input(0)) || gather->input(0)->type().rank() != 5)
      return false;
    const auto part = find_number(gather->input(1));
    Value* parts = find_transposed(*gather->input(0), {2, 0, 3, 1, 4});
    if (!part || parts == nullptr) return false;
    operand_.part = static_cast<int64_t>(*part);
    return step_by_length(parts);
  }

  // Reads heads that an Expand or a Tile of an axis of 1 beside them repeats.
  bool read_repeats() {
    if (!reading_.shares_heads || operand_.repeats != 1 || operand_.part || !is_open(*at_) ||
        !has_dims(*at_, dims_here()))
      return false;
    const size_t heads = lies_by_length_ ? 2 : 1;
    const Node* view = at_->producer();
    const bool is_viewed = is_viewing(view->op()) && is_open(*view->input(0));
    const Value& wide = is_viewed ? *view->input(0) : *at_;
    const Node* repeat = wide.producer();
    if (repeat->op() != Op::kExpand && repeat->op() != Op::kTile) return false;
    std::vector<Dim> from = repeat->input(0)->type().dims, to = wide.type().dims;
    const size_t axis = is_viewed ? heads + 1 : heads;
    if (from.size() != to.size() || to.size() != (is_viewed ? 5u : 4u) ||
        from[axis] != Dim::fixed(1) || !to[axis].is_fixed())
      return false;
    const int64_t repeats = to[axis].value;
    to[axis] = Dim::fixed(1);
    if (from != to) return false;
    if (is_viewed) from.erase(from.begin() + static_cast<ptrdiff_t>(axis));
    return take_repeats(*repeat->input(0), std::move(from), repeats);
  }

  bool take_repeats(Value& source, std::vector<Dim> dims, int64_t repeats) {
    if (lies_by_length_) dims = swapped(std::move(dims), 1, 2);
    std::vector<Dim> expected = operand_.dims;
    if (!dims[1].is_fixed() || Dim::fixed(dims[1].value * repeats) != expected[1]) return false;
    expected[1] = dims[1];
    if (dims != expected) return false;
    operand_.dims = dims;
    operand_.repeats = repeats;
    (lies_by_length_ ? operand_.by_head : operand_.by_length) = nullptr;
    return step_to(&source);
  }

  const OperandReading& reading_;
  AttentionOperand operand_;
  Value* at_ = nullptr;
  bool lies_by_length_ = false;
};

Value& shaped(NodeMaker& make, Value& value, const std::vector<Dim>& dims) {
  if (has_dims(value, dims)) return value;
  Value* source = find_viewed(value, dims);
  return source != nullptr ? *source : make.reshape(value, dims);
}

// Returns the values of the part, [batch, length, heads, size].
Value& make_part(NodeMaker& make, const AttentionOperand& operand) {
  Node& gather =
      make.node(Op::kGather, {operand.by_length, &make.integer(DType::kI64, *operand.part)},
                Type::tensor(operand.by_length->type().dtype, swapped(operand.dims, 1, 2)));
  gather.set(attributes::Gather::axis, int64_t{2});
  return gather.output();
}

}  // namespace

std::optional<AttentionOperand> read_attention_operand(Value& value,
                                                       const OperandReading& reading) {
  return OperandReader(reading).read(value);
}

bool is_transposed_keys(Value& value) {
  const Value* at = read_all_factors(value).value;
  const Node* node = at->producer();
  if (node != nullptr && is_viewing(node->op())) at = node->input(0);
  return find_maker(at, Op::kTranspose) != nullptr;
}

Value& make_by_head(NodeMaker& make, const AttentionOperand& operand) {
  if (operand.by_head != nullptr) return shaped(make, *operand.by_head, operand.dims);
  return make.transpose(shaped(make, *operand.by_length, swapped(operand.dims, 1, 2)),
                        {0, 2, 1, 3});
}

Value& make_flat(NodeMaker& make, const AttentionOperand& operand) {
  const std::vector<Dim>& dims = operand.dims;
  const std::vector<Dim> flat = {dims[0], dims[2], Dim::fixed(dims[1].value * dims[3].value)};
  return shaped(make, operand.part ? make_part(make, operand) : *operand.by_length, flat);
}

}  // namespace sluice
