#include <algorithm>

#include "common/target/aicore.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"
#include "stages/subgraph-optimize/engines/aicore/packing.h"

namespace sluice {
namespace {

// The dims of both operands as matrices with equally many batch axes in front.
struct Shapes {
  std::vector<Extent> a, b;
};

Shapes matrix_shapes(const Contraction& contraction) {
  const Node& anchor = *contraction.anchor;
  const Type &a = anchor.input(0)->type(), &b = anchor.input(1)->type();
  const OperandSizes sizes(anchor.graph().module(), {&contraction.result(), &a, &b});
  Shapes shapes{sizes.of(a), sizes.of(b)};
  if (shapes.a.size() == 1) shapes.a.insert(shapes.a.begin(), 1);
  if (shapes.b.size() == 1) shapes.b.push_back(1);
  const size_t rank = std::max(shapes.a.size(), shapes.b.size());
  shapes.a.insert(shapes.a.begin(), rank - shapes.a.size(), 1);
  shapes.b.insert(shapes.b.begin(), rank - shapes.b.size(), 1);
  return shapes;
}

// Batch axes from the innermost out; axes of size 1 are left out, neighbours that are one stride become one.
std::vector<BatchAxis> batch_axes(const Shapes& shapes, Extent a, Extent b, Extent c) {
  std::vector<BatchAxis> axes;
  for (size_t axis = shapes.a.size() - 2; axis-- > 0;) {
    const bool a_is_one = shapes.a[axis].is_fixed_at(1), b_is_one = shapes.b[axis].is_fixed_at(1);
    if (a_is_one && b_is_one) continue;
    const Extent size = a_is_one ? shapes.b[axis] : shapes.a[axis];
    const BatchAxis next{size, a_is_one ? 0 : a, b_is_one ? 0 : b, c};
    if (!a_is_one) a *= size;
    if (!b_is_one) b *= size;
    c *= size;
    if (!axes.empty()) {
      BatchAxis& inner = axes.front();
      const bool joins = next.a_stride == inner.a_stride * inner.size && next.b_stride == inner.b_stride * inner.size &&
                         next.c_stride == inner.c_stride * inner.size;
      if (joins) {
        inner.size *= size;
        continue;
      }
    }
    axes.insert(axes.begin(), next);
  }
  return axes;
}

// True when an epilogue operand has one element per row, so that rows of different batch entries must stay apart.
bool reads_rows(const Contraction& contraction) {
  if (contraction.body == nullptr) return false;
  return std::any_of(contraction.body->inputs().begin(), contraction.body->inputs().end(),
                     [&](const Value* input) { return epilogue_shape(input->type(), *contraction.anchor) == EpilogueShape::kRow; });
}

// Batch entries that read the same B and whose rows follow each other are more rows of one matrix.
void fold_batch_into_rows(MatMulSpec& spec) {
  while (!spec.batch.empty()) {
    const BatchAxis inner = spec.batch.back();
    if (!inner.b_stride.is_fixed_at(0) || inner.a_stride != spec.m * spec.a_row_stride || inner.c_stride != spec.m * spec.c_row_stride)
      return;
    spec.m *= inner.size;
    spec.batch.pop_back();
  }
}

MatMulSpec make_spec(const Contraction& contraction, const Shapes& shapes) {
  const Node& anchor = *contraction.anchor;
  const bool gemm = anchor.op() == Op::kGemm;
  const bool a_transposed = gemm && anchor.int_attribute("transA", 0) != 0;
  const bool b_transposed = gemm && anchor.int_attribute("transB", 0) != 0;
  const size_t rank = shapes.a.size();
  MatMulSpec spec;
  spec.m = shapes.a[rank - (a_transposed ? 1 : 2)];
  spec.k = shapes.a[rank - (a_transposed ? 2 : 1)];
  spec.n = shapes.b[rank - (b_transposed ? 2 : 1)];
  spec.a_row_stride = a_transposed ? 1 : spec.k;
  spec.a_k_stride = a_transposed ? spec.m : 1;
  spec.b_row_stride = b_transposed ? 1 : spec.n;
  spec.b_column_stride = b_transposed ? spec.k : 1;
  spec.c_row_stride = spec.n;
  spec.batch = batch_axes(shapes, spec.m * spec.k, spec.k * spec.n, spec.m * spec.n);
  if (!a_transposed && !reads_rows(contraction)) fold_batch_into_rows(spec);
  return spec;
}

EpilogueAddressing addressing(const MatMulSpec& spec) {
  std::vector<Extent> strides;
  for (const BatchAxis& axis : spec.batch) strides.push_back(axis.c_stride);
  EpilogueAddressing result;
  result.column = EpilogueOperand::column();
  result.row = EpilogueOperand::row(1);
  result.full = EpilogueOperand::full(spec.n, strides);
  return result;
}

MatrixPacking make_packing(const Contraction& contraction, const MatMulSpec& spec, int64_t nr) {
  const Node& anchor = *contraction.anchor;
  const std::vector<int64_t> dims = *anchor.input(1)->type().extents();
  MatrixPacking packing;
  if (dims.size() > 2) packing.batch.assign(dims.begin(), dims.end() - 2);
  packing.k = spec.k.factor;
  packing.n = spec.n.factor;
  packing.transposed = anchor.op() == Op::kGemm && anchor.int_attribute("transB", 0) != 0;
  packing.nr = nr;
  return packing;
}

}  // namespace

// Behind the matrices of a packed B.
Extent packed_stride(const Extent& stride, const MatMulSpec& spec, const ContractionPlan& plan) {
  const int64_t matrix = spec.k.factor * spec.n.factor;
  return stride.factor / matrix * (plan.panels * spec.k.factor * plan.nr);
}

// B known when compiling is packed by a constant expression; B known only when running is read where it lies, whatever its strides.
Result<void> lower_matmul(Lowering& lowering, const Contraction& contraction) {
  Node* before = contraction.node;
  const Value& a_inside = *contraction.anchor->input(0);
  const Value& b_inside = *contraction.anchor->input(1);
  Value& b_outside = lowering.operand_value(contraction, b_inside);
  MatMulSpec spec = make_spec(contraction, matrix_shapes(contraction));
  SLUICE_ASSIGN(Value * a, lowering.dense(lowering.operand_value(contraction, a_inside), before));
  std::vector<Lowering::Operand> operands = {{&a_inside, a}};
  if (b_outside.is_constant()) {
    const ContractionPlan plan = choose_matmul_plan(spec, lowering.profile());
    const MatrixPacking packing = make_packing(contraction, spec, plan.nr);
    spec.b_packed = true;
    for (BatchAxis& axis : spec.batch) axis.b_stride = packed_stride(axis.b_stride, spec, plan);
    SLUICE_ASSIGN(Value * b, lowering.packed(b_outside, [&](Chain& chain) { packing.pack(chain); }, packing.spec(), before));
    const std::vector<int64_t> dims = *b_inside.type().extents();
    operands.push_back({&b_inside, b, [packing, dims](Chain& chain) {
                          packing.unpack(chain);
                          chain.reshape(dims);
                        }});
  } else {
    SLUICE_ASSIGN(Value * b, lowering.dense(b_outside, before));
    operands.push_back({&b_inside, b});
  }
  SLUICE_ASSIGN(TranslatedEpilogue translated, translate_epilogue(contraction, addressing(spec)));
  spec.epilogue = std::move(translated.epilogue);
  for (const Value* inside : translated.operands) {
    SLUICE_ASSIGN(Value * value, lowering.dense(lowering.operand_value(contraction, *inside), before));
    operands.push_back({inside, value});
  }
  SLUICE_ASSIGN(const KernelId kernel, lowering.kernel(spec, generate_matmul));
  lowering.replace(contraction, operands, kernel);
  return {};
}

}  // namespace sluice
