#include "stages/optimize/fusion/unit_rows.h"

#include "common/ops/attributes.h"
#include "stages/optimize/constants.h"

namespace sluice {
namespace {

// Returns x when the value is x * x.
Value* read_square(const Value* value) {
  if (const Node* product = find_maker(value, Op::kMul))
    return product->input(0) == product->input(1) ? product->input(0) : nullptr;
  const Node* power = find_maker(value, Op::kPow);
  return power != nullptr && is_number(power->input(1), 2) ? power->input(0) : nullptr;
}

// Reads mean(x * x) + epsilon.
std::optional<UnitRows> read_mean_square(const Value* value) {
  const Node* sum = find_maker(value, Op::kAdd);
  for (const size_t i : {0, 1}) {
    const Node* mean = sum == nullptr ? nullptr : find_maker(sum->input(i), Op::kReduceMean);
    const auto epsilon = mean == nullptr ? std::nullopt : find_number(sum->input(1 - i));
    Value* x = epsilon ? read_square(mean->input(0)) : nullptr;
    const auto axes = x == nullptr ? std::nullopt : last_axes(*mean);
    if (axes) return UnitRows{x, *axes, *epsilon};
  }
  return std::nullopt;
}

std::optional<UnitRows> read_root(const Value* value) {
  if (const Node* root = find_maker(value, Op::kSqrt)) return read_mean_square(root->input(0));
  const Node* power = find_maker(value, Op::kPow);
  return power != nullptr && is_number(power->input(1), 0.5) ? read_mean_square(power->input(0))
                                                             : std::nullopt;
}

// Returns the operand when the value is a Cast from f16 or bf16, otherwise null.
Value* read_widened(const Value& value) {
  const Node* cast = find_maker(&value, Op::kCast);
  Value* narrow = cast == nullptr ? nullptr : cast->input(0);
  const bool is_half =
      narrow != nullptr && narrow->type().is_tensor() &&
      (narrow->type().dtype == DType::kF16 || narrow->type().dtype == DType::kBF16);
  return is_half && value.type().dtype == DType::kF32 ? narrow : nullptr;
}

// Returns the reader of the value when it is of this op and its result has the type of x.
Node* find_next(const Value& value, Op op, const Value& x) {
  Node* reader = find_only_reader(value);
  return reader != nullptr && reader->op() == op && reader->output().type_id() == x.type_id()
             ? reader
             : nullptr;
}

// Goes on to the reader of this op when its other operand fits rows; returns that operand or null.
Value* append(Normalization& found, Op op) {
  Node* next = find_next(found.last->output(), op, *found.rows.x);
  if (next == nullptr || next->input(0) == next->input(1)) return nullptr;
  Value& other = other_operand(*next, found.last->output());
  if (!fits_rows(other.type(), found.rows.x->type(), found.rows.axes)) return nullptr;
  found.last = next;
  return &other;
}

}  // namespace

std::optional<UnitRows> read_inverse_root(const Value* value) {
  if (const Node* inverse = find_maker(value, Op::kReciprocal)) return read_root(inverse->input(0));
  if (const Node* quotient = find_maker(value, Op::kDiv))
    return is_number(quotient->input(0), 1) ? read_root(quotient->input(1)) : std::nullopt;
  const Node* power = find_maker(value, Op::kPow);
  return power != nullptr && is_number(power->input(1), -0.5) ? read_mean_square(power->input(0))
                                                              : std::nullopt;
}

std::optional<UnitRows> read_unit_rows(const Node& node) {
  if (node.op() == Op::kDiv) {
    const auto rows = read_root(node.input(1));
    return rows && rows->x == node.input(0) ? rows : std::nullopt;
  }
  for (const size_t i : {0, 1}) {
    const auto rows = node.op() == Op::kMul ? read_inverse_root(node.input(i)) : std::nullopt;
    if (rows && rows->x == node.input(1 - i)) return rows;
  }
  return std::nullopt;
}

std::optional<int64_t> last_axes(const Node& reduction) {
  const auto axes = kept_axes(reduction);
  if (!axes || axes->empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(axes->size());
  const int64_t first = reduction.input(0)->type().rank() - count;
  for (int64_t i = 0; i < count; ++i) {
    if ((*axes)[static_cast<size_t>(i)] != first + i) return std::nullopt;
  }
  return count;
}

bool fits_rows(const Type& parameter, const Type& x, int64_t axes) {
  if (!parameter.is_tensor() || !parameter.ranked || parameter.rank() > x.rank() ||
      parameter.dtype != x.dtype)
    return false;
  for (int64_t i = 1; i <= parameter.rank(); ++i) {
    const Dim& own = parameter.dims[static_cast<size_t>(parameter.rank() - i)];
    const Dim& row = x.dims[static_cast<size_t>(x.rank() - i)];
    if (own != Dim::fixed(1) && (i > axes || own != row || own.is_unknown())) return false;
  }
  return true;
}

void append_affine(Normalization& found, bool uncast, bool shifted) {
  if (uncast) {
    Value* narrow = read_widened(*found.rows.x);
    Node* back = narrow == nullptr ? nullptr : find_next(found.last->output(), Op::kCast, *narrow);
    if (back != nullptr) {
      found.rows.x = narrow;
      found.last = back;
    }
  }
  found.scale = append(found, Op::kMul);
  if (shifted) found.shift = append(found, Op::kAdd);
}

bool replace_normalization(Editor& editor, const Normalization& found, Op op) {
  Value& x = *found.rows.x;
  std::vector<Value*> inputs = {&x};
  for (Value* parameter : {found.scale, found.shift}) {
    if (parameter != nullptr) inputs.push_back(parameter);
  }
  if (found.last->output().type_id() != x.type_id()) return false;
  const auto nodes = find_nodes_between(editor, inputs, *found.last);
  if (!nodes) return false;
  if (found.scale == nullptr)
    inputs.insert(inputs.begin() + 1, add_number(editor.graph(), x.type().dtype, 1));
  Node& made = replace_by(editor, *nodes, op, inputs);
  made.set(attributes::LayerNormalization::axis, -found.rows.axes);
  made.set(attributes::LayerNormalization::epsilon, static_cast<float>(found.rows.epsilon));
  return true;
}

}  // namespace sluice
