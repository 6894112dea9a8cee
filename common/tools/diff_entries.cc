#include "common/tools/diff_entries.h"

#include "common/text/names.h"
#include "common/text/text.h"

namespace sluice {
namespace {

const std::string& name_of(const Value& value, const std::vector<std::string>& names) {
  return names[static_cast<size_t>(value.id())];
}

}  // namespace

DiffSide::DiffSide(const Module& module, bool ignores_constants)
    : module_(module), ignores_constants_(ignores_constants), printer_(module) {
  const std::vector<std::string> names = text::graph_names(module);
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (module.has_graph(id)) graphs_.emplace(names[static_cast<size_t>(id)], id);
  }
}

std::vector<std::string> DiffSide::names_of(const Graph& graph) const {
  return ignores_constants_ ? text::value_names_without_constants(graph) : text::value_names(graph);
}

std::string DiffSide::attribute(const AttributeValue& value) const {
  const auto* constant = ignores_constants_ ? std::get_if<SegmentRef>(&value) : nullptr;
  return constant == nullptr ? printer_.attribute(value)
                             : print_type(module_, module_.segment(constant->id).type);
}

std::vector<DiffEntry> DiffSide::entries(GraphId id) const {
  const Graph& graph = module_.graph(id);
  const std::vector<std::string> names = names_of(graph);
  std::vector<DiffEntry> result{graph_entry(graph, names)};
  for (const Value& value : graph.values()) {
    if (!ignores_constants_ && text::is_shown_constant(value))
      result.push_back(constant_entry(value, names));
  }
  size_t position = 0;
  for (const Node& node : graph.nodes()) result.push_back(node_entry(node, names, position++));
  return result;
}

void DiffSide::add_value(DiffEntry& entry, const std::string& what, const Value& value) const {
  entry.facts.emplace_back("type of " + what, print_type(module_, value.type_id()));
  if (value.storage() != nullptr)
    entry.facts.emplace_back("storage of " + what, text::print_storage(module_, *value.storage()));
  if (value.place().buffer >= 0)
    entry.facts.emplace_back("place of " + what, text::print_place(value));
  if (value.is_constant() && !ignores_constants_)
    entry.facts.emplace_back("content of " + what, printer_.constant(value.segment()));
}

DiffEntry DiffSide::graph_entry(const Graph& graph, const std::vector<std::string>& names) const {
  DiffEntry entry;
  entry.facts = {{"role", std::string(kGraphRoleNames[static_cast<size_t>(graph.role)])},
                 {"engine", std::string(engine_name(graph.engine))},
                 {"shapes", std::string(shape_class_name(graph.shapes))},
                 {"captures", fmt::format("{}", graph.captures)},
                 {"bytes of the arena", fmt::format("{}", graph.arena_bytes)},
                 {"bytes of scratch", fmt::format("{}", graph.scratch_bytes)}};
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string what = fmt::format("input {}", i);
    entry.facts.emplace_back(what, name_of(*graph.inputs()[i], names));
    add_value(entry, what, *graph.inputs()[i]);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    entry.facts.emplace_back(fmt::format("output {}", i), name_of(*graph.outputs()[i], names));
  }
  return entry;
}

DiffEntry DiffSide::constant_entry(const Value& value,
                                   const std::vector<std::string>& names) const {
  DiffEntry entry;
  entry.name = name_of(value, names);
  entry.text = fmt::format("{} = constant {}", entry.name, print_type(module_, value.type_id()));
  entry.facts.emplace_back("op", "constant");
  add_value(entry, "it", value);
  return entry;
}

DiffEntry DiffSide::node_entry(const Node& node, const std::vector<std::string>& names,
                               size_t position) const {
  DiffEntry entry;
  entry.name =
      node.output_count() > 0 ? name_of(node.output(), names) : text::spelled_number('#', position);
  entry.facts.emplace_back("op", std::string(op_name(node.op())));
  std::string operands;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const std::string operand = node.input(i) == nullptr ? "_" : name_of(*node.input(i), names);
    operands += (i > 0 ? ", " : "") + operand;
    entry.facts.emplace_back(fmt::format("input {}", i), operand);
    if (ignores_constants_ && node.input(i) != nullptr && text::is_shown_constant(*node.input(i)))
      add_value(entry, fmt::format("input {}", i), *node.input(i));
  }
  entry.text = fmt::format("{} = {}({})", entry.name, op_name(node.op()), operands);
  for (const Attribute& each : node.attributes()) {
    entry.facts.emplace_back(fmt::format("attribute '{}'", each.name), attribute(each.value));
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    entry.facts.emplace_back(fmt::format("output {}", i), name_of(node.output(i), names));
    add_value(entry, fmt::format("output {}", i), node.output(i));
  }
  for (const Node* before : node.after()) {
    if (before->is_erased()) continue;
    entry.facts.emplace_back(
        "after " +
            (before->output_count() > 0 ? name_of(before->output(), names) : before->label()),
        "yes");
  }
  add_placement(entry, node.placement);
  add_schedule(entry, node);
  return entry;
}

void DiffSide::add_schedule(DiffEntry& entry, const Node& node) const {
  const Placement& placement = node.placement;
  if (placement.stream >= 0) {
    entry.facts.emplace_back(
        "stream", text::stream_name(node.graph(), static_cast<uint32_t>(placement.stream)));
  }
  for (const EventWait& wait : placement.waits)
    entry.facts.emplace_back("waits for " + wait_text(wait), "yes");
  for (const uint32_t event : placement.records)
    entry.facts.emplace_back(fmt::format("records {}", event), "yes");
  if (placement.complete_after >= 0)
    entry.facts.emplace_back("complete after task", fmt::format("{}", placement.complete_after));
}

void DiffSide::add_placement(DiffEntry& entry, const Placement& placement) const {
  if (placement.engine != EngineId::kNone)
    entry.facts.emplace_back("engine", std::string(engine_name(placement.engine)));
  if (placement.kernel >= 0) {
    const Kernel& kernel = module_.kernel(placement.kernel);
    const std::string object = digest_hex(module_.segment(kernel.object).digest).substr(0, 16);
    entry.facts.emplace_back("kernel", fmt::format("{} isa {} blocks {} object {}", kernel.entry,
                                                   kernel.isa, kernel.blocks, object));
  }
  if (!placement.layouts.empty()) entry.facts.emplace_back("layouts", placement.layouts);
  if (!placement.memory_class.empty())
    entry.facts.emplace_back("memory_class", placement.memory_class);
  if (!placement.stream_label.empty())
    entry.facts.emplace_back(placement.stream_label.is_chosen ? "chosen_stream" : "stream_label",
                             placement.stream_label.text);
  if (placement.stage_level >= 0)
    entry.facts.emplace_back("stage_level", fmt::format("{}", placement.stage_level));
  if (placement.parallel_group >= 0)
    entry.facts.emplace_back("parallel_group", fmt::format("{}", placement.parallel_group));
  if (!placement.super_kernel_scope.empty())
    entry.facts.emplace_back("super_kernel_scope", placement.super_kernel_scope);
  if (placement.precision != Precision::kNone)
    entry.facts.emplace_back("precision", std::string(precision_name(placement.precision)));
  const std::pair<const char*, bool> flags[] = {
      {"_no_task", placement.no_task}, {"keep", placement.keep}, {"no_fold", placement.no_fold}};
  for (const auto& [name, is_set] : flags) {
    if (is_set) entry.facts.emplace_back(name, "yes");
  }
}

}  // namespace sluice
