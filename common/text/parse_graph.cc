#include <algorithm>

#include "common/ir/annotation.h"
#include "common/ir/engine_fault.h"
#include "common/text/concat_names.h"
#include "common/text/parser.h"

namespace sluice::text {
namespace {

constexpr std::string_view kShapes[] = {"fixed", "symbolic", "dynamic"};

}  // namespace

// Returns the graph of that name, which is parsed now if it has not been parsed yet.
Result<GraphId> ModuleParser::require_graph(const Token& name) {
  const auto found = scope_index_.find(key_of(name));
  if (found == scope_index_.end())
    return lexer_.error_at(name.offset, fmt::format("there is no graph @{}", name.text));
  Scope& scope = scopes_[found->second];
  if (scope.state == State::kOpen)
    return lexer_.error_at(name.offset, fmt::format("{} contains itself", scope.name));
  if (scope.state == State::kNew) {
    const size_t back = token().offset;
    SLUICE_TRY(lexer_.jump(scope.begin));
    SLUICE_TRY(parse_graph(scope));
    SLUICE_TRY(lexer_.jump(back));
  }
  return scope.id;
}

Result<GraphId> ModuleParser::take_body() {
  SLUICE_ASSIGN(const Token name, take(TokenKind::kGraph, "a graph"));
  SLUICE_ASSIGN(const GraphId id, require_graph(name));
  const Graph& graph = module_.graph(id);
  if (graph.role == GraphRole::kRoot || graph.role == GraphRole::kExpression) {
    return lexer_.error_at(
        name.offset, fmt::format("@{} is not marked body, fused, part or subgraph", name.text));
  }
  if (id == 0) return lexer_.error_at(name.offset, "the first graph is no body");
  if (graph.owner() != nullptr)
    return lexer_.error_at(name.offset, fmt::format("@{} is the body of another node", name.text));
  return id;
}

// Parses: graph @name(inputs) -> (outputs) facts { statements }.
Result<void> ModuleParser::parse_graph(Scope& scope) {
  if (++depth_ > kDepthLimit) return lexer_.error("graphs are nested too deep");
  scope.state = State::kOpen;
  Graph& graph = module_.graph(scope.id);
  SLUICE_TRY(advance());
  SLUICE_TRY(advance());
  SLUICE_TRY(parse_inputs(scope, graph));
  SLUICE_TRY(expect("->"));
  SLUICE_TRY(expect("("));
  std::vector<Token> outputs;
  while (!token().is(")")) {
    if (!outputs.empty()) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(Token output, take(TokenKind::kValue, "a value"));
    outputs.push_back(std::move(output));
  }
  SLUICE_TRY(advance());
  SLUICE_TRY(parse_graph_facts(graph));
  SLUICE_TRY(expect("{"));
  while (!token().is("}")) SLUICE_TRY(parse_statement(scope, graph));
  for (const Token& name : outputs) {
    SLUICE_ASSIGN(Value * output, find_value(scope, name));
    graph.add_output(*output);
  }
  SLUICE_TRY(check_places(scope, graph));
  SLUICE_TRY(advance());
  scope.end = token().offset;
  scope.state = State::kDone;
  --depth_;
  return {};
}

Result<void> ModuleParser::parse_inputs(Scope& scope, Graph& graph) {
  SLUICE_TRY(expect("("));
  for (bool first = true; !token().is(")"); first = false) {
    if (!first) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(const Definition definition, parse_definition());
    Value& value =
        graph.add_input(definition.type, definition.name.is_numbered ? "" : definition.name.text);
    place(definition, value);
    SLUICE_TRY(define(scope, definition.name, value));
    if (token().is("parameter")) {
      SLUICE_TRY(advance());
      SLUICE_ASSIGN(const int64_t index, take_int("the number of a parameter", 0, UINT32_MAX));
      value.set_segment(module_.make_parameter(definition.type, static_cast<uint32_t>(index)));
    } else if (token().is("=")) {
      SLUICE_TRY(advance());
      SLUICE_TRY(expect("constant"));
      SLUICE_ASSIGN(const SegmentId segment, parse_constant(&scope));
      value.set_segment(segment);
    }
  }
  return advance();
}

Result<void> ModuleParser::parse_graph_facts(Graph& graph) {
  for (size_t role = 0; role < std::size(kGraphRoleNames); ++role) {
    SLUICE_ASSIGN(const bool is_it, skip(kGraphRoleNames[role]));
    if (is_it) graph.role = static_cast<GraphRole>(role);
  }
  SLUICE_ASSIGN(const bool has_captures, skip("captures"));
  if (has_captures) {
    SLUICE_ASSIGN(const int64_t captures, take_int("the number of captures", 0,
                                                   static_cast<int64_t>(graph.inputs().size())));
    graph.captures = static_cast<uint32_t>(captures);
  }
  SLUICE_ASSIGN(const bool has_engine, skip("engine"));
  if (has_engine) {
    graph.engine = intern_engine(token().text);
    if (graph.engine == EngineId::kNone) {
      return lexer_.error(
          fmt::format("the engine is '{}', {}", token().text, engine_fault(token().text)));
    }
    SLUICE_TRY(advance());
  }
  SLUICE_ASSIGN(const bool has_shapes, skip("shapes"));
  if (!has_shapes) return {};
  for (size_t shapes = 0; shapes < std::size(kShapes); ++shapes) {
    SLUICE_ASSIGN(const bool is_it, skip(kShapes[shapes]));
    if (!is_it) continue;
    graph.shapes = static_cast<ShapeClass>(shapes);
    return {};
  }
  return unexpected("fixed, symbolic or dynamic");
}

// Parses: %name [: type] [storage …] [at …].
Result<ModuleParser::Definition> ModuleParser::parse_definition() {
  Definition definition;
  SLUICE_ASSIGN(definition.name, take(TokenKind::kValue, "a value"));
  SLUICE_ASSIGN(definition.has_type, skip(":"));
  if (definition.has_type) {
    SLUICE_ASSIGN(definition.type, parse_type());
  }
  SLUICE_ASSIGN(const bool has_storage, skip("storage"));
  if (has_storage) {
    SLUICE_ASSIGN(definition.storage, parse_storage());
  }
  SLUICE_ASSIGN(const bool has_place, skip("at"));
  if (has_place) {
    SLUICE_TRY(parse_place(definition));
  }
  return definition;
}

Result<void> ModuleParser::define(Scope& scope, const Token& name, Value& value) {
  if (scope.values.emplace(key_of(name), &value).second) return {};
  return lexer_.error_at(name.offset, fmt::format("%{} is defined twice", name.text));
}

Result<Value*> ModuleParser::find_value(const Scope& scope, const Token& name) const {
  const auto found = scope.values.find(key_of(name));
  if (name.kind != TokenKind::kValue || found == scope.values.end()) {
    return lexer_.error_at(name.offset,
                           fmt::format("%{} is not defined above in {}", name.text, scope.name));
  }
  return found->second;
}

Result<void> ModuleParser::parse_statement(Scope& scope, Graph& graph) {
  if (token().is("stream")) return parse_stream(graph);
  if (token().is("sync")) return parse_sync(graph);
  if (token().is("note")) return parse_note(graph);
  if (token().is("memory")) return parse_memory(graph);
  if (token().is("arena")) return parse_bytes(graph.arena_bytes);
  if (token().is("scratch")) return parse_bytes(graph.scratch_bytes);
  if (token().is("buffer")) return parse_buffer(graph);
  if (token().kind == TokenKind::kNode) {
    const Token number = token();
    SLUICE_TRY(advance());
    SLUICE_TRY(expect(":"));
    return parse_node(scope, graph, {}, &number);
  }
  std::vector<Definition> definitions;
  do {
    if (!definitions.empty()) SLUICE_TRY(advance());
    SLUICE_ASSIGN(Definition definition, parse_definition());
    definitions.push_back(std::move(definition));
  } while (token().is(","));
  SLUICE_TRY(expect("="));
  if (!token().is("constant")) return parse_node(scope, graph, definitions, nullptr);
  if (definitions.size() > 1) return unexpected("an op");
  SLUICE_TRY(advance());
  return parse_constant_value(scope, graph, definitions[0]);
}

Result<void> ModuleParser::parse_constant_value(Scope& scope, Graph& graph,
                                                const Definition& definition) {
  SLUICE_ASSIGN(const SegmentId segment, parse_constant(&scope));
  Value& value =
      graph.add_constant(segment, definition.name.is_numbered ? "" : definition.name.text);
  if (definition.has_type) value.set_type(definition.type);
  place(definition, value);
  return define(scope, definition.name, value);
}

// Parses: Op(operands) {attributes} after … placement {…} name "…" from ….
Result<void> ModuleParser::parse_node(Scope& scope, Graph& graph,
                                      const std::vector<Definition>& results, const Token* number) {
  const auto op = op_from_name(token().text);
  if (token().kind != TokenKind::kWord || !op) return unexpected("an op of this release");
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(const std::vector<Value*> operands, parse_operands(scope));
  Node& node = graph.add_node(*op, operands, 0);
  if (token().is("{")) SLUICE_TRY(parse_attributes(scope, node));
  if (token().is("after")) SLUICE_TRY(parse_after(scope, node));
  if (token().is("placement")) SLUICE_TRY(parse_placement(node));
  SLUICE_ASSIGN(const bool has_name, skip("name"));
  if (has_name) {
    SLUICE_ASSIGN(const Token name, take(TokenKind::kString, "the name of the node"));
    node.set_name(name.text);
  }
  if (token().is("from")) SLUICE_TRY(parse_origins(node));
  for (const Definition& definition : results) {
    Value& value =
        node.add_output(definition.type, definition.name.is_numbered ? "" : definition.name.text);
    place(definition, value);
    SLUICE_TRY(define(scope, definition.name, value));
  }
  if (number != nullptr && !scope.nodes.emplace(number->text, &node).second) {
    return lexer_.error_at(number->offset, fmt::format("#{} is defined twice", number->text));
  }
  return {};
}

Result<std::vector<Value*>> ModuleParser::parse_operands(const Scope& scope) {
  std::vector<Value*> operands;
  SLUICE_TRY(expect("("));
  while (!token().is(")")) {
    if (!operands.empty()) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(const bool is_absent, skip("_"));
    if (is_absent) {
      operands.push_back(nullptr);
      continue;
    }
    SLUICE_ASSIGN(const Token name, take(TokenKind::kValue, "a value"));
    SLUICE_ASSIGN(Value * value, find_value(scope, name));
    operands.push_back(value);
  }
  SLUICE_TRY(advance());
  return operands;
}

Result<void> ModuleParser::parse_attributes(const Scope& scope, Node& node) {
  SLUICE_TRY(advance());
  for (bool first = true; !token().is("}"); first = false) {
    if (!first) SLUICE_TRY(expect(","));
    const size_t offset = token().offset;
    SLUICE_ASSIGN(const std::string name, take_name("the name of an attribute"));
    if (node.find_attribute(name) != nullptr)
      return lexer_.error_at(offset, fmt::format("attribute '{}' stands twice", name));
    SLUICE_TRY(expect("="));
    SLUICE_ASSIGN(AttributeValue value, parse_attribute(scope));
    node.set_attribute(name, std::move(value));
  }
  return advance();
}

Result<void> ModuleParser::parse_after(const Scope& scope, Node& node) {
  do {
    SLUICE_TRY(advance());
    if (token().kind == TokenKind::kNode) {
      const auto found = scope.nodes.find(token().text);
      if (found == scope.nodes.end())
        return lexer_.error(fmt::format("#{} is not defined above", token().text));
      node.add_after(*found->second);
      SLUICE_TRY(advance());
      continue;
    }
    SLUICE_ASSIGN(const Token name, take(TokenKind::kValue, "a value or #number"));
    SLUICE_ASSIGN(const Value* value, find_value(scope, name));
    if (value->producer() == nullptr)
      return lexer_.error_at(name.offset, fmt::format("%{} is no node's result", name.text));
    node.add_after(*value->producer());
  } while (token().is(","));
  return {};
}

Result<void> ModuleParser::parse_placement(Node& node) {
  SLUICE_TRY(advance());
  SLUICE_TRY(expect("{"));
  for (bool first = true; !token().is("}"); first = false) {
    if (!first) SLUICE_TRY(expect(","));
    SLUICE_TRY(parse_placement_field(node));
  }
  return advance();
}

Result<void> ModuleParser::parse_placement_field(Node& node) {
  Placement& placement = node.placement;
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const std::string field, take_name("a field of the placement"));
  const std::pair<std::string_view, bool*> flags[] = {
      {"_no_task", &placement.no_task}, {"keep", &placement.keep}, {"no_fold", &placement.no_fold}};
  for (const auto& [name, flag] : flags) {
    if (field != name) continue;
    *flag = true;
    return {};
  }
  if (std::ranges::find(kConcatFlags, field) != std::end(kConcatFlags)) return {};
  SLUICE_TRY(expect("="));
  const std::pair<std::string_view, int32_t*> numbers[] = {
      {"stage_level", &placement.stage_level},
      {"parallel_group", &placement.parallel_group},
      {"complete_after", &placement.complete_after}};
  if (field == kConcatAxis) {
    SLUICE_TRY(take_int(field, 0, 0));
    return {};
  }
  if (field == kConcatProducer) return expect("false");
  for (const auto& [name, number] : numbers) {
    if (field != name) continue;
    SLUICE_ASSIGN(const int64_t given, take_int(field, 0, INT32_MAX));
    *number = static_cast<int32_t>(given);
    return {};
  }
  if (field == "stream") {
    SLUICE_ASSIGN(const uint32_t stream, take_stream(node.graph()));
    placement.stream = static_cast<int32_t>(stream);
    return {};
  }
  if (field == "waits") {
    SLUICE_ASSIGN(placement.waits, take_waits());
    return {};
  }
  if (field == "records") {
    SLUICE_ASSIGN(placement.records, take_events());
    return {};
  }
  const size_t value_offset = token().offset;
  SLUICE_ASSIGN(const std::string value, take_name("a name"));
  if (field == "kernel") {
    const auto found = kernels_.find(value);
    if (found == kernels_.end())
      return lexer_.error_at(value_offset, fmt::format("there is no kernel '{}' above", value));
    placement.kernel = found->second;
  } else if (field == "layouts") {
    placement.layouts = value;
  } else if (field == "chosen_stream") {
    placement.stream_label = {value, true};
  } else if (auto set = annotate(placement, field, value); !set) {
    return lexer_.error_at(
        offset, fmt::format("the placement's field '{}': {}", field, set.error().message));
  }
  return {};
}

Result<void> ModuleParser::parse_origins(Node& node) {
  std::vector<uint32_t> origins;
  do {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const Token name, take(TokenKind::kString, "the name of an ONNX node"));
    origins.push_back(module_.add_onnx_node(name.text));
  } while (token().is(","));
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  node.add_origins(origins);
  return {};
}

}  // namespace sluice::text
