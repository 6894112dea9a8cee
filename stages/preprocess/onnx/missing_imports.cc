#include "stages/preprocess/onnx/missing_imports.h"

#include <set>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "stages/preprocess/onnx/functions.h"
#include "stages/preprocess/onnx/node_order.h"

namespace sluice {
namespace {

using Domains = std::set<std::string_view>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

template <typename Imports>
void add_domains(const Imports& imports, Domains& domains) {
  for (const onnx::OperatorSetIdProto& import : imports)
    domains.insert(plain_domain(import.domain()));
}

void warn(const Nodes& nodes, const Domains& imported, Warnings& warnings) {
  for (const onnx::NodeProto& node : nodes) {
    const std::string_view domain = plain_domain(node.domain());
    if (!imported.contains(domain)) {
      warnings.add(Leniency::kMissingImport,
                   fmt::format("{}: the model imports no opset of domain '{}'", node_label(node),
                               domain.empty() ? "ai.onnx" : domain));
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) warn(attribute.g().node(), imported, warnings);
      for (const onnx::GraphProto& body : attribute.graphs()) warn(body.node(), imported, warnings);
    }
  }
}

}  // namespace

void warn_of_missing_imports(const onnx::ModelProto& model, Warnings& warnings) {
  if (model.ir_version() < 3) return;  // it need not import anything
  Domains imported;
  add_domains(model.opset_import(), imported);
  warn(model.graph().node(), imported, warnings);
  for (const onnx::FunctionProto& function : model.functions()) {
    Domains own = imported;
    add_domains(function.opset_import(), own);
    warn(function.node(), own, warnings);
  }
}

}  // namespace sluice
