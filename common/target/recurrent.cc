#include "common/target/recurrent.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/base/limits.h"
#include "common/ir/fixed.h"
#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/ops/recurrent_activation.h"

namespace sluice {
namespace {

constexpr std::pair<std::string_view, ActivationKind> kKinds[] = {
    {"Affine", ActivationKind::kAffine},
    {"Elu", ActivationKind::kElu},
    {"HardSigmoid", ActivationKind::kHardSigmoid},
    {"LeakyRelu", ActivationKind::kLeakyRelu},
    {"Relu", ActivationKind::kRelu},
    {"ScaledTanh", ActivationKind::kScaledTanh},
    {"Sigmoid", ActivationKind::kSigmoid},
    {"Softplus", ActivationKind::kSoftplus},
    {"Softsign", ActivationKind::kSoftsign},
    {"Tanh", ActivationKind::kTanh},
    {"ThresholdedRelu", ActivationKind::kThresholdedRelu},
};

std::vector<std::string> default_activations(CellKind kind) {
  if (kind == CellKind::kRnn) return {"Tanh"};
  if (kind == CellKind::kGru) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

CellKind kind_of(Op op) {
  return op == Op::kRNN ? CellKind::kRnn : op == Op::kGRU ? CellKind::kGru : CellKind::kLstm;
}

// The name is in the table of activations.
ActivationKind activation_kind(std::string_view name) {
  return std::ranges::find(kKinds, name, &std::pair<std::string_view, ActivationKind>::first)
      ->second;
}

// Returns the next value of an attribute's list, or the default when there are no more.
float take(const std::vector<float>& values, size_t& next, const std::optional<double>& fallback) {
  if (!fallback) return 0;
  return next < values.size() ? values[next++] : static_cast<float>(*fallback);
}

// Reads the activations of all directions, whose parameters are consumed in this order. Returns
// nothing when there are too few or one is unknown.
std::optional<std::vector<std::vector<CellActivation>>> read_activations(const Node& node,
                                                                         int64_t directions) {
  const std::vector<std::string> usual = default_activations(kind_of(node.op()));
  const std::vector<std::string> given = node.get(attributes::Recurrent::activations);
  const std::vector<float> alphas = node.get(attributes::Recurrent::activation_alpha);
  const std::vector<float> betas = node.get(attributes::Recurrent::activation_beta);
  size_t next_alpha = 0, next_beta = 0;
  std::vector<std::vector<CellActivation>> result(static_cast<size_t>(directions));
  if (!given.empty() && given.size() < usual.size() * result.size()) return std::nullopt;
  for (size_t i = 0; i < usual.size() * result.size(); ++i) {
    const std::string& name = given.empty() ? usual[i % usual.size()] : given[i];
    const ActivationRow* row = find_activation(name);
    if (row == nullptr) return std::nullopt;
    const float alpha = take(alphas, next_alpha, row->alpha);
    const float beta = take(betas, next_beta, row->beta);
    result[i / usual.size()].push_back({activation_kind(name), alpha, beta});
  }
  return result;
}

int64_t direction_count(const Node& node) {
  return node.get(attributes::Recurrent::direction) == "bidirectional" ? 2 : 1;
}

using Dims = std::vector<Dim>;

std::string recurrent_operand_unsupported_reason(const Value& value, DType dtype) {
  const Type& type = value.type();
  if (!type.is_tensor() || type.dtype != dtype)
    return fmt::format("dtype {}, only {}", dtype_name(type.dtype), dtype_name(dtype));
  if (!has_computed_size(type)) return "a dim of unknown size";
  if (std::ranges::find(type.dims, Dim::fixed(0)) != type.dims.end()) return "an empty tensor";
  return {};
}

std::string recurrent_type_unsupported_reason(const Node& node) {
  constexpr size_t kLengths = 4;
  const DType own = node.input(0)->type().dtype;
  if (own != DType::kF32 && own != DType::kF16 && own != DType::kBF16)
    return fmt::format("dtype {}, only f32, f16 and bf16", dtype_name(own));
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) continue;
    const DType dtype = i == kLengths ? DType::kI32 : own;
    if (std::string reason = recurrent_operand_unsupported_reason(*node.input(i), dtype);
        !reason.empty())
      return reason;
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Type& type = node.output(i).type();
    if (type.kind != TypeKind::kUnknown && !has_computed_size(type)) return "a dim of unknown size";
  }
  return {};
}

// The dims that inputs must have beside X, W and R; they are none where an input has no such place.
std::string recurrent_shape_unsupported_reason(const Node& node) {
  const Dims &x = node.input(0)->type().dims, &w = node.input(1)->type().dims,
             &r = node.input(2)->type().dims;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) return "operands of another rank than 3";
  if (!node.input(1)->type().is_fixed() || !node.input(2)->type().is_fixed())
    return "weights whose shape is not fixed";
  const bool is_batch_first = node.get(attributes::Recurrent::layout) != 0;
  const Dim directions = Dim::fixed(direction_count(node)), hidden = r[2];
  RecurrentCell cell;
  cell.kind = kind_of(node.op());
  const int64_t rows = cell.gates() * hidden.value;
  const Dim batch = x[is_batch_first ? 0 : 1];
  const Dims state =
      is_batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  const Dims wanted[] = {x,
                         {directions, Dim::fixed(rows), x[2]},
                         {directions, Dim::fixed(rows), hidden},
                         {directions, Dim::fixed(2 * rows)},
                         {batch},
                         state,
                         state,
                         {directions, Dim::fixed(3 * hidden.value)}};
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && node.input(i)->type().dims != wanted[i])
      return fmt::format("operand {} of a shape that may not fit", i);
  }
  return {};
}

}  // namespace

bool is_recurrent(Op op) { return op == Op::kRNN || op == Op::kGRU || op == Op::kLSTM; }

const Node* find_recurrent(const Graph& body) {
  const auto nodes = body.nodes();
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return is_recurrent(n.op()); });
  return found == nodes.end() ? nullptr : &*found;
}

std::string recurrent_unsupported_reason(const Node& node) {
  if (std::string reason = recurrent_type_unsupported_reason(node); !reason.empty()) return reason;
  if (std::string reason = recurrent_shape_unsupported_reason(node); !reason.empty()) return reason;
  if (!read_activations(node, direction_count(node)))
    return "activations that are too few or unknown";
  // A kernel keeps the states of a sequence in scratch: at most four rows of hidden units, with
  // room for whole vectors and what it knows of the row.
  constexpr auto kMaxHidden = static_cast<int64_t>(kScratchLimit / (5 * sizeof(float))) - 64;
  if (node.input(2)->type().dims[2].value > kMaxHidden)
    return fmt::format("more than {} hidden units", kMaxHidden);
  return {};
}

RecurrentCell read_recurrent(const Node& node) {
  RecurrentCell cell;
  cell.kind = kind_of(node.op());
  cell.directions = direction_count(node);
  cell.is_reverse = node.get(attributes::Recurrent::direction) == "reverse";
  cell.is_batch_first = node.get(attributes::Recurrent::layout) != 0;
  cell.linear_before_reset =
      node.op() == Op::kGRU && node.get(attributes::GRU::linear_before_reset) != 0;
  cell.input_forget = node.op() == Op::kLSTM && node.get(attributes::LSTM::input_forget) != 0;
  cell.input = node.input(1)->type().dims[2].value;
  cell.hidden = node.input(2)->type().dims[2].value;
  cell.clip = std::max(0.0f, node.get(attributes::Recurrent::clip));
  cell.activations = *read_activations(node, cell.directions);
  return cell;
}

}  // namespace sluice
