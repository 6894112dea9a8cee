// Moves a batch normalisation with constant statistics into the weight and bias of the contraction
// before it.
//
//   before:  %1 = Conv(%x, %w, %b)   %y = BatchNormalization(%1, %scale, %shift, %mean, %variance)
//   after:   %s = scale / sqrt(variance + epsilon)      (constant expressions: sluice-build
//   evaluates
//                                                        them)
//            %y = Conv(%x, %w * %s, (%b - %mean) * %s + %shift)
//
// Legal because both are linear in the contraction's result, channel by channel: equal up to
// rounding. Of f16 and bf16 the expressions compute in f32 and round once; of f16 only where the
// normalisation's factors are near 1, since weights times others may leave the range of f16. The
// contraction's result must not be read elsewhere, its weight and bias must be constants, and
// channels must be those of the weight's rows (or columns): always for Conv and ConvTranspose, for
// Gemm and MatMul when their result is a matrix. A normalisation after any other node of f32
// becomes Mul and Add with constants, which may then join an epilogue; of f16 and bf16 it stays,
// since its shift is a difference of large numbers. One in training mode stays.
#include <cmath>

#include "common/base/work.h"
#include "common/eval/eval.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"
#include "common/pass/can_fuse.h"
#include "common/pass/editor.h"
#include "common/pass/op_index.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

// Returns the contraction over a weight that makes what the node normalises and nothing else reads.
Node* contraction_before(const Node& norm) {
  Node* node = norm.input(0)->producer();
  const bool is_contraction =
      node != nullptr && (node->op() == Op::kConv || node->op() == Op::kConvTranspose ||
                          node->op() == Op::kGemm || node->op() == Op::kMatMul);
  if (!is_contraction || norm.input(0)->is_output() || norm.input(0)->uses().size() != 1)
    return nullptr;
  for (size_t i = 1; i < node->input_count(); ++i) {
    if (node->input(i) == nullptr || !node->input(i)->is_constant()) return nullptr;
  }
  return node;
}

bool is_vector(const Value* value, int64_t size) {
  return is_weight(value) && value->type().dims == std::vector{Dim::fixed(size)};
}

// Returns the channels of a normalisation that can be rewritten; 0 when it cannot.
int64_t channels(const Node& norm) {
  if (norm.get(attributes::BatchNormalization::training_mode) != 0 || norm.output_count() != 1 ||
      !is_removable(norm))
    return 0;
  const Type& type = norm.input(0)->type();
  if (!type.is_tensor() || !type.ranked || type.rank() < 2 || !is_weight(norm.input(1))) return 0;
  const int64_t count = norm.input(1)->type().element_count().value_or(0);
  for (size_t i = 1; i < 5; ++i) {
    if (!is_vector(norm.input(i), count)) return 0;
  }
  return count;
}

// Returns a constant's numbers in f32, in which all expressions compute.
Value& widened(ConstantExpression& expression, const Value& constant) {
  return expression.cast(expression.input(constant.segment()), DType::kF32);
}

// Computes the factor of the normalisation: scale / sqrt(variance + epsilon).
Value& factor(ConstantExpression& expression, const Node& norm) {
  Value& variance = widened(expression, *norm.input(4));
  Value& sum = expression.node(
      Op::kAdd, {&variance, &expression.number(norm.get(attributes::BatchNormalization::epsilon))});
  return expression.node(
      Op::kDiv, {&widened(expression, *norm.input(1)), &expression.node(Op::kSqrt, {&sum})});
}

// Returns the numbers of a vector of floats; nothing when it cannot be read.
std::optional<std::vector<float>> numbers_of(const Value& constant) {
  const auto tensor = evaluate_segment(constant.graph().module(), constant.segment());
  if (!tensor) return std::nullopt;
  std::vector<float> numbers(static_cast<size_t>(constant.type().element_count().value_or(0)));
  eval::load_floats(tensor->dtype, tensor->bytes.data(), 0, static_cast<int64_t>(numbers.size()),
                    numbers.data());
  return numbers;
}

// Returns whether weights times the factors stay in the range of f16 where the weights are
// those of a network: of magnitudes from 0.004, below which f16 has fewer digits, to 1,000.
bool has_moderate_factors(const Node& norm, int64_t count) {
  constexpr float kSmallest = 1.0f / 64, kLargest = 64;
  constexpr int64_t kMaxChannels = 1 << 14;
  if (count > kMaxChannels) return false;
  const auto scale = numbers_of(*norm.input(1)), variance = numbers_of(*norm.input(4));
  if (!scale || !variance) return false;
  const float epsilon = norm.get(attributes::BatchNormalization::epsilon);
  for (size_t i = 0; i < scale->size(); ++i) {
    const float factor = std::abs((*scale)[i] / std::sqrt((*variance)[i] + epsilon));
    if (factor != 0 && !(factor >= kSmallest && factor <= kLargest)) return false;
  }
  return true;
}

// Computes (bias - mean) * factor + shift; bias may be absent.
SegmentId folded_bias(Module& module, const Node& norm, const Value* bias, float beta) {
  ConstantExpression expression(module, norm.output().name() + ".bias");
  Value& mean = widened(expression, *norm.input(3));
  Value* centred = nullptr;
  if (bias == nullptr) {
    centred = &expression.node(Op::kNeg, {&mean});
  } else {
    Value* given = &widened(expression, *bias);
    if (beta != 1) given = &expression.node(Op::kMul, {given, &expression.number(beta)});
    centred = &expression.node(Op::kSub, {given, &mean});
  }
  Value& scaled = expression.node(Op::kMul, {centred, &factor(expression, norm)});
  Value& sum = expression.node(Op::kAdd, {&scaled, &widened(expression, *norm.input(2))});
  return expression.finish(expression.cast(sum, norm.output().type().dtype));
}

// Computes weight * factor, the factor along `axis` of the weight; of several groups, the axis has
// the channels of one, and the axis before it the inputs of all groups.
SegmentId folded_weight(Module& module, const Node& norm, const Value& weight, size_t axis,
                        int64_t groups) {
  ConstantExpression expression(module, norm.output().name() + ".weight");
  Value& given = widened(expression, weight);
  const std::vector<int64_t> extents = *weight.type().extents();
  std::vector<int64_t> split = extents, spread(extents.size(), 1);
  spread[axis] = extents[axis];
  if (groups > 1) {
    split[axis - 1] /= groups;
    split.insert(split.begin(), groups);
    spread.insert(spread.begin(), groups);
  }
  Value& factors = expression.reshape(factor(expression, norm), spread);
  Value& whole = groups > 1 ? expression.reshape(given, split) : given;
  Value& product =
      expression.cast(expression.node(Op::kMul, {&whole, &factors}), weight.type().dtype);
  return expression.finish(groups > 1 ? expression.reshape(product, extents) : product);
}

// Returns into how many groups the weight's axis of channels is divided: the rows of a Conv are
// those of all groups.
int64_t weight_groups(const Node& contraction) {
  return contraction.op() == Op::kConvTranspose ? contraction.get(attributes::Conv::group) : 1;
}

// Returns the axis of the weight that produces the channels; nothing when the fold is not legal.
std::optional<size_t> channel_axis(const Node& contraction, const Node& norm, int64_t count) {
  const Value& weight = *contraction.input(1);
  const Value* bias = contraction.input(2);
  if (!is_weight(&weight) || (bias != nullptr && !is_vector(bias, count))) return std::nullopt;
  if (!(contraction.placement == norm.placement) || !is_removable(contraction)) return std::nullopt;
  size_t axis = 0;
  if (contraction.op() == Op::kConvTranspose) {
    axis = 1;
  } else if (contraction.op() != Op::kConv) {
    if (norm.input(0)->type().rank() != 2 || weight.type().rank() != 2) return std::nullopt;
    axis = contraction.get(attributes::Gemm::transB) != 0 ? 0 : 1;
  }
  const bool fits = weight.type().dims[axis] == Dim::fixed(count / weight_groups(contraction));
  if (!fits || (weight.type().dtype == DType::kF16 && !has_moderate_factors(norm, count)))
    return std::nullopt;
  return axis;
}

Node& copy_of(const Node& node, Op op, const std::vector<Value*>& inputs, Node& before) {
  Node& copy = node.graph().add_node(op, inputs, 0, &before);
  copy.set_name(node.name());
  copy.placement = node.placement;
  return copy;
}

// Replaces the nodes of the match by the contraction with other constants; after MatMul, which has
// no bias, also by an Add.
void fold(Editor& editor, Node& contraction, Node& norm, size_t axis) {
  Graph& graph = editor.graph();
  Module& module = graph.module();
  const bool is_gemm = contraction.op() == Op::kGemm;
  const float beta = is_gemm ? contraction.get(attributes::Gemm::beta) : 1;
  Value& weight = graph.add_constant(
      folded_weight(module, norm, *contraction.input(1), axis, weight_groups(contraction)),
      norm.output().name() + ".weight");
  Value& bias = graph.add_constant(folded_bias(module, norm, contraction.input(2), beta),
                                   norm.output().name() + ".bias");
  const bool takes_bias = contraction.op() != Op::kMatMul;
  std::vector<Value*> inputs = {contraction.input(0), &weight};
  if (takes_bias) inputs.push_back(&bias);
  std::vector<Node*> made = {&copy_of(contraction, contraction.op(), inputs, norm)};
  for (const Attribute& attribute : contraction.attributes())
    made[0]->set_attribute(attribute.name, attribute.value);
  if (is_gemm) made[0]->remove(attributes::Gemm::beta);
  if (!takes_bias) {
    Value& product = made[0]->add_output(norm.output().type_id(), contraction.output().name());
    made.push_back(&copy_of(norm, Op::kAdd, {&product, &bias}, norm));
  }
  Value& result = made.back()->add_output(norm.output().type_id(), norm.output().name());
  for (Node* node : made) {
    node->add_origins(contraction.origins());
    node->add_origins(norm.origins());
  }
  graph.replace_all_uses(norm.output(), result);
  editor.control().transfer({&contraction, &norm}, made);
  graph.erase_node(norm);
  graph.erase_node(contraction);
}

void count_norm() {
  add_work(Work::kMatches);
  add_work(Work::kReplacements);
}

bool fold_norm(Editor& editor, Node& norm) {
  Node* contraction = contraction_before(norm);
  const int64_t count = contraction == nullptr ? 0 : channels(norm);
  const auto axis = count == 0 ? std::nullopt : channel_axis(*contraction, norm, count);
  std::string reason;
  if (!axis || (editor.has_control_edges() && !can_fuse({contraction, &norm}, reason)))
    return false;
  fold(editor, *contraction, norm, *axis);
  count_norm();
  return true;
}

// Replaces the node by y = x * factor + (shift - mean * factor), with constants that broadcast to
// the axes after the channels.
void spell_out(Editor& editor, Node& norm, int64_t count) {
  Graph& graph = editor.graph();
  Module& module = graph.module();
  std::vector<int64_t> extents(norm.input(0)->type().dims.size() - 1, 1);
  extents[0] = count;
  ConstantExpression scale(module, norm.output().name() + ".scale");
  const SegmentId scales = scale.finish(scale.reshape(factor(scale, norm), extents));
  ConstantExpression shift(module, norm.output().name() + ".shift");
  Value& moved = shift.node(Op::kMul, {&widened(shift, *norm.input(3)), &factor(shift, norm)});
  Value& difference = shift.node(Op::kSub, {&widened(shift, *norm.input(2)), &moved});
  const SegmentId shifts = shift.finish(shift.reshape(difference, extents));
  Value& scale_constant = graph.add_constant(scales, norm.output().name() + ".scale");
  Value& shift_constant = graph.add_constant(shifts, norm.output().name() + ".shift");
  Node& product = copy_of(norm, Op::kMul, {norm.input(0), &scale_constant}, norm);
  Node& sum = copy_of(norm, Op::kAdd,
                      {&product.add_output(norm.output().type_id()), &shift_constant}, norm);
  product.add_origins(norm.origins());
  sum.add_origins(norm.origins());
  graph.replace_all_uses(norm.output(),
                         sum.add_output(norm.output().type_id(), norm.output().name()));
  editor.control().transfer({&norm}, {&product, &sum});
  graph.erase_node(norm);
}

Result<bool> fold_batch_norms(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (Node* norm : index.nodes(Op::kBatchNormalization))
    changed = fold_norm(editor, *norm) || changed;
  for (Node* norm : index.nodes(Op::kBatchNormalization)) {
    const int64_t count = norm->is_erased() ? 0 : channels(*norm);
    if (count == 0) continue;
    const Type& type = norm->input(0)->type();
    if (type.dtype != DType::kF32 || type.has_unknown()) continue;
    spell_out(editor, *norm, count);
    count_norm();
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fold_batch_norm(Graph& root, const Options&) {
  return on_every_graph(root, fold_batch_norms);
}

}  // namespace sluice
