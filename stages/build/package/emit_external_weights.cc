#include "stages/build/package/emit_external_weights.h"

#include <map>

#include "stages/build/package/emit_model.h"

namespace sluice {
namespace {

using Names = std::map<SegmentId, std::string>;

// Adds the names of a graph's constants, each by its first value; one without a name has that of a
// node that reads it.
void add_names(const Graph& graph, Names& names) {
  for (const Value& value : graph.values()) {
    if (value.is_erased() || !value.is_constant()) continue;
    const bool is_read = !value.uses().empty();
    const std::string name =
        !value.name().empty() || !is_read ? value.name() : shown_name(*value.uses().begin()->node);
    if (!name.empty()) names.try_emplace(value.segment(), name);
  }
  for (const Node& node : graph.nodes()) {
    for (const Attribute& attribute : node.attributes()) {
      if (const auto* ref = std::get_if<SegmentRef>(&attribute.value))
        names.try_emplace(ref->id, shown_name(node));
    }
  }
}

}  // namespace

Result<void> emit_external_weights(const Module& module, const WeightLayout& layout,
                                   ExternalWeight external, pb::ModelDef& model) {
  if (layout.outside.empty()) return {};
  if (external == ExternalWeight::kShared && layout.outside.size() > kMaxWeightFiles) {
    return make_error(ErrorCode::kLimit,
                      "the model has {} constants of {} bytes and more, a process can map {} files",
                      layout.outside.size(), kMinExternalBytes, kMaxWeightFiles)
        .with_hint("--external-weight=2 puts them into one file");
  }
  Names names;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (module.has_graph(id)) add_names(module.graph(id), names);
  }
  for (const SegmentId segment : layout.outside) {
    pb::ExternalWeightDef& weight = *model.add_external_weights();
    weight.set_digest(std::string(sizeof(Digest), '\0'));
    weight.set_bytes(module.segment(segment).size);
    weight.set_name(names[segment]);
  }
  model.set_combined_weights(external == ExternalWeight::kCombined);
  return {};
}

}  // namespace sluice
