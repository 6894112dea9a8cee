#include "common/target/aicore.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/ir/fixed.h"
#include "common/ir/limits.h"
#include "common/ir/module.h"
#include "common/loop/lowering.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/ops/small_constant.h"
#include "common/target/attention_form.h"
#include "common/target/multiply_adds.h"
#include "common/target/quantized.h"
#include "common/target/recurrent.h"
#include "common/target/recurrent_halves.h"

namespace sluice {
namespace {

std::string type_unsupported_reason(const Node& node) {
  for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
    const Value* value =
        i < node.input_count() ? node.input(i) : &node.output(i - node.input_count());
    if (value == nullptr) continue;
    const Type& type = value->type();
    if (!type.is_tensor() || !is_contraction_dtype(type.dtype))
      return fmt::format("dtype {}, only f32, f16 and bf16", dtype_name(type.dtype));
    if (!has_computed_size(type)) return "a dim of unknown size";
    if (std::find(type.dims.begin(), type.dims.end(), Dim::fixed(0)) != type.dims.end())
      return "an empty tensor";
  }
  return {};
}

// Plans and strides count elements and multiply-adds of nominal sizes in 63 bits, with a margin for
// padding. No machine has the memory for more; the build stage and the loader report that.
std::string size_unsupported_reason(const Node& node) {
  constexpr auto kMaxCounted = static_cast<int64_t>(kMaxValueBytes / sizeof(float));
  constexpr uint64_t kMaxMultiplyAdds = uint64_t{1} << 60;
  for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
    const Value* value =
        i < node.input_count() ? node.input(i) : &node.output(i - node.input_count());
    if (value == nullptr || !has_computed_size(value->type())) continue;
    const Type nominal = nominal_type(node.graph().module(), value->type());
    if (nominal.element_count().value_or(INT64_MAX) > kMaxCounted)
      return fmt::format("a tensor of more than {} elements", kMaxCounted);
  }
  return nominal_multiply_adds(node) <= kMaxMultiplyAdds
             ? std::string()
             : fmt::format("more than {} multiply-adds", kMaxMultiplyAdds);
}

// A typed graph may contain contractions whose ranks inference has not checked.
std::string rank_unsupported_reason(const Node& node) {
  const int64_t a = node.input(0)->type().rank(), b = node.input(1)->type().rank();
  const bool fits =
      node.op() == Op::kMatMul ? a > 0 && b > 0 : a == b && (node.op() == Op::kConv || a == 2);
  return fits ? "" : fmt::format("operands of ranks {} and {}", a, b);
}

std::string conv_unsupported_reason(const Node& node) {
  const int64_t rank = node.input(0)->type().rank();
  if (rank != 4 && rank != 5)
    return fmt::format("a convolution of rank {}, only 2-d and 3-d ones", rank);
  if (node.get(attributes::Window::auto_pad) != "NOTSET") return "padding that is not explicit";
  const std::vector<int64_t> pads = node.get(attributes::Strided::pads);
  if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; }))
    return "negative padding";
  if (!node.input(1)->type().is_fixed()) return "a weight whose shape is not fixed";
  if (!node.input(0)->type().dims[1].is_fixed()) return "channels whose number is not fixed";
  // A generated kernel has a pointer for each position in scratch.
  constexpr auto kMaxPositions = static_cast<int64_t>(kScratchLimit / sizeof(void*));
  const std::vector<int64_t> weight = *node.input(1)->type().extents();
  int64_t positions = 1;
  for (size_t i = 2; i < weight.size(); ++i) {
    if (weight[i] > kMaxPositions / std::max<int64_t>(positions, 1))
      return fmt::format("a kernel of more than {} positions", kMaxPositions);
    positions *= weight[i];
  }
  return {};
}

// A bias of Gemm must broadcast as an epilogue operand.
std::string gemm_unsupported_reason(const Node& node) {
  const Dim& a = node.input(0)->type().dims[node.get(attributes::Gemm::transA) != 0 ? 0 : 1];
  const Dim& b = node.input(1)->type().dims[node.get(attributes::Gemm::transB) != 0 ? 1 : 0];
  if (a != b) return "operands that may or may not fit each other";
  const Value* bias = node.input(2);
  if (bias == nullptr || is_epilogue_operand(bias->type(), node, false)) return {};
  return "a bias that broadcasts in an unusual way";
}

// Compares a dim of one operand with that of the other: identical, or 1 for both to broadcast.
bool broadcasts_as_written(const Dim& a, const Dim& b) {
  return a == b || a == Dim::fixed(1) || b == Dim::fixed(1);
}

std::string anchor_unsupported_reason(const Node& node) {
  if (!is_contraction(node.op())) return fmt::format("{} is no contraction", op_name(node.op()));
  if (node.op() == Op::kAttention) return attention_unsupported_reason(node);
  if (std::string reason = type_unsupported_reason(node); !reason.empty()) return reason;
  if (std::string reason = rank_unsupported_reason(node); !reason.empty()) return reason;
  switch (node.op()) {
    case Op::kConv:
      return conv_unsupported_reason(node);
    case Op::kGemm:
      return gemm_unsupported_reason(node);
    default:
      return matrices_unsupported_reason(node.input(0)->type(), node.input(1)->type());
  }
}

bool is_read_by_alone(const Value& value, const Node& reader) {
  return !value.is_output() && std::all_of(value.uses().begin(), value.uses().end(),
                                           [&](const Use& use) { return use.node == &reader; });
}

bool is_alone(const Node& node) {
  return &*node.graph().nodes().begin() == &node && node.next() == nullptr;
}

std::string fused_unsupported_reason(const Node& fused) {
  const Graph* body = fused.get(attributes::Fused::body);
  if (body != nullptr && find_recurrent(*body) != nullptr) return walk_unsupported_reason(fused);
  if (is_recurrent_products(fused)) return products_unsupported_reason(fused);
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  if (anchor == nullptr) return "a Fused body without one contraction as its anchor";
  if (std::string reason = anchor_unsupported_reason(*anchor); !reason.empty()) return reason;
  if (body->outputs().size() != 1) return "a Fused body with several results";
  if (!takes_epilogue(anchor->op()) && !is_alone(*anchor))
    return fmt::format("other nodes beside {}", op_name(anchor->op()));
  if (const DType dtype = body->outputs()[0]->type().dtype; !is_contraction_dtype(dtype))
    return fmt::format("a result of dtype {}", dtype_name(dtype));
  std::vector<const Node*> transposes;
  for (size_t i = 0; i < anchor->input_count(); ++i) {
    if (anchor->input(i) == nullptr || anchor->input(i)->producer() == nullptr) continue;
    const Node* transpose = find_operand_transpose(*anchor, i);
    if (transpose == nullptr || !is_read_by_alone(transpose->output(), *anchor))
      return "a Fused body that computes its anchor's operands";
    if (i == 1 && !takes_second_transposed(*anchor))
      return "a transposed operand with a dim too long to be packed";
    transposes.push_back(transpose);
  }
  const Node* interleave = find_interleave(*anchor);
  return epilogue_unsupported_reason(*anchor, false, [&](const Node& node) {
    return &node == anchor || &node == interleave ||
           std::find(transposes.begin(), transposes.end(), &node) != transposes.end();
  });
}

// Returns the reason found so far, else that of the node's sizes.
std::string first_reason(std::string reason, const Node& node) {
  return reason.empty() ? size_unsupported_reason(node) : reason;
}

constexpr int64_t kMaxPhases = 16;  // along an axis

bool is_convolution(const Node& anchor) {
  return anchor.op() == Op::kConv || anchor.op() == Op::kConvInteger ||
         anchor.op() == Op::kQLinearConv;
}

// Returns true when an operand is broadcast along all axes [first, last), or along none of them;
// axes of size 1 of the result do not count.
bool is_uniform(const std::vector<Dim>& operand, const std::vector<Dim>& result, size_t first,
                size_t last) {
  bool is_broadcast = false, is_whole = false;
  for (size_t axis = first; axis < last; ++axis) {
    if (result[axis] == Dim::fixed(1)) continue;
    (operand[axis] == Dim::fixed(1) ? is_broadcast : is_whole) = true;
  }
  return !(is_broadcast && is_whole);
}

bool is_image_operand(const std::vector<Dim>& operand, const std::vector<Dim>& result,
                      bool has_layout, bool is_quantized) {
  if (result.size() < 4 || !is_uniform(operand, result, 2, result.size())) return false;
  const bool has_channels = operand[1] != Dim::fixed(1);
  const bool has_pixels = std::any_of(operand.begin() + 2, operand.end(),
                                      [](const Dim& dim) { return dim != Dim::fixed(1); });
  if (!has_layout && has_channels && has_pixels) return false;
  if (!is_quantized) return true;
  const std::vector<Dim> rows = {operand[0], operand[2], operand[3]};
  return is_uniform(rows, {result[0], result[2], result[3]}, 0, 3);
}

bool has_channels_only(const std::vector<Dim>& operand) {
  for (size_t axis = 0; axis < operand.size(); ++axis)
    if (axis != 1 && operand[axis] != Dim::fixed(1)) return false;
  return true;
}

// Kernels have several phases along the two axes of images; one phase whose border is cut is none.
// Where the size of the result is not fixed, each phase has as many elements as the input.
bool has_equal_phases(const Node& conv, const Node& interleave) {
  const Type &w = conv.input(1)->type(), &y = interleave.output().type();
  if (!w.is_fixed() || w.rank() != 4 || y.rank() != 4 ||
      conv.get(attributes::Conv::group) != interleave.get(attributes::Interleave::group))
    return false;
  const std::vector<int64_t> steps = conv.get(attributes::Strided::strides, 2),
                             dilations = conv.get(attributes::Dilated::dilations, 2),
                             pads = conv.get(attributes::Strided::pads, 4);
  const std::vector<int64_t> strides = interleave.get(attributes::Strided::strides, 2),
                             cuts = interleave.get(attributes::Strided::pads, 4);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t added = pads[i] + pads[i + 2] - (w.dims[i + 2].value - 1) * dilations[i];
    const int64_t cut = cuts[i] + cuts[i + 2];
    const Dim& size = y.dims[i + 2];
    const bool is_even = size.is_fixed() ? cut % strides[i] == 0 : cut == strides[i] * added;
    if (steps[i] != 1 || strides[i] > kMaxPhases || !is_even) return false;
  }
  return strides[0] * strides[1] > 1;
}

}  // namespace

bool is_contraction_dtype(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

std::string matrices_unsupported_reason(const Type& first, const Type& second) {
  const std::vector<Dim>&a = first.dims, &b = second.dims;
  for (size_t axis = 3; axis <= std::min(a.size(), b.size()); ++axis) {
    if (!broadcasts_as_written(a[a.size() - axis], b[b.size() - axis]))
      return "batch sizes that may or may not be equal";
  }
  if (a.back() != (b.size() == 1 ? b[0] : b[b.size() - 2]))
    return "operands that may or may not fit each other";
  return std::max(a.size(), b.size()) > 8 ? "more than six batch axes" : "";
}

bool is_contraction(Op op) { return takes_epilogue(op) || op == Op::kAttention; }

bool takes_epilogue(Op op) {
  return op == Op::kConv || op == Op::kMatMul || op == Op::kGemm || is_integer_contraction(op);
}

const Node* find_anchor(const Graph& body) {
  const Node* anchor = nullptr;
  for (const Node& node : body.nodes()) {
    if (!is_contraction(node.op())) continue;
    if (anchor != nullptr) return nullptr;
    anchor = &node;
  }
  return anchor;
}

const Node* find_operand_transpose(const Node& anchor, size_t index) {
  const bool is_product = anchor.op() == Op::kMatMul || anchor.op() == Op::kGemm;
  if (!is_product || index > 1 || anchor.graph().role != GraphRole::kFused ||
      anchor.input(index) == nullptr)
    return nullptr;
  const Node* node = anchor.input(index)->producer();
  return node != nullptr && node->op() == Op::kTranspose && node->input(0)->producer() == nullptr
             ? node
             : nullptr;
}

bool takes_second_transposed(const Node& product) {
  // A packed tile of the widest vectors then fits into scratch.
  constexpr auto kLongestSum = static_cast<int64_t>(kScratchLimit / 64);
  const std::vector<Dim>& a = product.input(0)->type().dims;
  const Dim& length = product.op() == Op::kGemm && product.get(attributes::Gemm::transA) != 0
                          ? a.front()
                          : a.back();
  return !length.is_fixed() || length.value <= kLongestSum;
}

std::vector<int64_t> transpose_order(const Node& transpose) {
  std::vector<int64_t> order = transpose.get(attributes::Transpose::perm);
  if (!order.empty()) return order;
  for (int64_t axis = static_cast<int64_t>(transpose.input(0)->type().rank()); axis-- > 0;)
    order.push_back(axis);
  return order;
}

const Node* find_interleave(const Node& anchor) {
  if (anchor.op() != Op::kConv || anchor.input(2) != nullptr) return nullptr;
  const Value& sums = anchor.output();
  if (sums.uses().size() != 1 || sums.is_output()) return nullptr;
  const Node* reader = sums.uses()[0].node;
  const bool is_one = reader->op() == Op::kInterleave && reader->input_count() == 1 &&
                      reader->placement == anchor.placement && !reader->placement.keep;
  return is_one && has_equal_phases(anchor, *reader) ? reader : nullptr;
}

const Value& value_of_sums(const Node& anchor) {
  const Node* interleave = find_interleave(anchor);
  return interleave == nullptr ? anchor.output() : interleave->output();
}

bool is_epilogue_operand(const Type& operand, const Node& anchor, bool is_quantized) {
  const std::vector<Dim>&from = operand.dims, &to = value_of_sums(anchor).type().dims;
  const bool has_dtype =
      is_quantized ? operand.dtype == DType::kF32 : is_contraction_dtype(operand.dtype);
  if (operand.has_unknown() || !has_dtype || from.size() > to.size()) return false;
  std::vector<Dim> aligned(to.size() - from.size(), Dim::fixed(1));
  aligned.insert(aligned.end(), from.begin(), from.end());
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (aligned[axis] != Dim::fixed(1) && aligned[axis] != to[axis]) return false;
  }
  if (find_interleave(anchor) != nullptr) return has_channels_only(aligned);
  if (is_convolution(anchor))
    return is_image_operand(aligned, to, from.size() == to.size(), is_quantized);
  return !is_quantized || to.empty() || is_uniform(aligned, to, 0, to.size() - 1);
}

bool is_epilogue_op(const Node& node) {
  const OpRow* row = find_op(node.op());
  if (row == nullptr || (row->flags & kElementwise) == 0 || node.output_count() != 1) return false;
  const auto is_computed = [](const Value& value) {
    const DType dtype = value.type().dtype;
    return (is_contraction_dtype(dtype) || dtype == DType::kBool) &&
           has_computed_size(value.type());
  };
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input != nullptr && !is_computed(*input) && !is_small_scalar(*input)) return false;
  }
  return is_computed(node.output()) && loop::element_unsupported_reason(node).empty();
}

std::string epilogue_unsupported_reason(const Node& anchor, bool is_quantized,
                                        const std::function<bool(const Node&)>& is_own) {
  const Type& result = value_of_sums(anchor).type();
  for (const Node& node : anchor.graph().nodes()) {
    if (is_own(node)) continue;
    if (!is_epilogue_op(node)) return fmt::format("{} in its epilogue", op_name(node.op()));
    if (node.output().type().dims != result.dims)
      return fmt::format("{} changes the shape in its epilogue", op_name(node.op()));
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      const bool is_operand =
          input != nullptr && input->producer() == nullptr && !is_small_scalar(*input);
      if (is_operand && !is_epilogue_operand(input->type(), anchor, is_quantized))
        return fmt::format("an operand of {} that broadcasts in an unusual way",
                           op_name(node.op()));
    }
  }
  return {};
}

std::string aicore_unsupported_reason(const Node& node) {
  if (const auto quantized = read_quantized(node))
    return first_reason(quantized_unsupported_reason(node, *quantized), node);
  if (is_recurrent(node.op())) return first_reason(recurrent_unsupported_reason(node), node);
  return first_reason(
      node.op() == Op::kFused ? fused_unsupported_reason(node) : anchor_unsupported_reason(node),
      node);
}

std::string op_text(const Node& node) {
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  if (anchor == nullptr && body != nullptr) anchor = find_recurrent(*body);
  return anchor == nullptr ? std::string(op_name(node.op()))
                           : fmt::format("Fused({})", op_name(anchor->op()));
}

const std::string& name_text(const Node& node) {
  if (!node.name().empty()) return node.name();
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (!node.output(i).name().empty()) return node.output(i).name();
  }
  return node.name();
}

}  // namespace sluice
