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

// The matrices of a product, all with the same number of batch axes in front; and the epilogue's
// operands, whose dims are those of c, with strides of 0 where they are broadcast.
struct Matrices {
  MatrixOperand a, b, c;
  std::vector<std::vector<Extent>> operands;  // their strides

  // Inserts an axis of size 1 of the result.
  void insert_in_result(size_t axis) {
    c.insert(axis);
    for (std::vector<Extent>& strides : operands)
      strides.insert(strides.begin() + static_cast<int64_t>(axis), 0);
  }
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

// Reads the matrices as the kernel finds them in memory.
Result<Matrices> read_matrices(const Contraction& contraction, const StoredOperands& stored) {
  const Value& result = contraction.node->output();
  const OperandSizes sizes(result.graph().module(),
                           {&result.type(), &stored.a->type(), &stored.b->type()});
  Matrices matrices;
  SLUICE_ASSIGN(matrices.a, read_operand(contraction, 0, *stored.a, sizes));
  SLUICE_ASSIGN(matrices.b, read_operand(contraction, 1, *stored.b, sizes));
  SLUICE_ASSIGN(matrices.c, read_matrix(result, sizes));
  for (const auto& [read, value] : stored.epilogue) {
    SLUICE_ASSIGN(std::vector<Extent> strides, sizes.walked_strides(*read, *value));
    matrices.operands.push_back(std::move(strides));
  }
  if (matrices.b.dims.size() == 1) {
    matrices.b.insert(1);
    matrices.insert_in_result(matrices.c.dims.size());
  }
  if (matrices.a.dims.size() == 1) {
    matrices.a.insert(0);
    matrices.insert_in_result(matrices.c.dims.size() - 1);
  }
  for (MatrixOperand* operand : {&matrices.a, &matrices.b}) {
    while (operand->dims.size() < matrices.c.dims.size()) operand->insert(0);
  }
  return matrices;
}

// An axis that a, b, c and the epilogue's operands, in this order, are walked along.
struct WalkedAxis {
  Extent size = 1;
  std::vector<Extent> strides;

  // Returns whether this axis and one within it can be walked as one.
  bool joins(const WalkedAxis& inner) const {
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] != inner.strides[i] * inner.size) return false;
    }
    return true;
  }
};

WalkedAxis walked_axis(const Matrices& matrices, size_t axis) {
  const auto& [a, b, c, operands] = matrices;
  const bool a_is_one = a.dims[axis].is_fixed_at(1), b_is_one = b.dims[axis].is_fixed_at(1);
  WalkedAxis walked{
      a_is_one ? b.dims[axis] : a.dims[axis],
      {a_is_one ? 0 : a.strides[axis], b_is_one ? 0 : b.strides[axis], c.strides[axis]}};
  for (const std::vector<Extent>& strides : operands) walked.strides.push_back(strides[axis]);
  return walked;
}

// Returns the batch axes from the outermost in; axes of size 1 are left out, and neighbours that
// one stride can address become one.
std::vector<WalkedAxis> batch_axes(const Matrices& matrices) {
  std::vector<WalkedAxis> axes;
  for (size_t axis = matrices.c.dims.size() - 2; axis-- > 0;) {
    const WalkedAxis next = walked_axis(matrices, axis);
    if (next.size.is_fixed_at(1)) continue;
    if (!axes.empty() && next.joins(axes.front())) {
      axes.front().size *= next.size;
    } else {
      axes.insert(axes.begin(), next);
    }
  }
  return axes;
}

WalkedAxis row_axis(const Matrices& matrices) {
  WalkedAxis rows{matrices.a.rows(), {matrices.a.row_stride(), 0, matrices.c.row_stride()}};
  for (const std::vector<Extent>& strides : matrices.operands)
    rows.strides.push_back(strides[strides.size() - 2]);
  return rows;
}

}  // namespace

Result<MatMulSpec> make_matmul_spec(const Contraction& contraction, const StoredOperands& stored) {
  SLUICE_ASSIGN(const Matrices matrices, read_matrices(contraction, stored));
  const auto& [a, b, c, operands] = matrices;
  std::vector<WalkedAxis> batch = batch_axes(matrices);
  WalkedAxis rows = row_axis(matrices);
  while (!batch.empty() && batch.back().strides[1].is_fixed_at(0)) {
    if (rows.size.is_fixed_at(1)) {
      rows = batch.back();
    } else if (batch.back().joins(rows)) {
      rows.size *= batch.back().size;
    } else {
      break;
    }
    batch.pop_back();
  }
  MatMulSpec spec;
  spec.dtype = stored.a->type().dtype;
  spec.m = rows.size;
  spec.k = a.columns();
  spec.n = b.columns();
  spec.a_row_stride = rows.strides[0];
  spec.a_k_stride = a.column_stride();
  spec.b_row_stride = b.row_stride();
  spec.b_column_stride = b.column_stride();
  spec.c_row_stride = rows.strides[2];
  for (const WalkedAxis& axis : batch)
    spec.batch.push_back({axis.size, axis.strides[0], axis.strides[1], axis.strides[2]});
  for (size_t i = 0; i < operands.size(); ++i) {
    EpilogueOperand operand{{}, rows.strides[3 + i], operands[i].back()};
    for (const WalkedAxis& axis : batch) operand.batch_strides.push_back(axis.strides[3 + i]);
    spec.epilogue.operands.push_back(std::move(operand));
  }
  return spec;
}

namespace {

MatrixPacking make_packing(const Contraction& contraction, const MatMulSpec& spec, int64_t nr) {
  const Node& anchor = *contraction.anchor;
  const std::vector<int64_t> dims = *anchor.input(1)->type().extents();
  MatrixPacking packing;
  if (dims.size() > 2) packing.batch.assign(dims.begin(), dims.end() - 2);
  packing.k = spec.k.factor;
  packing.n = spec.n.factor;
  packing.transposed = anchor.op() == Op::kGemm && anchor.get(attributes::Gemm::transB) != 0;
  packing.nr = nr;
  packing.dtype = spec.dtype;
  packing.in_pairs = spec.dtype == DType::kBF16;
  return packing;
}

}  // namespace

// Converts a batch stride of B to that of packed B, whose matrices include the padding of panels
// and, of bf16, of pairs.
Extent packed_stride(const Extent& stride, const MatMulSpec& spec, const ContractionPlan& plan) {
  const int64_t matrix = spec.k.factor * spec.n.factor;
  const int64_t rows = spec.dtype == DType::kBF16 ? (spec.k.factor + 1) / 2 * 2 : spec.k.factor;
  return stride.factor / matrix * (plan.panels * rows * plan.nr);
}

// Packs a B that is known at compile time by a constant expression; a B known only at run time is
// read in place, whatever its strides.
Result<void> lower_matmul(Lowering& lowering, const Contraction& contraction) {
  Node* before = contraction.node;
  const Value& a_inside = contraction.source(0);
  const Value& b_inside = contraction.source(1);
  Value* b = &lowering.operand_value(contraction, b_inside);
  SLUICE_ASSIGN(Value * a, lowering.dense(lowering.operand_value(contraction, a_inside), before,
                                          Rows::kMayBeParts));
  const bool packs = b->is_constant() && !contraction.transposes(1);
  if (!packs) {
    SLUICE_ASSIGN(b, lowering.dense(*b, before, Rows::kMayBeParts));
  }
  SLUICE_ASSIGN(const loop::LoweredEpilogue epilogue, lower_epilogue(contraction));
  StoredOperands stored{a, b, {}};
  std::vector<Lowering::Operand> read;
  for (const loop::EpilogueRead& own : epilogue.reads) {
    SLUICE_ASSIGN(Value * value, lowering.dense(lowering.operand_value(contraction, *own.value),
                                                before, Rows::kMayBeParts));
    stored.epilogue.emplace_back(&own, value);
    read.push_back({own.value, value});
  }
  SLUICE_ASSIGN(MatMulSpec spec, make_matmul_spec(contraction, stored));
  spec.epilogue.loops = epilogue.loops;
  spec.epilogue.math = lowering.math();
  std::vector<Lowering::Operand> operands = {{&a_inside, a}};
  if (packs) {
    spec.b_packed = true;
    const ContractionPlan plan = choose_matmul_plan(spec, lowering.profile());
    const MatrixPacking packing = make_packing(contraction, spec, plan.nr);
    for (BatchAxis& axis : spec.batch) axis.b_stride = packed_stride(axis.b_stride, spec, plan);
    SLUICE_ASSIGN(b, lowering.packed(
                         *b, [&](Chain& chain) { packing.pack(chain); }, packing.loops(), before));
    const std::vector<int64_t> dims = *b_inside.type().extents();
    operands.push_back({&b_inside, b, [packing, dims](Chain& chain) {
                          packing.unpack(chain);
                          chain.reshape(dims);
                        }});
  } else {
    operands.push_back({&b_inside, b});
  }
  operands.insert(operands.end(), read.begin(), read.end());
  const KernelId kernel = lowering.kernel(spec, generate_matmul);
  return lowering.replace(contraction, std::move(operands), kernel,
                          dense_map(contraction.node->output().type().dims.size()),
                          Rows::kMayBeParts);
}

}  // namespace sluice
