// Makes ordinary convolutions of transposed ones, for which the aicore engine has kernels.
//
//   before:  %y = ConvTranspose(%x, %w, %b) {strides = [2, 2]}              w: [C, M, 2, 2]
//   after:   %1 = Conv(%x, %w')                                             w': [4*M, C, 1, 1]
//            %2 = Interleave(%1) {strides = [2, 2]}   %y = Add(%2, %b')
//
//   before:  %y = ConvTranspose(%x, %w) {strides = [2, 2]}                  w: [C, M, 3, 3]
//   after:   %1 = Conv(%x, %w1)   %2 = Conv(%x, %w2)   …                    2x2, 2x1, 1x2, 1x1
//            %y = Interleave(%1, %2, %3, %4) {strides = [2, 2]}
//
// Every stride-th element of the result along an axis, a phase, is what an ordinary convolution by
// some of the taps gives: transposed_phases.h. Phases of the same size are one convolution with so
// many times the channels, whose kernel puts their elements into their places where it can
// (fuse-contraction-epilogue); a stride of 1 has one phase. The bias, like other elementwise nodes
// after it, is computed where phases are joined; of a single phase it stays the convolution's.
// Legal because each element of the result is the sum of the same products; in f16 and bf16 a bias
// that is added where phases are joined rounds once more.
//
// Weights are taken apart by nodes; those over constants become constant expressions. Sizes may be
// symbolic. The node stays where the number of phases is large, where its result is not larger
// than stride * input by a constant, and where an annotation places or keeps it. Must run after
// widen-convolution, which leaves images, and before the fusion of epilogues.
#include <algorithm>
#include <limits>
#include <numeric>

#include "common/ops/attributes.h"
#include "common/ops/dim_math.h"
#include "common/pass/editor.h"
#include "common/target/aicore.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/passes.h"
#include "stages/optimize/passes/transposed_phases.h"

namespace sluice {
namespace {

constexpr int64_t kMaxConvolutions = 32;
constexpr int64_t kMaxPhases = 4096;  // of one convolution

struct TransposedForm {
  int64_t groups = 1;
  int64_t channels_in = 1, channels_out = 1;  // of a group
  std::vector<TransposedAxis> axes;
  bool is_one = false;  // one convolution computes all phases
  std::vector<AxisPhases> splits;

  size_t rank() const { return axes.size(); }
  int64_t phases() const {
    int64_t count = 1;
    for (const AxisPhases& split : splits) count *= static_cast<int64_t>(split.phases.size());
    return count;
  }
  bool is_cut() const {
    return std::ranges::any_of(
        splits, [](const AxisPhases& split) { return split.cut_begin > 0 || split.cut_end > 0; });
  }
};

bool has_known_type(const Value* value, DType dtype) {
  return value->type().is_tensor() && value->type().dtype == dtype && !value->type().has_unknown();
}

bool can_decompose_transposed(const Node& node) {
  if (node.op() != Op::kConvTranspose || !is_removable(node) ||
      node.placement.engine != EngineId::kNone)
    return false;
  const Value &x = *node.input(0), &w = *node.input(1);
  const Value* bias = node.input(2);
  const int64_t rank = x.type().rank();
  const DType dtype = x.type().dtype;
  return is_contraction_dtype(dtype) && has_known_type(&x, dtype) && has_known_type(&w, dtype) &&
         has_known_type(&node.output(), dtype) && w.type().is_fixed() && (rank == 4 || rank == 5) &&
         w.type().rank() == rank && node.output().type().rank() == rank &&
         x.type().dims[1] == w.type().dims[0] && w.type().element_count().value_or(0) > 0 &&
         (bias == nullptr || (has_known_type(bias, dtype) && bias->type().is_fixed()));
}

// Finds the padding at the begin; nothing when the attributes do not give the result's size.
std::optional<int64_t> find_pad(const Node& node, const TransposedAxis& axis, size_t i,
                                size_t rank) {
  const int64_t extra = node.get(attributes::ConvTranspose::output_padding, rank)[i];
  const int64_t total = extra + (axis.kernel - 1) * axis.dilation + 1 - axis.stride - axis.excess;
  const std::string auto_pad = node.get(attributes::Window::auto_pad);
  const bool is_sized = node.has(attributes::ConvTranspose::output_shape);
  if (!is_sized && !auto_pad.starts_with("SAME")) {
    const std::vector<int64_t> pads = node.get(attributes::Strided::pads, 2 * rank);
    return pads[i] + pads[rank + i] == total ? std::optional(pads[i]) : std::nullopt;
  }
  const int64_t all = std::max<int64_t>(total, 0);
  return auto_pad == "SAME_UPPER" ? all / 2 : all - all / 2;
}

std::optional<std::vector<TransposedAxis>> read_axes(const Node& node) {
  const std::vector<Dim>&x = node.input(0)->type().dims, &y = node.output().type().dims;
  const std::vector<int64_t> w = *node.input(1)->type().extents();
  const size_t rank = x.size() - 2;
  DimMath math(node.graph().module());
  std::vector<TransposedAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    TransposedAxis axis;
    axis.kernel = w[i + 2];
    axis.stride = node.get(attributes::Strided::strides, rank)[i];
    axis.dilation = node.get(attributes::Dilated::dilations, rank)[i];
    if (axis.stride > kMaxPhases || y[i + 2] == Dim::fixed(0)) return std::nullopt;
    const Dim excess = math.subtract(y[i + 2], math.multiply(x[i + 2], axis.stride));
    if (!excess.is_fixed()) return std::nullopt;
    axis.excess = excess.value;
    const auto pad = find_pad(node, axis, i, rank);
    if (!pad) return std::nullopt;
    axis.pad = *pad;
    axes.push_back(axis);
  }
  return axes;
}

std::optional<TransposedForm> read_transposed_form(const Node& node) {
  if (!can_decompose_transposed(node)) return std::nullopt;
  const auto axes = read_axes(node);
  if (!axes) return std::nullopt;
  const std::vector<int64_t> w = *node.input(1)->type().extents();
  TransposedForm form{.groups = node.get(attributes::Conv::group), .axes = *axes};
  form.channels_in = w[0] / form.groups, form.channels_out = w[1];
  form.is_one = std::ranges::all_of(form.axes, has_equal_phases);
  for (const TransposedAxis& axis : form.axes) {
    const bool has_idle = axis.kernel < axis.stride || std::gcd(axis.stride, axis.dilation) > 1;
    form.splits.push_back(split_phases(axis, form.is_one || has_idle));
  }
  const bool fits = form.phases() <= (form.is_one ? kMaxPhases : kMaxConvolutions);
  return fits ? std::optional(form) : std::nullopt;
}

std::vector<Dim> fixed_dims(const std::vector<int64_t>& extents) {
  std::vector<Dim> dims;
  for (const int64_t extent : extents) dims.push_back(Dim::fixed(extent));
  return dims;
}

class TransposedDecomposer {
 public:
  TransposedDecomposer(Editor& editor, Node& node, const TransposedForm& form)
      : make_(editor, node), node_(node), form_(form) {}

  void run() {
    const bool is_plain = form_.phases() == 1 && !form_.is_cut();
    Value* result = nullptr;
    if (form_.is_one) {
      result = &convolution(taps_of(0), packed_weight(), form_.phases(), is_plain);
      if (!is_plain) result = &interleaved({result});
    } else {
      result = &interleaved(convolutions());
    }
    if (!is_plain && node_.input(2) != nullptr) result = &with_bias(*result);
    make_.give(0, *result);
    make_.finish();
  }

 private:
  // The phases along all axes of phase `index`, the last axis fastest.
  std::vector<Phase> taps_of(int64_t index) const {
    std::vector<Phase> phases(form_.rank());
    for (size_t i = form_.rank(); i-- > 0;) {
      const std::vector<Phase>& own = form_.splits[i].phases;
      phases[i] = own[static_cast<size_t>(index) % own.size()];
      index /= static_cast<int64_t>(own.size());
    }
    return phases;
  }

  // The weight of the convolution for all phases: they are channels, the group outermost. The taps
  // of one phase are every stride-th, in reverse.
  Value& packed_weight() {
    std::vector<Phase> phases = taps_of(0);
    std::vector<int64_t> dims, taps, order = {0};
    for (size_t i = 0; i < form_.rank(); ++i) {
      taps.push_back(static_cast<int64_t>(dims.size()) + 3);
      order.push_back(taps.back() + 1);
      dims.insert(dims.end(), {phases[i].count, form_.axes[i].stride});
      phases[i].first = 0, phases[i].step = 1;  // along the axis of its taps
    }
    return ordered_weight(phases, dims, taps, std::move(order));
  }

  // The weight of the convolution for one phase: its taps in reverse.
  Value& weight_of(const std::vector<Phase>& phases) {
    std::vector<int64_t> dims, taps;
    for (size_t i = 0; i < form_.rank(); ++i) {
      taps.push_back(static_cast<int64_t>(i) + 3);
      dims.push_back(form_.axes[i].kernel);
    }
    return ordered_weight(phases, dims, taps, {0});
  }

  // Splits the weight into group, inputs and outputs of a group, and `dims`; takes the taps of the
  // phases along the axes `taps`, and moves these to the end. `rows`: axes that become rows of the
  // result together with the outputs.
  Value& ordered_weight(const std::vector<Phase>& phases, const std::vector<int64_t>& dims,
                        const std::vector<int64_t>& taps, std::vector<int64_t> rows) {
    std::vector<int64_t> split = {form_.groups, form_.channels_in, form_.channels_out};
    split.insert(split.end(), dims.begin(), dims.end());
    int64_t count = form_.channels_out;
    for (const int64_t axis : rows) count *= split[static_cast<size_t>(axis)];
    std::vector<int64_t> order = std::move(rows), result = {count, form_.channels_in};
    order.insert(order.end(), {2, 1});
    order.insert(order.end(), taps.begin(), taps.end());
    for (const Phase& phase : phases) result.push_back(phase.count);
    Value& weight = make_.reshape(*node_.input(1), fixed_dims(split));
    return make_.reshape(make_.transpose(reversed(weight, phases, taps), order),
                         fixed_dims(result));
  }

  // Takes the taps of the phases along these axes, the last one first.
  Value& reversed(Value& weight, const std::vector<Phase>& phases,
                  const std::vector<int64_t>& axes) {
    std::vector<int64_t> starts, ends, steps;
    Type type = weight.type();
    for (size_t i = 0; i < phases.size(); ++i) {
      const Phase& phase = phases[i];
      const int64_t end = phase.first - phase.step;
      starts.push_back(phase.first + (phase.count - 1) * phase.step);
      ends.push_back(end < 0 ? std::numeric_limits<int64_t>::min() : end);
      steps.push_back(-phase.step);
      type.dims[static_cast<size_t>(axes[i])] = Dim::fixed(phase.count);
    }
    const bool is_whole = type.dims == weight.type().dims &&
                          std::ranges::all_of(phases, [](const Phase& p) { return p.count == 1; });
    if (is_whole) return weight;
    Graph& graph = node_.graph();
    return make_.add(Op::kSlice,
                     {&weight, &add_ints(graph, starts), &add_ints(graph, ends),
                      &add_ints(graph, axes), &add_ints(graph, steps)},
                     type);
  }

  // A convolution with so many times the channels of the result.
  Value& convolution(const std::vector<Phase>& phases, Value& weight, int64_t times,
                     bool has_bias) {
    const std::vector<Dim>& x = node_.input(0)->type().dims;
    std::vector<Dim> dims = {x[0], Dim::fixed(form_.groups * form_.channels_out * times)};
    std::vector<int64_t> dilations, pads(2 * form_.rank());
    DimMath math(node_.graph().module());
    for (size_t i = 0; i < form_.rank(); ++i) {
      dims.push_back(math.add(x[i + 2], form_.splits[i].added));
      dilations.push_back(phases[i].dilation);
      pads[i] = phases[i].begin, pads[form_.rank() + i] = phases[i].end;
    }
    std::vector<Value*> inputs = {node_.input(0), &weight};
    if (has_bias && node_.input(2) != nullptr) inputs.push_back(node_.input(2));
    Node& conv = make_.node(Op::kConv, inputs, Type::tensor(dtype(), dims));
    if (form_.groups != 1) conv.set(attributes::Conv::group, form_.groups);
    if (std::ranges::any_of(dilations, [](int64_t dilation) { return dilation != 1; }))
      conv.set(attributes::Dilated::dilations, dilations);
    if (std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; }))
      conv.set(attributes::Strided::pads, pads);
    return conv.output();
  }

  // One convolution for each phase; null for those without taps.
  std::vector<Value*> convolutions() {
    std::vector<Value*> results;
    for (int64_t index = 0; index < form_.phases(); ++index) {
      const std::vector<Phase> phases = taps_of(index);
      const bool is_idle =
          std::ranges::any_of(phases, [](const Phase& phase) { return phase.count == 0; });
      results.push_back(is_idle ? nullptr : &convolution(phases, weight_of(phases), 1, false));
    }
    return results;
  }

  Value& interleaved(const std::vector<Value*>& phases) {
    std::vector<int64_t> strides, pads(2 * form_.rank());
    for (size_t i = 0; i < form_.rank(); ++i) {
      strides.push_back(form_.axes[i].stride);
      pads[i] = form_.splits[i].cut_begin, pads[form_.rank() + i] = form_.splits[i].cut_end;
    }
    Node& joint = make_.node(Op::kInterleave, phases, node_.output().type());
    joint.set(attributes::Strided::strides, strides);
    if (form_.is_cut()) joint.set(attributes::Strided::pads, pads);
    if (phases.size() == 1 && form_.groups != 1)
      joint.set(attributes::Interleave::group, form_.groups);
    return joint.output();
  }

  Value& with_bias(Value& value) {
    std::vector<Dim> dims(form_.rank() + 1, Dim::fixed(1));
    dims[0] = node_.input(2)->type().dims[0];
    return make_.elementwise(Op::kAdd, {&value, &make_.reshape(*node_.input(2), dims)}, dtype());
  }

  DType dtype() const { return node_.output().type().dtype; }

  NodeMaker make_;
  Node& node_;
  const TransposedForm& form_;
};

bool rewrite_transposed_convolution(Editor& editor, Node& node) {
  const auto form = read_transposed_form(node);
  if (form) TransposedDecomposer(editor, node, *form).run();
  return form.has_value();
}

}  // namespace

Result<bool> decompose_transposed_convolution(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const bool changed, on_every_node(root, rewrite_transposed_convolution));
  if (!changed) return false;
  SLUICE_TRY(fold_constants(root, options));
  SLUICE_TRY(defer_constants(root, options));
  return true;
}

}  // namespace sluice
