#include "stages/preprocess/onnx/operators.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/pages.h"
#include "common/ops/op_table.h"
#include "stages/preprocess/onnx/experimental/operators.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

constexpr size_t kNamedNodes = 3;

struct Unsupported {
  size_t count = 0;
  std::vector<std::string> nodes;
};
using Findings = std::map<std::pair<std::string, std::string>, Unsupported>;  // by domain and type

// Returns the op that the adapters of old forms convert it to.
Op canonical(Op op) {
  if (op == Op::kUpsample) return Op::kResize;
  if (op == Op::kScatter) return Op::kScatterElements;
  return op;
}

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

void check(const onnx::GraphProto& graph, const std::vector<std::string>& foreign,
           Findings& findings) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (!is_constant_node(node) && !find_operator(node) && find_expansion(node) == nullptr &&
        std::ranges::find(foreign, foreign_name(node)) == foreign.end()) {
      Unsupported& finding =
          findings[{is_onnx_domain(node.domain()) ? "" : node.domain(), node.op_type()}];
      const std::string fallback = node.output_size() > 0 ? node.output(0) : "";
      if (++finding.count <= kNamedNodes)
        finding.nodes.push_back(node.name().empty() ? fallback : node.name());
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) check(attribute.g(), foreign, findings);
      for (const onnx::GraphProto& body : attribute.graphs()) check(body, foreign, findings);
    }
  }
}

// Operators whose decoder is a body that they call for token after token.
constexpr std::string_view kSearches[] = {"BeamSearch", "GreedySearch", "Sampling",
                                          "WhisperBeamSearch"};

bool is_search(const std::pair<std::string, std::string>& name) {
  return name.first == "com.microsoft" &&
         std::ranges::find(kSearches, name.second) != std::end(kSearches);
}

std::string finding_text(const std::pair<std::string, std::string>& name,
                         const Unsupported& finding) {
  std::string text = name.second.empty() ? "(no operator type)" : name.second;
  if (!name.first.empty()) text += fmt::format(" of domain '{}'", name.first);
  text += finding.count == 1 ? " (1 node:" : fmt::format(" ({} nodes:", finding.count);
  for (const std::string& node : finding.nodes)
    text += fmt::format("{}'{}'", &node == finding.nodes.data() ? " " : ", ", node);
  text += finding.count > finding.nodes.size() ? ", ...)" : ")";
  if (is_search(name))
    text +=
        ", a loop around a decoder, which no device runs yet: export the decoder alone and search "
        "outside of it";
  return text;
}

}  // namespace

bool is_constant_node(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && is_onnx_domain(node.domain());
}

std::optional<Op> find_operator(const onnx::NodeProto& node) {
  const auto op = op_from_name(node.op_type());
  if (!op) return std::nullopt;
  const bool is_ours = node.domain() == "sluice";
  const bool is_preview = node.domain() == "ai.onnx.preview";
  if (!is_ours && !is_preview && !is_onnx_domain(node.domain())) return std::nullopt;
  // Fail is the import's own op.
  if (is_preview != (*op == Op::kFlexAttention) || *op == Op::kFail) return std::nullopt;
  if (op_domain(*op) == Domain::kMl || (op_domain(*op) == Domain::kSluice) != is_ours)
    return std::nullopt;
  const OpRow* row = find_op(canonical(*op));
  // Stream control has no results, and nothing in this release runs it.
  const bool has_results = row != nullptr && row->max_outputs != 0;
  return has_results ? op : std::nullopt;
}

const ExpandRow* find_expansion(const onnx::NodeProto& node) {
  if (node.domain() == "ai.onnx.ml") return find_ml_operator(node.op_type());
  const ExpandRow* microsoft = find_microsoft_operator(node);
  return microsoft != nullptr ? microsoft : find_experimental_operator(node);
}

bool has_expansions(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (find_expansion(node) != nullptr) return true;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g() && has_expansions(attribute.g())) return true;
      if (std::ranges::any_of(attribute.graphs(), has_expansions)) return true;
    }
  }
  return false;
}

std::string foreign_name(const onnx::NodeProto& node) {
  return fmt::format("{}::{}", node.domain(), node.op_type());
}

Result<void> check_operators(const onnx::GraphProto& graph,
                             const std::vector<std::string>& foreign) {
  Findings findings;
  check(graph, foreign, findings);
  if (findings.empty()) return {};
  const bool is_one = findings.size() == 1;
  std::string text;
  for (const auto& [name, finding] : findings)
    text += (is_one ? " " : "\n  ") + finding_text(name, finding);
  return make_error(ErrorCode::kUnsupportedOp, "{} unsupported operator{}:{}", findings.size(),
                    is_one ? "" : "s", text)
      .with_hint(fmt::format(
          "{} lists the operators of ONNX that this release has, {} those of other "
          "domains; {} says how to add one, or report the missing one",
          page_path("onnx-support.md"), page_path("operators.md"), page_path("adding-an-op.md")));
}

}  // namespace sluice
