// Gives each node the dtype that options and annotations ask for, and puts a Cast where dtypes
// meet.
//
//   before:  %a = Conv(%x, w)   %y = Relu(%a)                         --precision-mode=force_fp16
//   after:   %1 = Cast(%x) {to = f16}   %a = Conv(%1, w:f16)   %2 = Relu(%a)
//            %y = Cast(%2) {to = f32}
//
// Legal because it was asked for; the default changes nothing. precision_policy.h says what each
// node prefers, half_tolerance.h which inputs of a node have its dtype. A node whose operator does
// not accept the dtype keeps its own. A gray node of a mix follows: it computes in 16 bits when all
// that it reads, constants apart, is there in them. Inputs and outputs of the model and of bodies
// keep their dtypes. Neighbours of one dtype have no Cast between them, and no value is narrowed
// again that was only widened; a Cast of the model that loses something stays. Weights become
// constants of the other dtype, large ones as constant expressions. The pass is linear, apart from
// the lines of --customize-dtypes, each of which is compared with each node.
//
// Must run on whole operators: a pattern of several nodes does not look through Casts.
#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/pass/editor.h"
#include "common/target/aicore.h"
#include "stages/optimize/precision/half_tolerance.h"
#include "stages/optimize/precision/precision.h"
#include "stages/optimize/precision/precision_policy.h"
#include "stages/optimize/precision/result_dtypes.h"
#include "stages/optimize/precision/value_casts.h"

namespace sluice {
namespace {

constexpr HalfToleranceRow kUnlisted{Op::kIdentity, HalfTolerance::kDeny};

const HalfToleranceRow& row_of(const Node& node) {
  const HalfToleranceRow* row = find_half_tolerance(node.op());
  return row == nullptr ? kUnlisted : *row;
}

class PrecisionChooser {
 public:
  PrecisionChooser(Graph& graph, PrecisionPolicy& policy)
      : graph_(graph), policy_(policy), editor_(graph), casts_(graph) {}

  Result<bool> run() {
    for (Node& node : graph_.nodes()) {
      if (row_of(node).tolerance == HalfTolerance::kDtypeFree)
        drop_identity(node);
      else
        SLUICE_TRY(set_dtypes(node));
      // What is obeyed keeps no nodes apart any more.
      const Precision obeyed = std::exchange(node.placement.precision, Precision::kNone);
      changed_ = changed_ || obeyed != Precision::kNone;
    }
    const std::vector<Value*> outputs = graph_.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      SLUICE_ASSIGN(Value * output, casts_.get(*outputs[i], casts_.original(*outputs[i])));
      if (output != outputs[i]) graph_.set_output(i, *output);
    }
    return changed_;
  }

 private:
  // What a node computes in from now on.
  struct Target {
    DType dtype;
    std::vector<DType> results;
  };

  bool is_operand(const Node& node, size_t input, DType dtype) const {
    const Value* value = node.input(input);
    return value != nullptr && row_of(node).takes(input) && value->type().is_tensor() &&
           casts_.original(*value) == dtype;
  }

  // Returns the dtype of the first operand, in which the node computes in the model.
  DType dtype_of(const Node& node) const {
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (node.input(i) == nullptr) continue;
      const DType dtype = casts_.original(*node.input(i));
      if (is_contraction_dtype(dtype) && is_operand(node, i, dtype)) return dtype;
    }
    return DType::kUndefined;
  }

  // Returns whether all that the node reads, constants apart, is there in the dtype.
  bool reads_only(const Node& node, DType original, DType dtype) const {
    bool reads = false;
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (!is_operand(node, i, original) || node.input(i)->is_constant()) continue;
      if (casts_.find(*node.input(i), dtype) == nullptr) return false;
      reads = true;
    }
    return reads;
  }

  std::optional<Target> target_of(const Node& node) const {
    const DType original = dtype_of(node);
    if (original == DType::kUndefined) return std::nullopt;
    const PrecisionPreference preference = policy_.preference(node, original);
    if (preference.dtype == original ||
        (preference.follows && !reads_only(node, original, preference.dtype)))
      return std::nullopt;
    std::vector<DType> inputs;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* value = node.input(i);
      inputs.push_back(is_operand(node, i, original) ? preference.dtype
                       : value == nullptr            ? DType::kUndefined
                                                     : casts_.original(*value));
    }
    auto results = result_dtypes(node, inputs);
    if (!results) return std::nullopt;
    return Target{preference.dtype, std::move(*results)};
  }

  Result<void> set_dtypes(Node& node) {
    const std::optional<Target> target = target_of(node);
    const DType original = dtype_of(node);
    for (size_t i = 0; i < node.input_count(); ++i) {
      Value* value = node.input(i);
      if (value == nullptr) continue;
      const DType dtype =
          target && is_operand(node, i, original) ? target->dtype : casts_.original(*value);
      SLUICE_ASSIGN(Value * read, casts_.get(*value, dtype));
      if (read != value) node.set_input(i, read);
    }
    if (!target) return {};
    for (size_t i = 0; i < node.output_count(); ++i)
      casts_.retype(node.output(i), target->results[i]);
    changed_ = true;
    return {};
  }

  // A Cast of the model may have nothing to do any more. One that makes an output stays, for its
  // name.
  void drop_identity(Node& node) {
    if (node.op() != Op::kCast || is_model_output(node.output()) || !is_removable(node)) return;
    if (editor_.replace(node.output(), *node.input(0))) {
      editor_.erase_unused(node);
      changed_ = true;
    }
  }

  Graph& graph_;
  PrecisionPolicy& policy_;
  Editor editor_;
  ValueCasts casts_;
  bool changed_ = false;
};

bool has_annotations(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.placement.precision != Precision::kNone) return true;
  return false;
}

void warn_of(const std::vector<std::string>& unmatched_lines) {
  constexpr size_t kNamed = 10;
  const size_t named = std::min(unmatched_lines.size(), kNamed);
  const auto warn = [](const std::string& what) {
    log_warning("sluice-optimize", "--customize-dtypes: " + what);
  };
  for (size_t i = 0; i < named; ++i) warn(fmt::format("'{}' fits no node", unmatched_lines[i]));
  if (unmatched_lines.size() > named)
    warn(fmt::format("and {} more lines", unmatched_lines.size() - named));
}

}  // namespace

Result<bool> choose_precision(Graph& root, const Options& options) {
  SLUICE_ASSIGN(PrecisionPolicy policy, PrecisionPolicy::from(options));
  const auto rewrite = [&](Graph& graph) -> Result<bool> {
    if (policy.is_idle() && !has_annotations(graph)) return false;
    return PrecisionChooser(graph, policy).run();
  };
  SLUICE_ASSIGN(const bool changed, on_every_graph(root, rewrite));
  warn_of(policy.unmatched_lines());
  return changed;
}

}  // namespace sluice
