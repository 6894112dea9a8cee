#include "common/tools/show_onnx/show_onnx.h"

#include <climits>

#include "common/base/release.h"
#include "common/tools/show_onnx/graphs.h"
#include "common/tools/show_onnx/versions.h"

namespace sluice {
namespace {

template <typename Imports>
void add_imports(Imports& imports, int opset) {
  const auto add = [&](std::string_view domain, int version) {
    auto& import = *imports.Add();
    import.set_domain(std::string(domain));
    import.set_version(version);
  };
  add("", opset);
  add(kSluiceDomain, 1);
  add(kFunctionDomain, 1);
  add(kPreviewDomain, 1);
}

void add_facts(const Module& module, onnx::ModelProto& model) {
  auto& entries = *model.mutable_metadata_props();
  add_entry(entries, "level", level_name(module.level));
  add_entry(entries, "last_stage", stage_name(module.last_stage));
  add_entry(entries, "producer", module.producer);
  for (const auto& [name, value] : module.options) add_entry(entries, "option." + name, value);
}

}  // namespace

Result<std::string> graph_onnx(const Module& module) {
  const OnnxVersions versions = needed_versions(module, false);
  onnx::ModelProto model;
  model.set_ir_version(versions.ir);
  model.set_producer_name("sluice");
  model.set_producer_version(kRelease);
  add_imports(*model.mutable_opset_import(), versions.opset);
  GraphsWriter writer(module, versions.opset);
  if (module.has_graph(0)) writer.write_model_graph(module.root(), *model.mutable_graph());
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id) || !GraphsWriter::is_function(module.graph(id))) continue;
    onnx::FunctionProto& function = *model.add_functions();
    writer.write_function(module.graph(id), function);
    add_imports(*function.mutable_opset_import(), versions.opset);
  }
  add_facts(module, model);
  if (model.ByteSizeLong() > INT_MAX) {
    return make_error(ErrorCode::kLimit, "the graph is larger than 2 GiB as an ONNX model");
  }
  return model.SerializeAsString();
}

}  // namespace sluice
