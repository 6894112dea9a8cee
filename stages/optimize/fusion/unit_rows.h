// Reads the core of a normalisation: rows divided by the root of their mean square.
#pragma once

#include <optional>

#include "stages/optimize/fusion/decomposition.h"

namespace sluice {

// x / sqrt(mean(x * x) + epsilon), the mean over the last `axes` axes.
struct UnitRows {
  Value* x = nullptr;
  int64_t axes = 0;
  double epsilon = 0;
};

// The factor 1 / sqrt(mean(x * x) + epsilon) itself, in the forms Reciprocal(Sqrt(v)),
// Div(1, Sqrt(v)) and Pow(v, -0.5).
std::optional<UnitRows> read_inverse_root(const Value* value);

// Reads the quotient by Sqrt(v) or Pow(v, 0.5), or the product with the factor, in either order.
std::optional<UnitRows> read_unit_rows(const Node& node);

// Returns the number of axes when the reduction is over that many last ones and keeps them as 1;
// otherwise nothing.
std::optional<int64_t> last_axes(const Node& reduction);

// Returns whether a scale or shift broadcasts to the last `axes` axes of x and to no others.
bool fits_rows(const Type& parameter, const Type& x, int64_t axes);

// A normalisation that is written as nodes up to `last`.
struct Normalization {
  UnitRows rows;
  Value* scale = nullptr;  // null: 1
  Value* shift = nullptr;  // null: 0
  Node* last = nullptr;
};

// Appends to the normalisation, from its last node on: a Cast back to the dtype that x was cast
// from, f16 or bf16, when `uncast`, which makes x the operand of that Cast; then a Mul by the scale
// and, when `shifted`, an Add of the shift.
void append_affine(Normalization& found, bool uncast, bool shifted);

// Puts one node in the place of the normalisation; returns whether it could.
bool replace_normalization(Editor& editor, const Normalization& found, Op op);

}  // namespace sluice
