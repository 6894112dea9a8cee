#include "common/tools/show_onnx/versions.h"

#include <algorithm>

#include "common/tools/show_onnx/decompositions.h"

namespace sluice {

OnnxVersions needed_versions(const Module& module, bool runs) {
  OnnxVersions versions;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    if (!runs && module.graph(id).role == GraphRole::kExpression) continue;
    for (const Value& value : module.graph(id).values()) {
      if (!value.is_erased())
        versions.ir = std::max(versions.ir, needed_ir_version(value.type().dtype));
    }
    for (const Node& node : module.graph(id).nodes()) {
      const bool is_plain = node.op() != Op::kAttention || is_plain_attention(node);
      if (runs && is_plain && is_decomposed(node)) continue;
      versions.opset = std::max(versions.opset, needed_opset(node));
    }
  }
  return versions;
}

}  // namespace sluice
