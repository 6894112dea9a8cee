// Decomposes products and convolutions over integers that no engine has kernels for. Where only the
// scales or zero point of the result are in the way, which are known only while running, or the
// length of sums is, the integers are contracted as they are:
//
//   before:  %y = QLinearMatMul(%a, %sa, %za, %b, %sb, %zb, %sy, %zy)
//   after:   %1 = MatMulInteger(%a, %b, %za, %zb)    %2 = Mul(Cast(%1), Mul(%sa, %sb))     (f32)
//            %y = QuantizeLinear(%2, %sy, %zy)
//
// Others become products of f32, where f32 holds all sums exactly: those of at most 2^24 in size.
//
//   after:   %1 = Sub(Cast(%a), Cast(%za))   %2 = Sub(Cast(%b), Cast(%zb))   %3 = MatMul(%1, %2)
//            %4 = Div(Mul(Cast(%3), Mul(Cast(%sa), Cast(%sb))), Cast(%sy))          (f64)
//            %y = QuantizeLinear(Cast(%4), 1, %zy)
//
// and so on; MatMulInteger and ConvInteger end in a Cast of %3 to i32. The node stays where an
// annotation places or keeps it.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

constexpr int64_t kMaxExact = int64_t{1} << 24;  // f32 has all integers up to it

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

bool is_one(const Value* value) { return value == nullptr || value->type().element_count() == 1; }

// The largest size of an element less its zero point.
int64_t largest(const QuantizedOperand& operand) {
  if (operand.zero_point == nullptr && operand.integers->type().dtype == DType::kI8) return 128;
  return 255;
}

// The number of products of one sum; 0 when it is not known.
int64_t products(const QuantizedContraction& q) {
  const std::vector<Dim>& dims = q.w.integers->type().dims;
  int64_t count = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_summed = q.is_conv() ? i > 0 : i + 2 == dims.size() || dims.size() == 1;
    if (is_summed && !dims[i].is_fixed()) return 0;
    if (is_summed) count *= std::min(dims[i].value, kMaxExact);
    count = std::min(count, kMaxExact);
  }
  return count;
}

bool becomes_integers(const Node& node, const QuantizedContraction& q) {
  for (const Value* scale : {q.x.scale, q.w.scale, q.y.scale}) {
    if (scale == nullptr || scale->type().dtype != DType::kF32) return false;
  }
  return is_one(q.y.scale) && is_one(q.y.zero_point) && !q.result->type().has_unknown() &&
         integer_sums_unsupported_reason(node, q).empty();
}

bool becomes_floats(const QuantizedContraction& q) {
  if (q.bias != nullptr) return false;
  for (const Value* value : {q.x.integers, q.w.integers, q.result}) {
    const Type& type = value->type();
    if (!type.is_tensor() || type.has_unknown()) return false;
  }
  if (!is_byte(q.x.integers->type().dtype) || !is_byte(q.w.integers->type().dtype)) return false;
  for (const Value* value :
       {q.x.scale, q.x.zero_point, q.w.scale, q.w.zero_point, q.y.scale, q.y.zero_point})
    if (!is_one(value)) return false;
  const int64_t count = products(q);
  return count > 0 && count <= kMaxExact / (largest(q.x) * largest(q.w));
}

Value& scalar(NodeMaker& make, Value& x, DType dtype) {
  Value& element = make.cast(x, dtype);
  return element.type().dims.empty() ? element : make.reshape(element, {});
}

// An operand of the node, less its zero point.
Value& centered(NodeMaker& make, Value& integers, Value* zero) {
  Value& x = make.cast(integers, DType::kF32);
  if (zero == nullptr) return x;
  return make.elementwise(Op::kSub, {&x, &scalar(make, *zero, DType::kF32)}, DType::kF32);
}

Value& quantized(NodeMaker& make, const Node& node, Value& sums) {
  const auto scale = [&](size_t input) -> Value& {
    return scalar(make, *node.input(input), DType::kF64);
  };
  const auto combine = [&](Op op, Value& a, Value& b) -> Value& {
    return make.elementwise(op, {&a, &b}, DType::kF64);
  };
  Value& reals =
      combine(Op::kMul, make.cast(sums, DType::kF64), combine(Op::kMul, scale(1), scale(4)));
  Value& steps = make.cast(combine(Op::kDiv, reals, scale(6)), DType::kF32);
  Value& zero = scalar(make, *node.input(7), node.output().type().dtype);
  return make.add(Op::kQuantizeLinear, {&steps, &make.number(1), &zero}, node.output().type());
}

// Returns a scalar, or a value for each column as it broadcasts with the result.
Value& by_column(NodeMaker& make, Value& value, const QuantizedContraction& q) {
  if (is_one(&value)) return scalar(make, value, DType::kF32);
  Value& floats = make.cast(value, DType::kF32);
  const Dim columns = value.type().dims.back();
  return q.is_conv() ? make.reshape(floats, {columns, Dim::fixed(1), Dim::fixed(1)})
                     : make.reshape(floats, {columns});
}

void decompose_to_integers(Editor& editor, Node& node, const QuantizedContraction& q) {
  NodeMaker make(editor, node);
  const auto combine = [&](Op op, Value& a, Value& b) -> Value& {
    return make.elementwise(op, {&a, &b}, DType::kF32);
  };
  Node& sums = make.node(q.is_conv() ? Op::kConvInteger : Op::kMatMulInteger,
                         {node.input(0), node.input(3), node.input(2), node.input(5)},
                         Type::tensor(DType::kI32, node.output().type().dims));
  for (const Attribute& attribute : node.attributes())
    sums.set_attribute(attribute.name, attribute.value);
  Value* reals = &make.cast(sums.output(), DType::kF32);
  if (q.bias != nullptr) reals = &combine(Op::kAdd, *reals, by_column(make, *node.input(8), q));
  Value& scale =
      combine(Op::kMul, by_column(make, *node.input(1), q), by_column(make, *node.input(4), q));
  reals = &combine(Op::kMul, *reals, scale);
  Value& zero = scalar(make, *node.input(7), node.output().type().dtype);
  make.give(
      0, make.add(Op::kQuantizeLinear, {reals, &scalar(make, *node.input(6), DType::kF32), &zero},
                  node.output().type()));
  make.finish();
}

void decompose_to_floats(Editor& editor, Node& node, const QuantizedContraction& q) {
  const bool is_linear = q.y.scale != nullptr;
  const size_t w = is_linear ? 3 : 1;
  NodeMaker make(editor, node);
  Value& a = centered(make, *node.input(0), node.input(2));
  Value& b = centered(make, *node.input(w), node.input(is_linear ? 5 : 3));
  Node& product = make.node(q.is_conv() ? Op::kConv : Op::kMatMul, {&a, &b},
                            Type::tensor(DType::kF32, node.output().type().dims));
  for (const Attribute& attribute : node.attributes())
    product.set_attribute(attribute.name, attribute.value);
  make.give(0, is_linear ? quantized(make, node, product.output())
                         : make.cast(product.output(), DType::kI32));
  make.finish();
}

bool rewrite_quantized_product(Editor& editor, Node& node) {
  if (!is_integer_contraction(node.op())) return false;
  const auto q = read_quantized(node);
  if (!q || !is_removable(node) || node.placement.engine != EngineId::kNone ||
      aicore_unsupported_reason(node).empty())
    return false;
  if (becomes_integers(node, *q)) {
    decompose_to_integers(editor, node, *q);
  } else if (becomes_floats(*q)) {
    decompose_to_floats(editor, node, *q);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<bool> decompose_quantized_product(Graph& root, const Options&) {
  return on_every_node(root, rewrite_quantized_product);
}

}  // namespace sluice
