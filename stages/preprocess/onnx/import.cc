#include "stages/preprocess/onnx/import.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/log.h"
#include "common/ir/states.h"
#include "common/rules/rule_rows.h"
#include "stages/preprocess/onnx/graph_import.h"
#include "stages/preprocess/onnx/missing_imports.h"
#include "stages/preprocess/onnx/needed_nodes.h"
#include "stages/preprocess/onnx/operators.h"
#include "stages/preprocess/onnx/types.h"

namespace sluice {
namespace {

constexpr int64_t kNewestIr = 13;
constexpr int64_t kNewestMlOpset = 5;

// Of several imports of a domain the last counts.
Result<void> check_imports(const onnx::ModelProto& proto, Warnings& warnings) {
  std::map<std::string, int64_t> versions;
  for (const auto& import : proto.opset_import()) {
    const std::string domain = import.domain().empty() ? "ai.onnx" : import.domain();
    if (domain == "ai.onnx.ml" && import.version() > kNewestMlOpset) {
      return make_error(ErrorCode::kUnsupportedOp,
                        "the model uses opset {} of ai.onnx.ml, this release knows opsets up to {}",
                        import.version(), kNewestMlOpset);
    }
    const auto [known, inserted] = versions.try_emplace(domain, import.version());
    if (inserted || known->second == import.version()) continue;
    warnings.add(
        Leniency::kImportedTwice,
        fmt::format("the model imports opsets {} and {} of domain '{}': the last one counts",
                    known->second, import.version(), domain));
    known->second = import.version();
  }
  return {};
}

Result<void> check_versions(const onnx::ModelProto& proto, Warnings& warnings) {
  if (proto.ir_version() > kNewestIr) {
    return make_error(ErrorCode::kUnsupportedOp,
                      "the model is of ONNX IR version {}, this release knows versions up to {}",
                      proto.ir_version(), kNewestIr);
  }
  SLUICE_TRY(check_imports(proto, warnings));
  const int64_t opset = model_opset(proto);
  if (opset > kNewestOpset || (opset >= 0 && opset < kOldestOpset)) {
    return make_error(ErrorCode::kUnsupportedOp,
                      "the model uses opset {}, this release knows opsets {} to {}", opset,
                      kOldestOpset, kNewestOpset);
  }
  for (const auto& entry : proto.metadata_props()) {
    if (entry.key().starts_with("sluice."))
      return make_error(ErrorCode::kBadModel, "the model's metadata '{}' is not known",
                        entry.key());
  }
  return {};
}

// Nodes of other domains, nodes of functions that declare it themselves, and constants are read
// without the opset.
bool needs_opset(const onnx::GraphProto& graph, const NodeOpsets& opsets) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (find_expansion(node) == nullptr && !is_constant_node(node) && !opsets.contains(&node))
      return true;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g() && needs_opset(attribute.g(), opsets)) return true;
      for (const onnx::GraphProto& body : attribute.graphs()) {
        if (needs_opset(body, opsets)) return true;
      }
    }
  }
  return false;
}

std::set<std::string_view> initializers_of(const onnx::GraphProto& graph) {
  std::set<std::string_view> names;
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  return names;
}

Result<void> add_inputs(const onnx::GraphProto& proto, const Options& options, Graph& graph,
                        GraphImport& import) {
  const std::set<std::string_view> initializers = initializers_of(proto);
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const auto& input : proto.input()) {
    if (!initializers.contains(input.name())) inputs.push_back(&input);
  }
  SLUICE_ASSIGN(ShapeOptions shapes, parse_shape_options(options));
  SLUICE_ASSIGN(ModelInputs typed, ModelInputs::make(graph.module(), std::move(shapes), inputs));
  size_t next = 0;
  for (const auto& input : proto.input()) {
    const bool is_initialized = initializers.contains(input.name());
    if (is_initialized && options.flag("overridable-inputs"))
      import.declare_overridable(input.name(), graph.add_input(0, input.name()));
    if (is_initialized) continue;
    SLUICE_ASSIGN(const TypeId type, typed.type(next++));
    SLUICE_TRY(import.define(input.name(), graph.add_input(type, input.name())));
  }
  return {};
}

// Returns whether the input has rank 1, which only the declaration of a Loop's body states for its
// counter and its condition.
bool is_declared_counter(const Value& input) {
  const Graph& body = input.graph();
  if (body.owner() == nullptr || body.owner()->op() != Op::kLoop) return false;
  const bool is_counter =
      &input == body.inputs()[0] || (body.inputs().size() > 1 && &input == body.inputs()[1]);
  return is_counter && input.type().is_tensor() && input.type().ranked && input.type().rank() == 1;
}

// Forgets types that were inferred during the import, since that was without folding: the passes
// start afresh.
void forget_types(Module& module) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (Value& value : module.graph(id).values()) {
      const bool is_inferred = value.producer() != nullptr ||
                               (value.is_input() && id > 0 && !is_declared_counter(value));
      if (is_inferred) value.set_type(TypeId{0});
    }
  }
}

// Remembers the types that the model declares for its outputs, with the dims that are numbers; not
// where the user gives other sizes than the model.
void keep_declared_types(const onnx::GraphProto& proto, const Options& options, Module& module) {
  if (!options.text("input-shape").empty()) return;
  for (const onnx::ValueInfoProto& output : proto.output()) {
    const auto type = declared_type(module, output.type(), output.name());
    if (type && *type != 0) module.declared_outputs.emplace(output.name(), *type);
  }
}

// States begin empty: a size that only states have may be 0, also where it was bounded from 1.
Result<void> declare_states(Graph& graph, const Options& options) {
  SLUICE_ASSIGN(const std::vector<State> states, find_states(graph, options.text("state")));
  if (states.empty()) return {};
  std::set<uint32_t> kept;
  for (const State& state : states) kept.insert(state.input);
  ExpressionTable& expressions = graph.module().expressions;
  std::map<SymbolId, bool> symbols;  // whether only states have it
  uint32_t index = 0;
  for (const Value* input : graph.inputs()) {
    if (input->is_constant()) continue;
    const bool is_state = kept.contains(index++);
    for (const Dim& dim : input->type().dims) {
      if (!dim.is_expression() ||
          expressions[static_cast<ExpressionId>(dim.value)].op != ExpressionOp::kSymbol)
        continue;
      const auto symbol =
          static_cast<SymbolId>(expressions[static_cast<ExpressionId>(dim.value)].value);
      symbols[symbol] = symbols.try_emplace(symbol, true).first->second && is_state;
    }
  }
  for (const auto& [id, only_states] : symbols) {
    Symbol& symbol = expressions.symbol(id);
    if (!only_states) continue;
    symbol.origin = SymbolOrigin::kInputDim;
    if (symbol.low == 1) symbol.low = 0;
  }
  return {};
}

// A pass that runs before types are inferred may replace any operator; infer-types says what is
// left.
bool has_early_pass(const Options& options) {
  return std::ranges::any_of(options.list("pass", ';'), [](const std::string& pass) {
    return pass.starts_with("before-infer-shape=");
  });
}

Result<void> import_graphs(ModelFile& file, const Options& options, Module& module) {
  SLUICE_TRY(check_versions(file.proto, module.warnings));
  warn_of_missing_imports(file.proto, module.warnings);
  SLUICE_ASSIGN(NodeOpsets opsets, inline_functions(file.proto));
  keep_needed_nodes(*file.proto.mutable_graph(), options.list("out-nodes", ';'));
  SLUICE_ASSIGN(const std::vector<std::string> foreign, rules::foreign_ops(options));
  if (!has_early_pass(options)) SLUICE_TRY(check_operators(file.proto.graph(), foreign));
  const int64_t opset = model_opset(file.proto);
  if (opset < 0 && needs_opset(file.proto.graph(), opsets)) {
    return make_error(ErrorCode::kBadModel, "the model does not say which opset it uses");
  }
  SLUICE_ASSIGN(AnnotationRules rules, AnnotationRules::read(options.text("annotate")));
  SLUICE_ASSIGN(const int64_t threads, options.threads());
  Constants constants(file, module, options);
  SLUICE_TRY(constants.hash_payloads(threads));
  module.made_from = {constants.model_digest()};
  Graph& graph = module.add_graph("main");
  const bool needs_ranks = opset < kRanksNotNeeded || has_expansions(file.proto.graph()) ||
                           std::any_of(
                               opsets.begin(), opsets.end(),
                               [](const auto& entry) { return entry.second < kRanksNotNeeded; });
  ModelImport model{.module = module,
                    .constants = constants,
                    .rules = rules,
                    .opsets = std::move(opsets),
                    .opset = opset,
                    .needs_ranks = needs_ranks,
                    .states = options.text("state")};
  GraphImport import(model, graph, nullptr);
  SLUICE_TRY(add_inputs(file.proto.graph(), options, graph, import));
  SLUICE_TRY(import.run(file.proto.graph()));
  SLUICE_TRY(declare_states(graph, options));
  keep_declared_types(file.proto.graph(), options, module);
  for (const std::string& line : rules.unmatched())
    log_warning("sluice-preprocess", fmt::format("{}: {}", options.text("annotate"), line));
  if (!rules.digest().is_zero()) module.made_from.push_back(rules.digest());
  if (needs_ranks) forget_types(module);
  return {};
}

}  // namespace

Result<Module> import_model(ModelFile file, const Options& options) {
  Module module;
  auto imported = import_graphs(file, options, module);
  if (!imported) {
    Error error = std::move(imported).error();
    if (error.file.empty()) error.file = file.name;
    return error;
  }
  module.source = file.name;
  module.producer = file.proto.producer_name();
  if (!file.proto.producer_version().empty())
    module.producer += " " + file.proto.producer_version();
  return module;
}

}  // namespace sluice
