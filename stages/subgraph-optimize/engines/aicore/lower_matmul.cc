#include <algorithm>

#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"
#include "stages/subgraph-optimize/engines/aicore/packing.h"

namespace sluice {
namespace {

// One matrix in memory or many: batch axes, rows, columns.
struct MatrixOperand {
  std::vector<Extent> dims, strides;

  const Extent& rows() const { return dims[dims.size() - 2]; }
  const Extent& columns() const { return dims.back(); }
  const Extent& row_stride() const { return strides[strides.size() - 2]; }
  const Extent& column_stride() const { return strides.back(); }

  void permute(const std::vector<int64_t>& order) {
    MatrixOperand old = *this;
    for (size_t axis = 0; axis < order.size(); ++axis) {
      dims[axis] = old.dims[static_cast<size_t>(order[axis])];
      strides[axis] = old.strides[static_cast<size_t>(order[axis])];
    }
  }
  void exchange_last_two() {
    std::swap(dims.back(), dims[dims.size() - 2]);
    std::swap(strides.back(), strides[strides.size() - 2]);
  }
  // Inserts an axis of size 1 before `axis`.
  void insert(size_t axis) {
    const auto at = static_cast<int64_t>(axis);
    Extent stride = axis == dims.size() ? Extent(1) : strides[axis] * dims[axis];
    dims.insert(dims.begin() + at, 1);
    strides.insert(strides.begin() + at, std::move(stride));
  }
};

// The matrices of a product, all with the same number of batch axes in front.
struct Matrices {
  MatrixOperand a, b, c;
};

Result<MatrixOperand> read_matrix(const Value& stored, const OperandSizes& sizes) {
  SLUICE_ASSIGN(std::vector<Extent> dims, sizes.of(stored.type()));
  SLUICE_ASSIGN(std::vector<Extent> strides, sizes.strides(stored));
  return MatrixOperand{std::move(dims), std::move(strides)};
}

Result<MatrixOperand> read_operand(const Contraction& contraction, size_t index,
                                   const Value& stored, const OperandSizes& sizes) {
  const Node& anchor = *contraction.anchor;
  SLUICE_ASSIGN(MatrixOperand operand, read_matrix(stored, sizes));
  if (contraction.transposes(index))
    operand.permute(transpose_order(*anchor.input(index)->producer()));
  if (anchor.op() == Op::kGemm &&
      anchor.get(index == 0 ? attributes::Gemm::transA : attributes::Gemm::transB) != 0)
    operand.exchange_last_two();
  return operand;
}

// Reads the matrices; a and b are the values that the kernel reads.
Result<Matrices> read_matrices(const Contraction& contraction, const Value& a, const Value& b) {
  const Value& result = contraction.node->output();
  const OperandSizes sizes(result.graph().module(), {&result.type(), &a.type(), &b.type()});
  Matrices matrices;
  SLUICE_ASSIGN(matrices.a, read_operand(contraction, 0, a, sizes));
  SLUICE_ASSIGN(matrices.b, read_operand(contraction, 1, b, sizes));
  SLUICE_ASSIGN(matrices.c, read_matrix(result, sizes));
  if (matrices.b.dims.size() == 1) {
    matrices.b.insert(1);
    matrices.c.insert(matrices.c.dims.size());
  }
  if (matrices.a.dims.size() == 1) {
    matrices.a.insert(0);
    matrices.c.insert(matrices.c.dims.size() - 1);
  }
  for (MatrixOperand* operand : {&matrices.a, &matrices.b}) {
    while (operand->dims.size() < matrices.c.dims.size()) operand->insert(0);
  }
  return matrices;
}

// Returns the batch axes from the innermost out; axes of size 1 are left out, and neighbours that
// one stride can address become one.
std::vector<BatchAxis> batch_axes(const Matrices& matrices) {
  const auto& [a, b, c] = matrices;
  std::vector<BatchAxis> axes;
  for (size_t axis = c.dims.size() - 2; axis-- > 0;) {
    const bool a_is_one = a.dims[axis].is_fixed_at(1), b_is_one = b.dims[axis].is_fixed_at(1);
    if (a_is_one && b_is_one) continue;
    const Extent size = a_is_one ? b.dims[axis] : a.dims[axis];
    const BatchAxis next{size, a_is_one ? 0 : a.strides[axis], b_is_one ? 0 : b.strides[axis],
                         c.strides[axis]};
    if (!axes.empty()) {
      BatchAxis& inner = axes.front();
      const bool joins = next.a_stride == inner.a_stride * inner.size &&
                         next.b_stride == inner.b_stride * inner.size &&
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

// Returns true when an epilogue operand has one element per row, so that rows of different batch
// entries must stay apart.
bool reads_rows(const Contraction& contraction) {
  if (contraction.body == nullptr) return false;
  return std::any_of(contraction.body->inputs().begin(), contraction.body->inputs().end(),
                     [&](const Value* input) {
                       return epilogue_shape(input->type(), *contraction.anchor) ==
                              EpilogueShape::kRow;
                     });
}

// Batch entries that read the same B and whose rows follow each other become more rows of one
// matrix.
void fold_batch_into_rows(MatMulSpec& spec) {
  while (!spec.batch.empty()) {
    const BatchAxis inner = spec.batch.back();
    if (!inner.b_stride.is_fixed_at(0) || inner.a_stride != spec.m * spec.a_row_stride ||
        inner.c_stride != spec.m * spec.c_row_stride)
      return;
    spec.m *= inner.size;
    spec.batch.pop_back();
  }
}

Result<MatMulSpec> make_spec(const Contraction& contraction, const Value& stored_a,
                             const Value& stored_b) {
  SLUICE_ASSIGN(const Matrices matrices, read_matrices(contraction, stored_a, stored_b));
  const auto& [a, b, c] = matrices;
  MatMulSpec spec;
  spec.m = a.rows();
  spec.k = a.columns();
  spec.n = b.columns();
  spec.a_row_stride = a.row_stride();
  spec.a_k_stride = a.column_stride();
  spec.b_row_stride = b.row_stride();
  spec.b_column_stride = b.column_stride();
  spec.c_row_stride = c.row_stride();
  spec.batch = batch_axes(matrices);
  if (!reads_rows(contraction)) fold_batch_into_rows(spec);
  return spec;
}

EpilogueAddressing addressing(const MatMulSpec& spec) {
  std::vector<Extent> strides;
  for (const BatchAxis& axis : spec.batch) strides.push_back(axis.c_stride);
  EpilogueAddressing result;
  result.column = EpilogueOperand::column();
  result.row = EpilogueOperand::row(1);
  result.full = EpilogueOperand::full(spec.c_row_stride, strides);
  return result;
}

MatrixPacking make_packing(const Contraction& contraction, const MatMulSpec& spec, int64_t nr) {
  const Node& anchor = *contraction.anchor;
  const std::vector<int64_t> dims = *anchor.input(1)->type().extents();
  MatrixPacking packing;
  if (dims.size() > 2) packing.batch.assign(dims.begin(), dims.end() - 2);
  packing.k = spec.k.factor;
  packing.n = spec.n.factor;
  packing.transposed = anchor.op() == Op::kGemm && anchor.get(attributes::Gemm::transB) != 0;
  packing.nr = nr;
  return packing;
}

}  // namespace

// Converts a batch stride of B to that of packed B, whose matrices include the padding of panels.
Extent packed_stride(const Extent& stride, const MatMulSpec& spec, const ContractionPlan& plan) {
  const int64_t matrix = spec.k.factor * spec.n.factor;
  return stride.factor / matrix * (plan.panels * spec.k.factor * plan.nr);
}

// Packs a B that is known at compile time by a constant expression; a B known only at run time is
// read in place, whatever its strides.
Result<void> lower_matmul(Lowering& lowering, const Contraction& contraction) {
  Node* before = contraction.node;
  const Value& a_inside = contraction.source(0);
  const Value& b_inside = contraction.source(1);
  Value* b = &lowering.operand_value(contraction, b_inside);
  SLUICE_ASSIGN(Value * a, lowering.dense(lowering.operand_value(contraction, a_inside), before));
  const bool packs = b->is_constant() && !contraction.transposes(1);
  if (!packs) {
    SLUICE_ASSIGN(b, lowering.dense(*b, before));
  }
  SLUICE_ASSIGN(MatMulSpec spec, make_spec(contraction, *a, *b));
  std::vector<Lowering::Operand> operands = {{&a_inside, a}};
  if (packs) {
    const ContractionPlan plan = choose_matmul_plan(spec, lowering.profile());
    const MatrixPacking packing = make_packing(contraction, spec, plan.nr);
    spec.b_packed = true;
    for (BatchAxis& axis : spec.batch) axis.b_stride = packed_stride(axis.b_stride, spec, plan);
    SLUICE_ASSIGN(
        b, lowering.packed(*b, [&](Chain& chain) { packing.pack(chain); }, packing.spec(), before));
    const std::vector<int64_t> dims = *b_inside.type().extents();
    operands.push_back({&b_inside, b, [packing, dims](Chain& chain) {
                          packing.unpack(chain);
                          chain.reshape(dims);
                        }});
  } else {
    operands.push_back({&b_inside, b});
  }
  SLUICE_ASSIGN(TranslatedEpilogue translated, translate_epilogue(contraction, addressing(spec)));
  spec.epilogue = std::move(translated.epilogue);
  for (const Value* inside : translated.operands) {
    SLUICE_ASSIGN(Value * value,
                  lowering.dense(lowering.operand_value(contraction, *inside), before));
    operands.push_back({inside, value});
  }
  const KernelId kernel = lowering.kernel(spec, generate_matmul);
  lowering.replace(contraction, operands, kernel);
  return {};
}

}  // namespace sluice
