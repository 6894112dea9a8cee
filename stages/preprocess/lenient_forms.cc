#include "stages/preprocess/lenient_forms.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

// Returns whether the operand has dims other than 1 before the trailing ones from `axis` on.
bool is_wide(const Type& input, const Type& operand, int64_t axis) {
  if (!input.is_tensor() || !input.ranked || !operand.is_tensor() || !operand.ranked) return false;
  const int64_t normalised = axis < 0 ? -axis : input.rank() - axis;
  const auto first =
      std::ranges::find_if(operand.dims, [](const Dim& dim) { return dim != Dim::fixed(1); });
  return operand.dims.end() - first > normalised;
}

void check(const Node& node, Warnings& warnings) {
  if (node.op() != Op::kLayerNormalization && node.op() != Op::kRMSNormalization) return;
  for (size_t i = 1; i < node.input_count(); ++i) {
    const bool is_there = node.input(0) != nullptr && node.input(i) != nullptr;
    if (!is_there || !is_wide(node.input(0)->type(), node.input(i)->type(),
                              node.get(attributes::LayerNormalization::axis)))
      continue;
    warnings.add(Leniency::kWideScale,
                 fmt::format("{}: {} '{}' is wider than the dims that are normalised", node.label(),
                             i == 1 ? "scale" : "bias", node.input(i)->name()));
  }
}

}  // namespace

void warn_of_lenient_forms(Module& module) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Node& node : module.graph(id).nodes()) check(node, module.warnings);
  }
}

Result<void> report_warnings(Module& module, const Options& options) {
  const std::vector<std::string> lines = module.warnings.lines();
  module.warnings = {};
  if (options.flag("strict") && !lines.empty()) {
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
    return Error{ErrorCode::kBadModel, std::move(text), "without --strict this is a warning",
                 module.source};
  }
  for (const std::string& line : lines) log_warning("sluice-preprocess", line);
  return {};
}

}  // namespace sluice
