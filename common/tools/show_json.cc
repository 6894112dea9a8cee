#include "common/base/json.h"
#include "common/text/names.h"
#include "common/text/printer.h"
#include "common/text/text.h"
#include "common/tools/show.h"

namespace sluice {
namespace {

// Prints JSON with the names and the spelling of the text form.
class JsonPrinter {
 public:
  explicit JsonPrinter(const Module& module)
      : module_(module), graph_names_(text::graph_names(module)), printer_(module) {}

  Json file() {
    Json json;
    json.set("level", level_name(module_.level));
    json.set("last_stage", stage_name(module_.last_stage));
    Json options{Json::Object{}};
    for (const auto& [name, value] : module_.options) options.set(name, value);
    json.set("options", std::move(options));
    if (module_.is_mid_stage()) {
      json.set("passes", Json::Array(module_.passes.begin(), module_.passes.end()));
      json.set("passes_done", uint64_t{module_.passes_done});
    }
    Json graphs{Json::Array{}};
    for (GraphId id = 0; id < module_.graph_limit(); ++id) {
      if (module_.has_graph(id)) graphs.push(graph(module_.graph(id)));
    }
    json.set("graphs", std::move(graphs));
    return json;
  }

 private:
  Json value(const Value& value, const std::vector<std::string>& names) const {
    Json json;
    json.set("name", names[static_cast<size_t>(value.id())]);
    json.set("type", print_type(module_, value.type_id()));
    if (value.storage() != nullptr)
      json.set("storage", text::print_storage(module_, *value.storage()));
    if (value.place().buffer >= 0) json.set("place", text::print_place(value));
    return json;
  }

  Json graph(const Graph& graph) {
    const std::vector<std::string> names = text::value_names(graph);
    Json json;
    json.set("name", graph_names_[static_cast<size_t>(graph.id())]);
    json.set("role", kGraphRoleNames[static_cast<size_t>(graph.role)]);
    if (graph.engine != EngineId::kNone) json.set("engine", engine_name(graph.engine));
    json.set("shapes", shape_class_name(graph.shapes));
    if (graph.arena_bytes > 0) json.set("arena_bytes", graph.arena_bytes);
    if (graph.scratch_bytes > 0) json.set("scratch_bytes", graph.scratch_bytes);
    Json inputs{Json::Array{}}, outputs{Json::Array{}}, constants{Json::Array{}},
        nodes{Json::Array{}};
    for (const Value* input : graph.inputs()) inputs.push(value(*input, names));
    for (const Value* output : graph.outputs())
      outputs.push(names[static_cast<size_t>(output->id())]);
    for (const Value& each : graph.values()) {
      if (!text::is_shown_constant(each)) continue;
      Json constant = value(each, names);
      const Segment& segment = module_.segment(each.segment());
      constant.set("bytes", segment.size);
      constant.set("digest", digest_hex(segment.digest));
      constants.push(std::move(constant));
    }
    for (const Node& each : graph.nodes()) nodes.push(node(each, names));
    json.set("inputs", std::move(inputs));
    json.set("outputs", std::move(outputs));
    json.set("constants", std::move(constants));
    json.set("nodes", std::move(nodes));
    return json;
  }

  static void add_schedule(const Node& node, Json& json) {
    const auto stream = static_cast<size_t>(node.placement.stream);
    if (stream < node.graph().streams.size()) json.set("stream", node.graph().streams[stream]);
    Json waits{Json::Array{}}, records{Json::Array{}};
    for (const EventWait& wait : node.placement.waits) {
      Json json_of_wait;
      json_of_wait.set("event", int64_t{wait.event});
      json_of_wait.set("record", int64_t{wait.record});
      waits.push(std::move(json_of_wait));
    }
    for (const uint32_t event : node.placement.records) records.push(int64_t{event});
    if (!node.placement.waits.empty()) json.set("waits", std::move(waits));
    if (!node.placement.records.empty()) json.set("records", std::move(records));
    if (node.placement.complete_after >= 0)
      json.set("complete_after", int64_t{node.placement.complete_after});
  }

  Json node(const Node& node, const std::vector<std::string>& names) {
    Json json, inputs{Json::Array{}}, outputs{Json::Array{}}, attributes{Json::Object{}},
        after{Json::Array{}}, origins{Json::Array{}};
    json.set("op", op_name(node.op()));
    if (!node.name().empty()) json.set("name", node.name());
    for (size_t i = 0; i < node.input_count(); ++i) {
      inputs.push(node.input(i) == nullptr ? Json()
                                           : Json(names[static_cast<size_t>(node.input(i)->id())]));
    }
    for (size_t i = 0; i < node.output_count(); ++i) outputs.push(value(node.output(i), names));
    for (const Attribute& each : node.attributes())
      attributes.set(each.name, printer_.attribute(each.value));
    for (const Node* before : node.after()) after.push(before->id());
    for (const uint32_t origin : node.origins()) origins.push(module_.onnx_node(origin));
    json.set("inputs", std::move(inputs));
    json.set("outputs", std::move(outputs));
    if (!node.attributes().empty()) json.set("attributes", std::move(attributes));
    if (!node.after().empty()) json.set("after", std::move(after));
    if (node.placement.engine != EngineId::kNone)
      json.set("engine", engine_name(node.placement.engine));
    if (node.placement.kernel >= 0) json.set("kernel", module_.kernel(node.placement.kernel).entry);
    if (!node.origins().empty()) json.set("from", std::move(origins));
    add_schedule(node, json);
    return json;
  }

  const Module& module_;
  std::vector<std::string> graph_names_;
  text::ModulePrinter printer_;
};

}  // namespace

std::string graph_json(const Module& module) {
  return json_dump(JsonPrinter(module).file(), 2) + "\n";
}

}  // namespace sluice
