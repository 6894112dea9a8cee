#include "common/text/names.h"
#include "common/text/text.h"
#include "common/tools/show.h"

namespace sluice {
namespace {

class DotPrinter {
 public:
  explicit DotPrinter(const Module& module)
      : module_(module), graph_names_(text::graph_names(module)) {}

  std::string file() {
    out_ =
        "digraph sluice {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  edge "
        "[fontname=\"sans-serif\", fontsize=8];\n";
    for (GraphId id = 0; id < module_.graph_limit(); ++id) {
      if (module_.has_graph(id)) graph(module_.graph(id));
    }
    return out_ + "}\n";
  }

 private:
  static std::string value_id(const Value& value) {
    return fmt::format("g{}v{}", value.graph().id(), value.id());
  }
  static std::string node_id(const Node& node) {
    return fmt::format("g{}n{}", node.graph().id(), node.id());
  }
  // Returns the start of an edge for the value.
  static std::string source(const Value& value) {
    return value.producer() != nullptr ? node_id(*value.producer()) : value_id(value);
  }

  void graph(const Graph& graph) {
    const std::vector<std::string> names = text::value_names(graph);
    const auto name_of = [&](const Value& value) { return names[static_cast<size_t>(value.id())]; };
    out_ += fmt::format("  subgraph cluster_{} {{\n    label={};\n", graph.id(),
                        text::quoted_text(graph_names_[static_cast<size_t>(graph.id())]));
    for (const Value& value : graph.values()) {
      const bool is_shown =
          !value.is_erased() && (value.is_input() || text::is_shown_constant(value));
      if (!is_shown) continue;
      out_ += fmt::format(
          "    {} [label={}, shape={}];\n", value_id(value),
          text::quoted_text(name_of(value) + " " + print_type(module_, value.type_id())),
          value.is_input() ? "ellipse" : "note");
    }
    for (const Node& node : graph.nodes()) {
      std::string label(op_name(node.op()));
      if (node.placement.engine != EngineId::kNone)
        label += fmt::format(" [{}]", engine_name(node.placement.engine));
      if (!node.name().empty()) label += "\n" + node.name();
      out_ += fmt::format("    {} [label={}];\n", node_id(node), text::quoted_text(label));
    }
    for (const Node& node : graph.nodes()) {
      for (size_t i = 0; i < node.input_count(); ++i) {
        const Value* input = node.input(i);
        if (input == nullptr) continue;
        out_ += fmt::format("    {} -> {}", source(*input), node_id(node));
        if (input->producer() != nullptr) {
          out_ += fmt::format(
              " [label={}]",
              text::quoted_text(name_of(*input) + " " + print_type(module_, input->type_id())));
        }
        out_ += ";\n";
      }
      for (const Node* before : node.after())
        out_ += fmt::format("    {} -> {} [style=dashed];\n", node_id(*before), node_id(node));
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Value& output = *graph.outputs()[i];
      out_ += fmt::format("    g{}o{} [label={}, shape=ellipse];\n    {} -> g{}o{};\n", graph.id(),
                          i, text::quoted_text(name_of(output)), source(output), graph.id(), i);
    }
    out_ += "  }\n";
    for (const Node& node : graph.nodes()) {
      for (const GraphId body : node.bodies()) {
        const Graph& inner = module_.graph(body);
        if (inner.first_node() == nullptr) continue;
        out_ += fmt::format("  {} -> {} [style=dotted, lhead=cluster_{}];\n", node_id(node),
                            node_id(*inner.first_node()), body);
      }
    }
  }

  const Module& module_;
  std::vector<std::string> graph_names_;
  std::string out_;
};

}  // namespace

std::string graph_dot(const Module& module) { return DotPrinter(module).file(); }

}  // namespace sluice
