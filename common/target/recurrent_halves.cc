#include "common/target/recurrent_halves.h"

#include <algorithm>

#include "common/ir/fixed.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "common/target/recurrent.h"

namespace sluice {
namespace {

const Graph* body_of(const Node& node) {
  return node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
}

const Node* made_by(const Value& value, Op op) {
  const Node* producer = value.producer();
  return producer != nullptr && producer->op() == op ? producer : nullptr;
}

// Returns whether the value is this input of its body, cast to f32 where it has another type.
bool is_input_in_f32(const Value* value, const Graph& body, size_t input) {
  return value != nullptr && input < body.inputs().size() && value->type().dtype == DType::kF32 &&
         &before_cast(*value) == body.inputs()[input];
}

// Returns whether the value has the rows of the identity matrix, one after the other.
bool is_identity(const Value& value) {
  const Node* reshape = made_by(value, Op::kReshape);
  const Node* eye = reshape == nullptr ? nullptr : made_by(*reshape->input(0), Op::kEyeLike);
  if (eye == nullptr || !eye->attributes().empty()) return false;
  const Type& type = eye->output().type();
  return type.dtype == DType::kF32 && type.is_fixed() && type.dims[0] == type.dims[1] &&
         value.type().dims.back() == type.dims[1];
}

// Returns whether the cell reads the inputs of its body, each once and in order, and the identity.
bool reads_inputs(const Node& cell, const Graph& body) {
  if (cell.input(0) != body.inputs()[0] || !is_identity(*cell.input(1))) return false;
  constexpr size_t kLengths = 4;
  size_t next = 1;
  for (size_t i = 2; i < cell.input_count(); ++i) {
    const Value* value = cell.input(i);
    if (value == nullptr) continue;
    const bool is_own = i == kLengths ? next < body.inputs().size() && value == body.inputs()[next]
                                      : is_input_in_f32(value, body, next);
    if (!is_own) return false;
    ++next;
  }
  return next == body.inputs().size();
}

// Returns whether the results of the body are some of the cell's, in order, of this dtype.
bool gives_results(const Node& cell, const Graph& body, DType dtype) {
  const Value* before = nullptr;
  for (const Value* output : body.outputs()) {
    const Value& result = before_cast(*output);
    if (result.producer() != &cell || output->type().dtype != dtype ||
        (before != nullptr && before->result() >= result.result()))
      return false;
    before = &result;
  }
  return before != nullptr;
}

bool has_matrices(const Type& x, const Type& w, const Type& products) {
  if (x.rank() != 3 || w.rank() != 3 || products.rank() != 3 || !w.is_fixed()) return false;
  return x.dims[2] == w.dims[2] && products.dims[2].is_fixed() && products.dims[0] == x.dims[0] &&
         products.dims[1] == x.dims[1] &&
         products.dims[2].value == w.dims[0].value * w.dims[1].value;
}

}  // namespace

const Value& before_cast(const Value& value) {
  const Node* cast = made_by(value, Op::kCast);
  return cast == nullptr ? value : *cast->input(0);
}

bool is_recurrent_products(const Node& node) {
  const Graph* body = body_of(node);
  const Node* product = body == nullptr ? nullptr : find_anchor(*body);
  if (product == nullptr || product->op() != Op::kMatMul || body->inputs().size() != 2 ||
      body->outputs().size() != 1 || body->outputs()[0] != &product->output() ||
      !is_input_in_f32(product->input(0), *body, 0))
    return false;
  const Node* transpose = made_by(before_cast(*product->input(1)), Op::kTranspose);
  const Node* reshape =
      transpose == nullptr ? nullptr : made_by(*transpose->input(0), Op::kReshape);
  return reshape != nullptr && reshape->input(0) == body->inputs()[1];
}

std::string products_unsupported_reason(const Node& node) {
  const Type &x = node.input(0)->type(), &w = node.input(1)->type();
  const Type& products = node.output().type();
  if (!is_contraction_dtype(x.dtype) || w.dtype != x.dtype || products.dtype != DType::kF32)
    return "products of other dtypes than a cell reads";
  const Node& product = *find_anchor(*node.get(attributes::Fused::body));
  const Node& transpose = *before_cast(*product.input(1)).producer();
  const bool fits = has_matrices(x, w, products) && transpose.input(0)->type().rank() == 2 &&
                    transpose_order(transpose) == std::vector<int64_t>{1, 0};
  if (!fits) return "products of other shapes than a cell reads";
  const auto is_empty = [](const Type& type) {
    return std::ranges::find(type.dims, Dim::fixed(0)) != type.dims.end();
  };
  if (!has_computed_size(x)) return "a dim of unknown size";
  return is_empty(x) || is_empty(w) ? "an empty tensor" : "";
}

std::string walk_unsupported_reason(const Node& node) {
  const Graph& body = *node.get(attributes::Fused::body);
  const Node& cell = *find_recurrent(body);
  if (std::string reason = recurrent_unsupported_reason(cell); !reason.empty()) return reason;
  const DType dtype = body.inputs().size() > 1 ? body.inputs()[1]->type().dtype : DType::kF32;
  const bool has_form = body.inputs().size() > 1 && is_contraction_dtype(dtype) &&
                        cell.input(0)->type().dtype == DType::kF32 && reads_inputs(cell, body) &&
                        gives_results(cell, body, dtype);
  return has_form ? "" : "a Fused body that does more than to walk with a cell";
}

std::vector<size_t> walk_results(const Node& node) {
  std::vector<size_t> results;
  for (const Value* output : node.get(attributes::Fused::body)->outputs())
    results.push_back(before_cast(*output).result());
  return results;
}

}  // namespace sluice
