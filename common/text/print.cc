#include <fmt/ranges.h>

#include <algorithm>

#include "common/base/release.h"
#include "common/text/concat_names.h"
#include "common/text/names.h"
#include "common/text/printer.h"
#include "common/text/text.h"

namespace sluice {
namespace text {
namespace {

constexpr size_t kLineLength = 140;  // longer lists of inputs are printed one per line
constexpr std::string_view kOrigins[] = {"dim", "value", "result", "open"};

std::string joined(const std::vector<std::string>& items, std::string_view between) {
  std::string result;
  for (const std::string& item : items) {
    if (!result.empty()) result += between;
    result += item;
  }
  return result;
}

bool is_concat_without_task(const Node& node) {
  return node.op() == Op::kConcat && node.placement.no_task;
}

// Returns whether a Concat without a task has a result of the node as a piece.
bool writes_into_concat(const Node& node) {
  for (size_t i = 0; i < node.output_count(); ++i) {
    const auto uses = node.output(i).uses();
    if (std::any_of(uses.begin(), uses.end(),
                    [](const Use& use) { return is_concat_without_task(*use.node); }))
      return true;
  }
  return false;
}

bool refers_to_value(const Module& module, const Symbol& symbol) {
  return module.has_graph(symbol.graph) && symbol.value >= 0 &&
         static_cast<size_t>(symbol.value) < module.graph(symbol.graph).value_limit();
}

}  // namespace

std::string ModulePrinter::module(const PrintOptions& options) {
  for (GraphId id = 0; id < module_.graph_limit(); ++id) {
    if (module_.has_graph(id)) collect(module_.graph(id));
  }
  for (const Requirement& each : module_.requirements.rows()) {
    collect_expression(each.a);
    collect_expression(each.b);
  }
  header(options);
  symbols();
  requirements();
  kernels();
  numbered_constants();
  for (GraphId id = 0; id < module_.graph_limit(); ++id) {
    if (module_.has_graph(id)) graph(module_.graph(id));
  }
  return std::move(out_);
}

void ModulePrinter::header(const PrintOptions& options) {
  out_ += fmt::format("sluice {} {}", kTextVersion, level_name(module_.level));
  if (module_.last_stage != StageId::kNone)
    out_ += fmt::format(" after {}", stage_name(module_.last_stage));
  if (module_.is_mid_stage()) out_ += fmt::format(" stopped after {} of", module_.passes_done);
  for (const std::string& pass : module_.passes)
    out_ += (&pass == module_.passes.data() ? " " : ", ") + quoted_text(pass);
  out_ += "\n";
  if (!options.header) return;
  out_ += fmt::format("version {}\n", quoted_text(kRelease));
  if (!module_.producer.empty())
    out_ += fmt::format("producer {}\n", quoted_text(module_.producer));
  for (const auto& [name, value] : module_.options)
    out_ += fmt::format("option {} = {}\n", quoted_text(name), quoted_text(value));
  for (const Digest& digest : module_.made_from)
    out_ += fmt::format("made_from sha256:{}\n", digest_hex(digest));
}

void ModulePrinter::symbols() {
  std::vector<std::vector<std::string>> names(static_cast<size_t>(module_.graph_limit()));
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (!symbols_[i]) continue;
    const Symbol& symbol = module_.expressions.symbol(static_cast<SymbolId>(i));
    out_ += fmt::format("symbol {} = {}", spelled_word(symbol.name),
                        kOrigins[static_cast<size_t>(symbol.origin)]);
    if (refers_to_value(module_, symbol)) {
      std::vector<std::string>& values = names[static_cast<size_t>(symbol.graph)];
      if (values.empty()) values = value_names(module_.graph(symbol.graph));
      const std::string& value = values[static_cast<size_t>(symbol.value)];
      out_ += fmt::format("({}, {}, {})", graph_names_[static_cast<size_t>(symbol.graph)],
                          value.empty() ? "_" : value, symbol.axis);
    } else {
      out_ += fmt::format("(_, _, {})", symbol.axis);
    }
    if (symbol.low != 0 || symbol.high != INT64_MAX) {
      out_ += symbol.high == INT64_MAX ? fmt::format(" in [{}, *]", symbol.low)
                                       : fmt::format(" in [{}, {}]", symbol.low, symbol.high);
    }
    if (symbol.divisor != 1) out_ += fmt::format(" multiple {}", symbol.divisor);
    out_ += "\n";
  }
}

void ModulePrinter::requirements() {
  for (const Requirement& each : module_.requirements.rows()) {
    out_ += fmt::format("require {} == {} for {}\n", print_expression(module_.expressions, each.a),
                        print_expression(module_.expressions, each.b), quoted_text(each.words));
  }
}

void ModulePrinter::kernels() {
  UniqueNames unique;
  for (const KernelId id : kernels_) {
    const Kernel& kernel = module_.kernel(id);
    const std::string name = unique.add(kernel.entry);
    kernel_names_[static_cast<size_t>(id)] = spelled_word(name);
    out_ += fmt::format("kernel {} = {}", spelled_word(name), constant(kernel.object));
    if (name != kernel.entry) out_ += " entry " + quoted_text(kernel.entry);
    out_ += fmt::format(" isa {} blocks {} scratch {} multiply_adds {}", quoted_text(kernel.isa),
                        kernel.blocks, kernel.scratch_bytes, kernel.multiply_adds);
    if (kernel.cycles > 0) out_ += fmt::format(" cycles {}", kernel.cycles);
    if (kernel.symbolic) {
      out_ += fmt::format(" symbolic [{}] per_block {} nominal {}",
                          fmt::join(kernel.multiply_add_symbols, ", "),
                          kernel.multiply_adds_per_block, kernel.nominal_multiply_adds);
    }
    out_ += "\n";
  }
}

void ModulePrinter::numbered_constants() {
  for (size_t i = 0; i < numbered_.size(); ++i)
    out_ += fmt::format("constant ${} = {}\n", i, constant(numbered_[i]));
}

std::string ModulePrinter::definition(const Value& value, const std::string& name) const {
  std::string result = name;
  const bool implied = value.is_constant() &&
                       module_.segment(value.segment()).type == value.type_id() &&
                       value.storage_id() < 0;
  if (value.producer() == nullptr && implied && !value.is_input()) return result + place(value);
  if (value.type().kind != TypeKind::kUnknown || value.storage_id() >= 0)
    result += ": " + print_type(module_, value.type_id());
  if (const Storage* storage = value.storage())
    result += " storage " + print_storage(module_, *storage);
  return result + place(value);
}

// Prints an input; one that is bound to a constant shows the constant. For a parameter of the same
// type, its number is enough.
std::string ModulePrinter::input(const Value& value, const std::string& name) const {
  std::string result = definition(value, name);
  if (!value.is_constant()) return result;
  const Segment& segment = module_.segment(value.segment());
  if (segment.kind == SegmentKind::kParameter && segment.type == value.type_id())
    return result + fmt::format(" parameter {}", segment.parameter);
  return result + " = constant " + constant(value.segment());
}

void ModulePrinter::graph(const Graph& graph) {
  const std::vector<std::string> names = value_names(graph);
  const auto name_of = [&](const Value& value) -> const std::string& {
    return names[static_cast<size_t>(value.id())];
  };
  std::vector<std::string> inputs, outputs;
  for (const Value* value : graph.inputs()) inputs.push_back(input(*value, name_of(*value)));
  for (const Value* value : graph.outputs()) outputs.push_back(name_of(*value));
  const std::string one_line = joined(inputs, ", ");
  out_ += "graph " + graph_names_[static_cast<size_t>(graph.id())];
  out_ += one_line.size() <= kLineLength ? "(" + one_line + ")"
                                         : "(\n    " + joined(inputs, ",\n    ") + ")";
  out_ += " -> (" + joined(outputs, ", ") + ")";
  if (graph.role != GraphRole::kRoot)
    out_ += fmt::format(" {}", kGraphRoleNames[static_cast<size_t>(graph.role)]);
  if (graph.captures > 0) out_ += fmt::format(" captures {}", graph.captures);
  if (graph.engine != EngineId::kNone) out_ += " engine " + spelled_word(engine_name(graph.engine));
  if (graph.shapes != ShapeClass::kFixed)
    out_ += fmt::format(" shapes {}", shape_class_name(graph.shapes));
  out_ += " {\n";
  schedule(graph);
  for (const Value& value : graph.values()) {
    if (is_shown_constant(value))
      out_ += fmt::format("  {} = constant {}\n", definition(value, name_of(value)),
                          constant(value.segment()));
  }
  std::vector<size_t> positions(graph.node_limit(), 0);
  size_t position = 0;
  for (const Node& each : graph.nodes()) {
    positions[static_cast<size_t>(each.id())] = position++;
    node(each, names, positions);
  }
  out_ += "}\n";
}

void ModulePrinter::node(const Node& node, const std::vector<std::string>& names,
                         const std::vector<size_t>& positions) {
  const auto name_of = [&](const Value& value) -> const std::string& {
    return names[static_cast<size_t>(value.id())];
  };
  std::vector<std::string> results, operands, attributes, after, origins;
  for (size_t i = 0; i < node.output_count(); ++i)
    results.push_back(definition(node.output(i), name_of(node.output(i))));
  for (size_t i = 0; i < node.input_count(); ++i)
    operands.push_back(node.input(i) == nullptr ? "_" : name_of(*node.input(i)));
  for (const Attribute& each : node.attributes())
    attributes.push_back(spelled_word(each.name) + " = " + attribute(each.value));
  for (const Node* before : node.after()) {
    if (before->is_erased()) continue;
    after.push_back(before->output_count() > 0
                        ? name_of(before->output())
                        : spelled_number('#', positions[static_cast<size_t>(before->id())]));
  }
  for (const uint32_t origin : node.origins())
    origins.push_back(quoted_text(module_.onnx_node(origin)));
  out_ += "  ";
  out_ += results.empty() ? spelled_number('#', positions[static_cast<size_t>(node.id())]) + ": "
                          : joined(results, ", ") + " = ";
  out_ += fmt::format("{}({})", op_name(node.op()), joined(operands, ", "));
  if (!attributes.empty()) out_ += " {" + joined(attributes, ", ") + "}";
  if (!after.empty()) out_ += " after " + joined(after, ", ");
  if (!(node.placement == Placement{})) out_ += " placement {" + placement(node) + "}";
  if (!node.name().empty()) out_ += " name " + quoted_text(node.name());
  if (!origins.empty()) out_ += " from " + joined(origins, ", ");
  out_ += "\n";
}

std::string ModulePrinter::placement(const Node& node) const {
  const Placement& placement = node.placement;
  std::vector<std::string> fields;
  if (placement.engine != EngineId::kNone)
    fields.push_back("engine = " + spelled_word(engine_name(placement.engine)));
  if (placement.kernel >= 0)
    fields.push_back("kernel = " + kernel_names_[static_cast<size_t>(placement.kernel)]);
  if (!placement.layouts.empty()) fields.push_back("layouts = " + quoted_text(placement.layouts));
  if (!placement.stream_label.empty())
    fields.push_back((placement.stream_label.is_chosen ? "chosen_stream = " : "stream_label = ") +
                     quoted_text(placement.stream_label.text));
  if (placement.stage_level >= 0)
    fields.push_back(fmt::format("stage_level = {}", placement.stage_level));
  if (placement.parallel_group >= 0)
    fields.push_back(fmt::format("parallel_group = {}", placement.parallel_group));
  if (!placement.super_kernel_scope.empty())
    fields.push_back("super_kernel_scope = " + quoted_text(placement.super_kernel_scope));
  if (!placement.memory_class.empty())
    fields.push_back("memory_class = " + quoted_text(placement.memory_class));
  if (placement.precision != Precision::kNone)
    fields.push_back(fmt::format("precision = {}", precision_name(placement.precision)));
  if (placement.stream >= 0)
    fields.push_back("stream = " +
                     stream_name(node.graph(), static_cast<uint32_t>(placement.stream)));
  std::vector<std::string> waits;
  for (const EventWait& wait : placement.waits) waits.push_back(wait_text(wait));
  if (!waits.empty()) fields.push_back("waits = [" + joined(waits, ", ") + "]");
  if (!placement.records.empty())
    fields.push_back(fmt::format("records = [{}]", fmt::join(placement.records, ", ")));
  if (placement.complete_after >= 0)
    fields.push_back(fmt::format("complete_after = {}", placement.complete_after));
  if (placement.no_task) fields.push_back("_no_task");
  if (is_concat_without_task(node)) {
    for (const std::string_view name : kConcatFlags) fields.emplace_back(name);
    fields.push_back(fmt::format("{} = 0", kConcatAxis));
  }
  if (writes_into_concat(node)) fields.push_back(fmt::format("{} = false", kConcatProducer));
  if (placement.keep) fields.push_back("keep");
  if (placement.no_fold) fields.push_back("no_fold");
  return joined(fields, ", ");
}

}  // namespace text

std::string print_module(const Module& module, const PrintOptions& options) {
  return text::ModulePrinter(module).module(options);
}

}  // namespace sluice
