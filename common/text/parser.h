// Parses a textual graph by recursive descent. A graph is parsed at its definition, or when a node
// or constant refers to it first, so that a body is complete before its owner. Internal to
// common/text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/lexer.h"
#include "common/ir/module.h"

namespace sluice::text {

class ModuleParser {
 public:
  ModuleParser(std::string_view text, const std::string& name) : lexer_(text, name) {}
  Result<Module> parse();

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };

  // A graph and the meaning of the names in it.
  struct Scope {
    GraphId id = -1;
    std::string name;  // with sigil, for messages
    size_t begin = 0;  // offset of "graph" in the text
    size_t end = 0;    // offset after "}"
    State state = State::kNew;
    // Values by name: numbered ones have the prefix '0', named ones the prefix 'n'.
    std::map<std::string, Value*> values;
    std::map<std::string, Node*> nodes;  // nodes without results, by number
  };
  // A line "constant $n = …".
  struct Numbered {
    size_t begin = 0;
    size_t end = 0;
    State state = State::kNew;
    SegmentId segment = -1;
  };
  struct SymbolSource {
    SymbolId symbol;
    Token graph;
    Token value;
  };

  // Lines of the module (parse.cc).
  Result<void> find_definitions();
  Result<void> parse_header();
  Result<void> parse_passes();
  Result<void> parse_line();
  Result<void> parse_fact();
  Result<void> parse_symbol();
  Result<void> parse_symbol_bounds(Symbol& symbol);
  Result<void> parse_requirement();
  Result<void> parse_kernel();
  Result<void> parse_kernel_fields(Kernel& kernel);
  Result<void> parse_kernel_symbols(Kernel& kernel);
  Result<std::vector<uint32_t>> take_symbols();
  Result<void> parse_numbered(Numbered& numbered);
  Result<void> resolve_symbols();
  Result<void> check_owners() const;

  // Types (parse_type.cc).
  Result<Dim> parse_dim();
  Result<std::vector<Dim>> parse_dims();
  Result<TypeId> parse_type(int depth = 0);
  Result<DType> parse_dtype();
  Result<StorageId> parse_storage();
  Result<ExpressionId> parse_sum();

  // Constants (parse_constant.cc).
  Result<SegmentId> parse_constant(const Scope* scope);
  Result<SegmentId> parse_elements(TypeId type);
  Result<SegmentId> parse_splat(TypeId type);
  Result<SegmentId> parse_digest(TypeId type);
  Result<SegmentId> parse_expression_constant(TypeId type, const Scope* scope);
  Result<SegmentId> parse_operand(const Scope* scope);
  Result<std::string> take_element_text();
  Result<AttributeValue> parse_attribute(const Scope& scope);
  Result<AttributeValue> parse_list(std::string_view kind);
  Result<std::vector<int64_t>> parse_ints(bool already_open);

  // Graphs (parse_graph.cc).
  Result<GraphId> require_graph(const Token& name);
  Result<GraphId> take_body();
  Result<void> parse_graph(Scope& scope);
  Result<void> parse_inputs(Scope& scope, Graph& graph);
  Result<void> parse_graph_facts(Graph& graph);
  Result<void> parse_statement(Scope& scope, Graph& graph);
  struct Definition {
    Token name;
    TypeId type = 0;
    bool has_type = false;
    StorageId storage = -1;
    MemoryPlace place = {};
    bool has_bytes = false;  // in its place
  };
  Result<Definition> parse_definition();
  Result<void> define(Scope& scope, const Token& name, Value& value);
  Result<Value*> find_value(const Scope& scope, const Token& name) const;
  Result<void> parse_constant_value(Scope& scope, Graph& graph, const Definition& definition);
  Result<void> parse_node(Scope& scope, Graph& graph, const std::vector<Definition>& results,
                          const Token* number);
  Result<std::vector<Value*>> parse_operands(const Scope& scope);
  Result<void> parse_attributes(const Scope& scope, Node& node);
  Result<void> parse_after(const Scope& scope, Node& node);
  Result<void> parse_placement(Node& node);
  Result<void> parse_placement_field(Node& node);
  Result<void> parse_origins(Node& node);

  // Schedules (parse_schedule.cc).
  Result<void> parse_stream(Graph& graph);
  Result<void> parse_memory(Graph& graph);
  Result<uint32_t> take_memory(const Graph& graph);
  Result<void> parse_bytes(uint64_t& bytes);
  Result<void> parse_buffer(Graph& graph);
  Result<void> parse_live_ranges(const Graph& graph, MemoryBuffer& buffer);
  Result<uint32_t> take_stream(const Graph& graph);
  Result<int32_t> take_buffer();
  Result<TaskRange> take_tasks();
  Result<void> parse_place(Definition& definition);
  static void place(const Definition& definition, Value& value);
  Result<std::vector<int64_t>> take_numbers(std::string_view what, int64_t largest);
  Result<std::vector<uint32_t>> take_events();
  Result<std::vector<EventWait>> take_waits();
  Result<void> parse_sync(Graph& graph);
  Result<void> parse_note(Graph& graph);
  Result<void> check_places(const Scope& scope, const Graph& graph) const;

  // Small steps; `what` is for the message.
  const Token& token() const { return lexer_.token(); }
  Result<void> advance() { return lexer_.advance(); }
  Result<bool> skip(std::string_view mark_or_word) { return lexer_.skip(mark_or_word); }
  Result<void> expect(std::string_view mark_or_word) { return lexer_.expect(mark_or_word); }
  Result<Token> take(TokenKind kind, std::string_view what) { return lexer_.take(kind, what); }
  Result<std::string> take_name(std::string_view what) { return lexer_.take_name(what); }
  Result<int64_t> take_int(std::string_view what, int64_t low = INT64_MIN,
                           int64_t high = INT64_MAX) {
    return lexer_.take_int(what, low, high);
  }
  Error unexpected(std::string_view wanted) const { return lexer_.unexpected(wanted); }

  static constexpr int kDepthLimit = 200;

  Lexer lexer_;
  Module module_;
  std::vector<Scope> scopes_;
  std::map<std::string, size_t> scope_index_;  // with the prefix '0' or 'n', as in Scope::values
  std::map<std::string, Numbered> numbered_;
  std::map<std::string, KernelId> kernels_;
  std::vector<SymbolSource> symbol_sources_;
  std::map<std::string, SymbolId> symbols_;
  int depth_ = 0;
};

inline std::string key_of(const Token& name) { return (name.is_numbered ? "0" : "n") + name.text; }

}  // namespace sluice::text
