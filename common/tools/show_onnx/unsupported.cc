#include "common/tools/show_onnx/unsupported.h"

#include "common/tools/show_onnx/decompositions.h"
#include "common/tools/show_onnx/forms.h"
#include "common/tools/show_onnx/tables.h"

namespace sluice {
namespace {

// Returns the reason why a node cannot be written; empty when it can.
std::string unsupported_reason(const Node& node) {
  if (is_decomposed(node)) return undecomposed_reason(node);
  if (has_onnx_form(node) || node.op() == Op::kForeign || node.op() == Op::kInverse) return "";
  if (op_domain(node.op()) == Domain::kMl)
    return has_constant_tables(node) ? "" : "its tables are no constants";
  return "ONNX has no such operator";
}

}  // namespace

Result<void> check_has_onnx_forms(const Module& module) {
  std::string lines;
  size_t count = 0;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Node& node : module.graph(id).nodes()) {
      const std::string reason = unsupported_reason(node);
      if (reason.empty()) continue;
      lines += fmt::format("\n  {}: {}", node.label(), reason);
      ++count;
    }
  }
  if (count == 0) return {};
  return make_error(ErrorCode::kUnsupportedOp, "an ONNX model cannot have {}:{}",
                    count == 1 ? "this node" : fmt::format("these {} nodes", count), lines);
}

}  // namespace sluice
