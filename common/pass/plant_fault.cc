#include "common/pass/plant_fault.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/eval/eval.h"
#include "common/eval/number.h"
#include "common/graphfile/graphfile.h"
#include "common/pass/editor.h"
#include "common/tensorfile/binding.h"
#include "common/verify/verify.h"

namespace sluice {
namespace {

// Outputs must differ by more than this share of the largest: far more than roundings do.
constexpr double kSeen = 0.01;

// Tries an edit at an input of a node. Returns false when there is nothing to edit.
using EditInput = bool (*)(Node& node, size_t input);

bool exchange_operands(Node& node, size_t input) {
  Value *first = node.input(0), *second = node.input(1);
  if (input != 0 || first == nullptr || second == nullptr || first == second) return false;
  if (first->type_id() != second->type_id()) return false;
  node.set_input(0, second);
  node.set_input(1, first);
  return true;
}

bool change_constant(Node& node, size_t input) {
  const Value* value = node.input(input);
  if (value == nullptr || !value->is_constant() || value->is_input()) return false;
  if (value->type().dtype != DType::kF32) return false;
  Module& module = node.graph().module();
  const SegmentKind kind = module.segment(value->segment()).kind;
  if (kind != SegmentKind::kSmall && kind != SegmentKind::kBytes) return false;
  const auto bytes = module.bytes(value->segment());
  if (!bytes) return false;
  std::vector<std::byte> changed(bytes->begin(), bytes->end());
  for (size_t at = 0; at + sizeof(float) <= changed.size(); at += sizeof(float)) {
    float number = 0;
    std::memcpy(&number, changed.data() + at, sizeof(float));
    number = number * 1.5F + 0.25F;
    std::memcpy(changed.data() + at, &number, sizeof(float));
  }
  const SegmentId segment = module.make_constant(value->type_id(), std::move(changed));
  node.set_input(input, &node.graph().add_constant(segment));
  return true;
}

bool change_attribute(Node& node, size_t input) {
  if (input >= node.attributes().size()) return false;
  const Attribute attribute = node.attributes()[input];
  const float* number = std::get_if<float>(&attribute.value);
  if (number != nullptr) node.set_attribute(attribute.name, *number * 1.5F + 0.25F);
  return number != nullptr;
}

bool pass_input_on(Node& node, size_t input) {
  if (node.output_count() != 1 || node.input(input) == nullptr) return false;
  if (node.input(input)->is_constant()) return false;
  return Editor(node.graph()).replace(node.output(), *node.input(input));
}

constexpr std::array kOtherOps = {
    std::pair{Op::kAdd, Op::kSub},
    std::pair{Op::kSub, Op::kAdd},
    std::pair{Op::kMul, Op::kAdd},
    std::pair{Op::kDiv, Op::kMul},
    std::pair{Op::kMax, Op::kMin},
    std::pair{Op::kMin, Op::kMax},
    std::pair{Op::kRelu, Op::kNeg},
    std::pair{Op::kTanh, Op::kSigmoid},
    std::pair{Op::kSigmoid, Op::kTanh},
    std::pair{Op::kExp, Op::kAbs},
    std::pair{Op::kSqrt, Op::kAbs},
    std::pair{Op::kErf, Op::kNeg},
    std::pair{Op::kReduceMax, Op::kReduceMin},
    std::pair{Op::kReduceMean, Op::kReduceSum},
    std::pair{Op::kReduceSum, Op::kReduceMean},
};

bool change_op(Node& node, size_t input) {
  const auto* other = std::ranges::find(kOtherOps, node.op(), [](auto pair) { return pair.first; });
  if (input != 0 || other == kOtherOps.end()) return false;
  node.set_op(other->second);
  return true;
}

struct FaultKind {
  std::string_view name;
  EditInput edit;
};
constexpr std::array kKinds = {
    FaultKind{"operands", exchange_operands},
    FaultKind{"constant", change_constant},
    FaultKind{"attribute", change_attribute},
    FaultKind{"input", pass_input_on},
    FaultKind{"op", change_op},
};

struct FaultEdit {
  const FaultKind* kind;
  GraphId graph;
  int32_t node;  // its id, of a compact module
  size_t input;
};

bool apply(const FaultEdit& edit, Module& module) {
  for (Node& node : module.graph(edit.graph).nodes())
    if (node.id() == edit.node) return edit.kind->edit(node, edit.input);
  return false;
}

// Lists what may be edited. Constant expressions are known by digests, which an edit would make
// wrong.
std::vector<FaultEdit> possible_edits(const Module& module, std::string_view kind) {
  std::vector<FaultEdit> edits;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id) || module.graph(id).role == GraphRole::kExpression) continue;
    for (const Node& node : module.graph(id).nodes()) {
      const size_t places = std::max(node.input_count(), node.attributes().size());
      for (const FaultKind& each : kKinds) {
        if (!kind.empty() && each.name != kind) continue;
        for (size_t input = 0; input < places; ++input)
          edits.push_back({&each, id, node.id(), input});
      }
    }
  }
  return edits;
}

// Evaluates on the inputs of `sluice-eval --random`. Dims that are open have size 1.
Result<std::vector<EvalValue>> outputs_of(const Module& module) {
  std::vector<EvalValue> inputs;
  for (const Value* input : module.root().inputs()) {
    if (input->is_constant()) continue;
    std::vector<int64_t> dims;
    for (const Dim& dim : input->type().dims) dims.push_back(dim.is_fixed() ? dim.value : 1);
    Tensor tensor = make_tensor(input->type().dtype, std::move(dims), input->name());
    fill_random(tensor, inputs.size());
    inputs.push_back(EvalValue::of(std::move(tensor)));
  }
  return evaluate_graph(module.root(), std::move(inputs));
}

std::vector<double> numbers_in(const Tensor& tensor) {
  std::vector<double> numbers(element_count(tensor.dims).value_or(0));
  eval::load_doubles(tensor.dtype, tensor.bytes.data(), 0, static_cast<int64_t>(numbers.size()),
                     numbers.data());
  return numbers;
}

bool differ(const EvalValue& before, const EvalValue& after) {
  if (before.tensor == nullptr || after.tensor == nullptr) return false;
  const std::vector<double> x = numbers_in(*before.tensor), y = numbers_in(*after.tensor);
  if (x.size() != y.size()) return true;
  double largest = 0, apart = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    largest = std::max({largest, std::fabs(x[i]), std::fabs(y[i])});
    apart = std::max(apart, std::fabs(x[i] - y[i]));
  }
  return apart > kSeen * largest;
}

// Tries an edit on a copy, which it spoils.
bool has_other_values(const FaultEdit& edit, Module copy, const std::vector<EvalValue>& before) {
  if (!apply(edit, copy) || !copy.root().restore_order()) return false;
  copy.erase_unowned();
  copy.compact();
  if (!verify(copy, copy.level)) return false;
  const auto after = outputs_of(copy);
  if (!after || after->size() != before.size()) return false;
  for (size_t i = 0; i < before.size(); ++i)
    if (differ(before[i], (*after)[i])) return true;
  return false;
}

Result<bool> plant(Module& module, std::string_view pass, std::string_view kind) {
  module.compact();
  SLUICE_ASSIGN(auto written, graph_bytes(module, {.is_compact = true}));
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(written));
  SLUICE_ASSIGN(const std::vector<EvalValue> before, outputs_of(module));
  std::vector<FaultEdit> edits = possible_edits(module, kind);
  if (!edits.empty())  // the passes of a stage get different ones
    std::ranges::rotate(
        edits, edits.begin() + static_cast<std::ptrdiff_t>(pass.size() * 7919 % edits.size()));
  for (const FaultEdit& edit : edits) {
    SLUICE_ASSIGN(Module copy, read_graph(bytes, "a copy"));
    if (!has_other_values(edit, std::move(copy), before)) continue;
    if (!apply(edit, module)) continue;
    SLUICE_TRY(module.graph(edit.graph).restore_order());
    module.erase_unowned();
    return true;
  }
  return make_error(ErrorCode::kBadOption, "SLUICE_FAULT: no edit of this kind after {} is seen",
                    pass);
}

}  // namespace

Result<bool> plant_fault(Module& module, std::string_view pass) {
  const char* asked = std::getenv("SLUICE_FAULT");
  const std::string_view fault = asked == nullptr ? "" : asked;
  const size_t colon = std::min(fault.find(':'), fault.size());
  if (fault.substr(0, colon) != pass) return false;
  return plant(module, pass, fault.substr(std::min(colon + 1, fault.size())));
}

}  // namespace sluice
