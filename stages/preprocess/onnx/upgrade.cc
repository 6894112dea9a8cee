#include <algorithm>
#include <cstring>
#include <limits>

#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/lenient_upgrades.h"
#include "stages/preprocess/onnx/old_attributes.h"
#include "stages/preprocess/onnx/upgrade_forms.h"

namespace sluice {

namespace {

Value* result_of(Graph& graph, Op op, const std::vector<Value*>& inputs, Node* before) {
  return &graph.add_node(op, inputs, 1, before).output();
}

Error unknown_rank(const UpgradeCall& call) {
  return make_error(ErrorCode::kBadModel, "{}: its form in this opset needs inputs of known rank",
                    call.node->label());
}

std::optional<int64_t> rank_of(const Value* value) {
  if (value == nullptr || !value->type().is_tensor() || !value->type().ranked) return std::nullopt;
  return value->type().rank();
}

template <typename T>
SegmentId scalar(Module& module, DType dtype, T element) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &element, sizeof(T));
  return module.make_constant(module.intern(Type::fixed_tensor(dtype, {})), std::move(bytes));
}

// Returns a float as a constant of input 0's dtype, whatever that is.
Value* float_like_input(UpgradeCall& call, float number) {
  Module& module = call.graph.module();
  Value& constant = call.graph.add_constant(scalar(module, DType::kF32, number));
  const Type& type = call.node->input(0)->type();
  if (type.is_tensor() && type.dtype == DType::kF32) return &constant;
  if (type.is_tensor() && type.dtype == DType::kF64) {
    return &call.graph.add_constant(scalar(module, DType::kF64, static_cast<double>(number)));
  }
  return call.add_before(Op::kCastLike, {&constant, call.node->input(0)});
}

// Turns an attribute of integers into input `index`.
void ints_to_input(UpgradeCall& call, std::string_view name, size_t index) {
  Node& node = *call.node;
  const AttributeValue* found = node.find_attribute(name);
  if (found == nullptr) return;
  std::vector<int64_t> elements;
  if (const auto* list = std::get_if<std::vector<int64_t>>(found)) elements = *list;
  if (const auto* one = std::get_if<int64_t>(found)) elements = {*one};
  node.remove_attribute(name);
  node.set_input(index, call.constant(std::move(elements)));
}

// Handles broadcast = 1 with an axis: the dims of B align with A from that axis on.
Result<void> broadcast_by_axis(UpgradeCall& call) {
  Node& node = *call.node;
  const bool broadcast = node.get(old_attributes::broadcast) != 0;
  const bool has_axis = node.has(old_attributes::axis_of_b);
  int64_t axis = node.get(old_attributes::axis_of_b);
  node.remove(old_attributes::broadcast);
  node.remove(old_attributes::axis_of_b);
  if (!broadcast || !has_axis) return {};
  const auto rank_a = rank_of(node.input(0));
  const auto rank_b = rank_of(node.input(1));
  if (!rank_a || !rank_b) return unknown_rank(call);
  if (axis < 0) axis += *rank_a;
  const int64_t trailing = *rank_a - axis - *rank_b;
  if (axis < 0 || trailing < 0) {
    return make_error(ErrorCode::kBadModel, "{}: attribute 'axis' does not fit ranks {} and {}",
                      node.label(), *rank_a, *rank_b);
  }
  if (trailing == 0) return {};
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < trailing; ++i) axes.push_back(*rank_b + i);
  node.set_input(1, call.add_before(Op::kUnsqueeze, {node.input(1), call.constant(axes)}));
  return {};
}

Result<void> drop_broadcast(UpgradeCall& call) {
  call.node->remove(old_attributes::broadcast);
  return {};
}

// A slope for each channel has to broadcast from axis 1.
Result<void> prelu_channels(UpgradeCall& call) {
  Node& node = *call.node;
  const auto rank = rank_of(node.input(0));
  const auto slope_rank = rank_of(node.input(1));
  if (!rank || !slope_rank) return unknown_rank(call);
  const Type& slope = node.input(1)->type();
  if (*slope_rank != 1 || *rank <= 2 || (slope.dims[0].is_fixed() && slope.dims[0].value == 1))
    return {};
  std::vector<int64_t> axes;
  for (int64_t i = 1; i < *rank - 1; ++i) axes.push_back(i);
  node.set_input(1, call.add_before(Op::kUnsqueeze, {node.input(1), call.constant(axes)}));
  return {};
}

Result<void> batch_normalization(UpgradeCall& call) {
  Node& node = *call.node;
  if (node.get(old_attributes::spatial) == 0) {
    return make_error(ErrorCode::kUnsupportedOp,
                      "{}: statistics for each element (spatial = 0) are not supported",
                      node.label());
  }
  node.remove(old_attributes::spatial);
  node.remove(old_attributes::is_test);
  while (node.output_count() > 1) {  // of training
    node.remove_last_output();
    call.results.pop_back();
  }
  return {};
}

// The mask had the data's dtype.
Result<void> dropout_mask(UpgradeCall& call) {
  if (call.results.size() > 1)
    call.results[1] = call.add_behind(Op::kCastLike, {call.results[1], call.node->input(0)});
  return {};
}

Result<void> dropout(UpgradeCall& call) {
  call.node->remove(old_attributes::ratio);
  call.node->remove(old_attributes::is_test);
  call.node->remove(attributes::Dropout::seed);
  return {};
}

Result<void> drop_output_sequence(UpgradeCall& call) {
  call.node->remove(old_attributes::output_sequence);
  return {};
}

Result<void> clip_bounds(UpgradeCall& call) {
  constexpr std::string_view kNames[] = {"min", "max"};
  for (size_t i = 0; i < 2; ++i) {
    const AttributeValue* found = call.node->find_attribute(kNames[i]);
    const auto* bound = found == nullptr ? nullptr : std::get_if<float>(found);
    if (bound == nullptr) continue;
    const float number = *bound;
    call.node->remove_attribute(kNames[i]);
    const bool is_open = std::abs(number) == std::numeric_limits<float>::max();  // the old default
    if (!is_open) call.node->set_input(i + 1, float_like_input(call, number));
  }
  return {};
}

Result<void> pad_inputs(UpgradeCall& call) {
  ints_to_input(call, "pads", 1);
  const float number = call.node->get(old_attributes::pad_value);
  call.node->remove(old_attributes::pad_value);
  if (number != 0) call.node->set_input(2, float_like_input(call, number));
  return {};
}

Result<void> slice_inputs(UpgradeCall& call) {
  ints_to_input(call, "starts", 1);
  ints_to_input(call, "ends", 2);
  ints_to_input(call, "axes", 3);
  return {};
}

Result<void> split_input(UpgradeCall& call) {
  ints_to_input(call, "split", 1);
  return {};
}

// The division had no precision of its own, and was in f32.
Result<void> divide_in_f32(UpgradeCall& call) {
  const Value* scale = call.node->input(1);
  if (scale != nullptr && scale->type().is_tensor() && dtype_bits(scale->type().dtype) == 16)
    call.node->set(attributes::QuantizeLinear::precision, static_cast<int64_t>(DType::kF32));
  return {};
}

// The one that runtimes had before ONNX: the result has the dtype of the scale.
Result<void> normalize_as_scaled(UpgradeCall& call) {
  Node& node = *call.node;
  const Value *x = node.input(0), *scale = node.input(1);
  const bool are_known = x != nullptr && scale != nullptr && x->type().is_tensor() &&
                         scale->type().is_tensor() && x->type().dtype != DType::kUndefined &&
                         scale->type().dtype != DType::kUndefined;
  if (are_known && x->type().dtype != scale->type().dtype)
    node.set_input(0, call.add_before(Op::kCastLike, {node.input(0), node.input(1)}));
  return {};
}

Result<void> axes_input(UpgradeCall& call) {
  ints_to_input(call, "axes", 1);
  return {};
}

Result<void> top_k_input(UpgradeCall& call) {
  ints_to_input(call, "k", 1);
  return {};
}

Result<void> upsample_input(UpgradeCall& call) {
  const std::vector<float> scales = call.node->get(old_attributes::scales);
  if (!call.node->has(old_attributes::scales)) return {};
  call.node->remove(old_attributes::scales);
  std::vector<std::byte> bytes(scales.size() * sizeof(float));
  std::memcpy(bytes.data(), scales.data(), bytes.size());
  Module& module = call.graph.module();
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kF32, {static_cast<int64_t>(scales.size())}));
  call.node->set_input(1, &call.graph.add_constant(module.make_constant(type, std::move(bytes))));
  return {};
}

// The first Resize took (X, scales) and counted coordinates from the corner.
Result<void> resize_from_corner(UpgradeCall& call) {
  Node& node = *call.node;
  Value* scales = node.input(1);
  node.set_input(1, nullptr);
  node.set_input(2, scales);
  node.set(attributes::Resize::coordinate_transformation_mode, std::string("asymmetric"));
  const std::string mode = node.get(attributes::Upsample::mode);
  if (mode == "nearest") node.set(attributes::Resize::nearest_mode, std::string("floor"));
  if (mode == "bilinear") node.set(attributes::Resize::mode, std::string("linear"));
  return {};
}

Result<void> upsample_to_resize(UpgradeCall& call) {
  call.node->set_op(Op::kResize);
  return resize_from_corner(call);
}

bool is_empty_constant(const Value* value) {
  if (value == nullptr || !value->is_constant()) return false;
  return value->type().element_count() == std::optional<int64_t>(0);
}

// Makes unused inputs absent, where the old form had empty ones.
Result<void> resize_absent_inputs(UpgradeCall& call) {
  for (size_t i = 1; i < call.node->input_count(); ++i) {
    if (is_empty_constant(call.node->input(i))) call.node->set_input(i, nullptr);
  }
  while (call.node->input_count() > 1 && call.node->input(call.node->input_count() - 1) == nullptr)
    call.node->remove_last_input();
  return {};
}

// The old form works on the matrix of all dims before `axis` by all from it on.
Result<void> flatten_semantics(UpgradeCall& call) {
  Node& node = *call.node;
  const int64_t axis = node.get(old_attributes::softmax_axis);
  const auto rank = rank_of(node.input(0));
  node.set(attributes::Softmax::axis, int64_t{-1});
  if (rank && (axis == -1 || axis == *rank - 1)) return {};
  Value* input = node.input(0);
  Value* flat = call.add_before(Op::kFlatten, {input});
  flat->producer()->set(attributes::Flatten::axis, axis);
  node.set_input(0, flat);
  Value* shape = call.add_before(Op::kShape, {input});
  call.results[0] = call.add_behind(Op::kReshape, {&node.output(), shape});
  call.results[0]->producer()->set(attributes::Reshape::allowzero, int64_t{1});
  return {};
}

Result<void> scatter_elements(UpgradeCall& call) {
  call.node->set_op(Op::kScatterElements);
  return {};
}

Result<void> roi_align_mode(UpgradeCall& call) {
  call.node->set(attributes::RoiAlign::coordinate_transformation_mode,
                 std::string("output_half_pixel"));
  return {};
}

// Scale and bias were per group, [G], and are now per channel, [C]: every element is repeated C / G
// times.
Result<void> group_normalization(UpgradeCall& call) {
  Node& node = *call.node;
  Value* channels = call.add_before(Op::kShape, {node.input(0)});
  channels->producer()->set(attributes::Shape::start, int64_t{1});
  channels->producer()->set(attributes::Shape::end, int64_t{2});
  Value* repeats = call.add_before(
      Op::kDiv, {channels, call.constant({node.get(attributes::GroupNormalization::num_groups)})});
  Value* shape = call.add_before(Op::kConcat, {call.constant({1}), repeats});
  shape->producer()->set(attributes::Concat::axis, int64_t{0});
  for (size_t i = 1; i <= 2; ++i) {
    Value* column = call.add_before(Op::kUnsqueeze, {node.input(i), call.constant({1})});
    Value* matrix = call.add_before(Op::kExpand, {column, shape});
    node.set_input(i, call.add_before(Op::kReshape, {matrix, call.constant({-1})}));
  }
  return {};
}

Result<void> grid_sample_mode(UpgradeCall& call) {
  const std::string mode = call.node->get(old_attributes::grid_mode);
  if (mode == "bilinear") call.node->set(attributes::GridSample::mode, std::string("linear"));
  if (mode == "bicubic") call.node->set(attributes::GridSample::mode, std::string("cubic"));
  return {};
}

Result<void> dft_axis(UpgradeCall& call) {
  const int64_t axis = call.node->get(old_attributes::dft_axis);
  call.node->remove(old_attributes::dft_axis);
  Module& module = call.graph.module();
  call.node->set_input(2, &call.graph.add_constant(scalar(module, DType::kI64, axis)));
  return {};
}

// A row whose `adapt` is for nodes of opsets below `before`.
struct UpgradeRow {
  Op op;
  int64_t before;
  Result<void> (*adapt)(UpgradeCall& call);
  size_t inputs = 1;  // inputs that the adapter relies on
};

constexpr int64_t kAlways = INT64_MAX;

// Rows of one op are in the order of versions: a node passes through all that apply to it.
constexpr UpgradeRow kRows[] = {
    {Op::kAdd, 7, broadcast_by_axis, 2},
    {Op::kAnd, 7, broadcast_by_axis, 2},
    {Op::kBatchNormalization, 14, batch_normalization},
    {Op::kCast, 6, cast_by_name},
    {Op::kClip, 11, clip_bounds},
    {Op::kConcat, 4, concat_axis},
    {Op::kDFT, 20, dft_axis},
    {Op::kDiv, 7, broadcast_by_axis, 2},
    {Op::kDropout, 10, dropout_mask},
    {Op::kDropout, 12, dropout},
    {Op::kEqual, 7, broadcast_by_axis, 2},
    {Op::kGRU, 7, drop_output_sequence},
    {Op::kGRU, kAlways, name_activations},
    {Op::kGemm, 7, drop_broadcast},
    {Op::kGlobalLpPool, 2, float_power},
    {Op::kGreater, 7, broadcast_by_axis, 2},
    {Op::kGridSample, 20, grid_sample_mode},
    {Op::kGroupNormalization, 21, group_normalization, 3},
    {Op::kHardmax, 13, flatten_semantics},
    {Op::kLSTM, 7, drop_output_sequence},
    {Op::kLSTM, kAlways, name_activations},
    {Op::kLayerNormalization, 17, normalize_as_scaled},
    {Op::kLess, 7, broadcast_by_axis, 2},
    {Op::kLogSoftmax, 13, flatten_semantics},
    {Op::kLpPool, 2, float_power},
    {Op::kMul, 7, broadcast_by_axis, 2},
    {Op::kOr, 7, broadcast_by_axis, 2},
    {Op::kPRelu, 7, prelu_channels, 2},
    {Op::kPad, 2, pad_paddings},
    {Op::kPad, 11, pad_inputs},
    {Op::kPow, 7, broadcast_by_axis, 2},
    {Op::kQuantizeLinear, 23, divide_in_f32},
    {Op::kRNN, 7, drop_output_sequence},
    {Op::kRNN, kAlways, name_activations},
    {Op::kReduceL1, 18, axes_input},
    {Op::kReduceL2, 18, axes_input},
    {Op::kReduceLogSum, 18, axes_input},
    {Op::kReduceLogSumExp, 18, axes_input},
    {Op::kReduceMax, 18, axes_input},
    {Op::kReduceMean, 18, axes_input},
    {Op::kReduceMin, 18, axes_input},
    {Op::kReduceProd, 18, axes_input},
    {Op::kReduceSum, 13, axes_input},
    {Op::kReduceSumSquare, 18, axes_input},
    {Op::kReshape, 5, reshape_by_attribute},
    {Op::kResize, 11, resize_from_corner},
    {Op::kResize, kAlways, resize_absent_inputs},
    {Op::kRoiAlign, 16, roi_align_mode},
    {Op::kScan, 9, scan_of_batches, 0},
    {Op::kScatter, kAlways, scatter_elements},
    {Op::kSelu, 6, selu_defaults},
    {Op::kSlice, 10, slice_inputs},
    {Op::kSoftmax, 13, flatten_semantics},
    {Op::kSplit, 2, split_by_floats},
    {Op::kSplit, 13, split_input},
    {Op::kSplit, kAlways, add_last_pieces},
    {Op::kSqueeze, 13, axes_input},
    {Op::kSqueeze, kAlways, squeeze_all},
    {Op::kSub, 7, broadcast_by_axis, 2},
    {Op::kTile, 6, tile_along_axis, 3},
    {Op::kTopK, 10, top_k_input},
    {Op::kUnsqueeze, 13, axes_input},
    {Op::kUpsample, 7, upsample_by_factors},
    {Op::kUpsample, 9, upsample_input},
    {Op::kUpsample, kAlways, upsample_to_resize},
    {Op::kXor, 7, broadcast_by_axis, 2},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const UpgradeRow& a, const UpgradeRow& b) { return a.op < b.op; }));

// Kinds of attributes that adapters read: one of another kind must not count as absent.
struct KindRow {
  std::string_view name;
  bool (*fits)(const AttributeValue& value);
  std::string_view expected;
};

template <typename... Kinds>
bool is_any(const AttributeValue& value) {
  return (std::holds_alternative<Kinds>(value) || ...);
}

using Ints = std::vector<int64_t>;
constexpr KindRow kKinds[] = {
    {"axes", is_any<Ints, int64_t>, "integers"},
    {"axis", is_any<int64_t>, "an integer"},
    {"broadcast", is_any<int64_t>, "an integer"},
    {"directions", is_any<Ints>, "integers"},
    {"ends", is_any<Ints>, "integers"},
    {"height_scale", is_any<float>, "a float"},
    {"k", is_any<int64_t>, "an integer"},
    {"max", is_any<float>, "a float"},
    {"min", is_any<float>, "a float"},
    {"num_groups", is_any<int64_t>, "an integer"},
    {"num_scan_inputs", is_any<int64_t>, "an integer"},
    {"paddings", is_any<Ints>, "integers"},
    {"pads", is_any<Ints>, "integers"},
    {"scales", is_any<std::vector<float>>, "floats"},
    {"spatial", is_any<int64_t>, "an integer"},
    {"split", is_any<Ints>, "integers"},
    {"starts", is_any<Ints>, "integers"},
    {"width_scale", is_any<float>, "a float"},
};

Result<void> check_kinds(const UpgradeCall& call) {
  for (const KindRow& row : kKinds) {
    const AttributeValue* value = call.node->find_attribute(row.name);
    if (value == nullptr || row.fits(*value)) continue;
    return make_error(ErrorCode::kBadModel, "{}: attribute '{}' is of another kind, expected {}",
                      call.node->label(), row.name, row.expected);
  }
  const AttributeValue* value = call.node->find_attribute(old_attributes::pad_value.name);
  if (call.node->op() != Op::kPad || value == nullptr || std::holds_alternative<float>(*value))
    return {};
  return make_error(ErrorCode::kBadModel,
                    "{}: attribute 'value' is of another kind, expected a float",
                    call.node->label());
}

}  // namespace

Value* UpgradeCall::add_before(Op op, const std::vector<Value*>& inputs) {
  return result_of(graph, op, inputs, node);
}
Value* UpgradeCall::add_behind(Op op, const std::vector<Value*>& inputs) {
  return result_of(graph, op, inputs, nullptr);
}

Value* UpgradeCall::constant(std::vector<int64_t> elements) {
  // This works for an empty tensor too, whose data is null.
  const auto bytes = std::as_bytes(std::span(elements));
  Module& module = graph.module();
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kI64, {static_cast<int64_t>(elements.size())}));
  return &graph.add_constant(module.make_constant(type, {bytes.begin(), bytes.end()}));
}

Result<void> upgrade_node(UpgradeCall& call, int64_t opset) {
  const Op op = call.node->op();
  // Any operator may have this attribute, a hint for working in place.
  if (opset < 6) call.node->remove(old_attributes::consumed_inputs);
  const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), op,
                                     [](const UpgradeRow& r, Op o) { return r.op < o; });
  for (; row != std::end(kRows) && row->op == op; ++row) {
    if (opset >= row->before) continue;
    SLUICE_TRY(check_kinds(call));
    for (size_t i = 0; i < row->inputs; ++i) {
      if (call.node->input(i) == nullptr)
        return make_error(ErrorCode::kBadModel, "{}: input {} is absent", call.node->label(), i);
    }
    if (call.results.empty())
      return make_error(ErrorCode::kBadModel, "{} has no output", call.node->label());
    SLUICE_TRY(row->adapt(call));
  }
  return {};
}

}  // namespace sluice
