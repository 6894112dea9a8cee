#include "common/tools/show_onnx/runnable.h"

#include <algorithm>
#include <set>

#include "common/base/release.h"
#include "common/tools/show_onnx/graphs.h"
#include "common/tools/show_onnx/plain.h"
#include "common/tools/show_onnx/unsupported.h"
#include "common/tools/show_onnx/versions.h"
#include "common/tools/show_onnx/weights_file.h"

namespace sluice {
namespace {

void add_import(onnx::ModelProto& model, std::string_view domain, int version) {
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain(std::string(domain));
  import.set_version(version);
}

// Adds the operator sets that nodes are of.
void import_operators(const Module& module, const Tables& tables, int opset,
                      onnx::ModelProto& model) {
  add_import(model, "", opset);
  int ml_version = 0;
  for (const auto& [node, own] : tables)
    ml_version = std::max(ml_version, needed_ml_version(*node, own));
  if (ml_version > 0) add_import(model, kMlDomain, ml_version);
  std::set<std::string> domains;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Node& node : module.graph(id).nodes()) {
      if (node.op() == Op::kForeign) domains.insert(foreign_operator(node).first);
      if (node.op() == Op::kInverse) domains.insert(std::string(kMicrosoftDomain));
      if (node.op() == Op::kFlexAttention) domains.insert(std::string(kPreviewDomain));
    }
  }
  domains.erase("");
  for (const std::string& domain : domains) add_import(model, domain, 1);
}

void add_functions(const Decompositions& decompositions, int opset, onnx::ModelProto& model) {
  if (decompositions.functions().empty()) return;
  add_import(model, kSluiceDomain, 1);
  for (const onnx::FunctionProto& function : decompositions.functions()) {
    onnx::FunctionProto& added = *model.add_functions();
    added = function;
    added.set_domain(std::string(kSluiceDomain));
    onnx::OperatorSetIdProto& import = *added.add_opset_import();
    import.set_domain("");
    import.set_version(opset);
  }
}

}  // namespace

Result<void> write_runnable_onnx(Module& module, const RunnableOutput& output) {
  if (module.level != Level::kTyped) {
    return make_error(ErrorCode::kWrongLevel, "--with-weights needs level 'typed', got '{}'",
                      level_name(module.level))
        .with_hint("sluice compile --stop-after=optimize writes such a graph");
  }
  make_plain(module);
  SLUICE_TRY(check_has_onnx_forms(module));
  SLUICE_ASSIGN(const Tables tables, take_tables(module));
  const OnnxVersions versions = needed_versions(module, true);
  onnx::ModelProto model;
  model.set_ir_version(versions.ir);
  model.set_producer_name("sluice");
  model.set_producer_version(kRelease);
  import_operators(module, tables, versions.opset, model);
  GraphsWriter writer(module, versions.opset, &tables);
  onnx::GraphProto graph;
  writer.write_model_graph(module.root(), graph);
  add_functions(writer.decompositions(), versions.opset, model);
  return write_model_file(module, {model, graph, writer.constants()}, output);
}

}  // namespace sluice
