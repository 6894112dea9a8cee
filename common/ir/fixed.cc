#include "common/ir/fixed.h"

#include "common/ir/limits.h"
#include "common/ir/module.h"
#include "common/ir/unfixed_dims.h"

namespace sluice {
namespace {

constexpr size_t kListed = 10;

std::string describe(const Value& value) {
  if (value.is_constant()) return fmt::format("constant '{}'", value.name());
  return value.producer() == nullptr ? fmt::format("input '{}'", value.name())
                                     : fmt::format("{}, result '{}'", value.producer()->label(), value.name());
}

const Graph* callee_of(const Node& node) { return node.op() == Op::kCall ? node.body("graph") : nullptr; }

struct Findings {
  std::vector<std::string> symbolic, other, large;
};

// is_callee: what its inputs are is told where the Call gets them.
void collect(const Graph& graph, bool is_callee, Findings& found) {
  for (const Value& value : graph.values()) {
    const auto bytes = value.type().dense_bytes();
    if (value.is_erased() || (bytes && *bytes <= kMostValueBytes) || (value.is_constant() && !value.is_used())) continue;
    const Node* producer = value.producer();
    const bool is_told_elsewhere = producer == nullptr ? value.is_input() && is_callee : callee_of(*producer) != nullptr;
    if (is_told_elsewhere) continue;
    if (value.type().is_fixed() && value.type().dtype != DType::kString) {
      found.large.push_back(describe(value));
      continue;
    }
    if (!value.is_used() && producer != nullptr && value.type().kind == TypeKind::kUnknown) continue;
    const Type& type = value.type();
    const bool has_expression = type.is_tensor() && type.ranked && !type.has_unknown();
    (has_expression && type.dtype != DType::kString ? found.symbolic : found.other).push_back(describe(value));
  }
  for (const Node& node : graph.nodes()) {
    if (const Graph* callee = callee_of(node)) collect(*callee, true, found);
  }
}

}  // namespace

Result<void> check_fixed(const Graph& root) {
  Findings found;
  collect(root, false, found);
  const auto& [symbolic, other, large] = found;
  const std::vector<std::string>& findings = !large.empty() ? large : symbolic.empty() ? other : symbolic;
  if (findings.empty()) return {};
  std::string text;
  for (size_t i = 0; i < std::min(findings.size(), kListed); ++i) text += "\n  " + findings[i];
  if (findings.size() > kListed) text += fmt::format("\n  … and {} more", findings.size() - kListed);
  if (!large.empty()) {
    return make_error(ErrorCode::kLimit, "{} values have more bytes than a process can address:{}", findings.size(), text)
        .with_hint("look at the shapes; sluice-show prints them");
  }
  const std::string options = unfixed_dims_hint(root.module());
  if (!symbolic.empty() && !options.empty()) {
    return make_error(ErrorCode::kDimNotFixed, "{} values have shapes that depend on the inputs; this release builds fixed shapes:{}",
                      findings.size(), text)
        .with_hint(fmt::format("fix the dims where the model is read, for example: sluice compile {}", options));
  }
  return make_error(ErrorCode::kNotBuildable, "{} values have no fixed shape or no plain elements; this release builds fixed shapes:{}",
                    findings.size(), text);
}

}  // namespace sluice
