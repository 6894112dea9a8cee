#include <charconv>
#include <limits>

#include "common/text/names.h"
#include "common/text/parser.h"
#include "common/text/text.h"

namespace sluice {
namespace text {

// Graphs and numbered constants may be referred to before they are defined, so their offsets are
// recorded first.
Result<void> ModuleParser::find_definitions() {
  int depth = 0;
  SLUICE_TRY(lexer_.jump(0));
  while (token().kind != TokenKind::kEnd) {
    if (token().is("{")) ++depth;
    if (token().is("}")) --depth;
    const Token first = token();
    SLUICE_TRY(advance());
    if (depth != 0) continue;
    if (first.is("graph") && token().kind == TokenKind::kGraph) {
      const std::string name = shown(token());
      if (!scope_index_.emplace(key_of(token()), scopes_.size()).second)
        return lexer_.error(fmt::format("{} is defined twice", name));
      Scope& scope = scopes_.emplace_back();
      scope.name = name;
      scope.begin = first.offset;
      scope.id = module_.add_graph(token().is_numbered ? "" : token().text).id();
    } else if (first.is("constant") && token().kind == TokenKind::kConstant) {
      Numbered numbered;
      numbered.begin = first.offset;
      if (!numbered_.emplace(token().text, numbered).second)
        return lexer_.error(fmt::format("{} is defined twice", shown(token())));
    }
  }
  if (scopes_.empty()) return lexer_.error("there is no graph");
  return lexer_.jump(0);
}

Result<Module> ModuleParser::parse() {
  SLUICE_TRY(find_definitions());
  SLUICE_TRY(parse_header());
  while (token().kind != TokenKind::kEnd) SLUICE_TRY(parse_line());
  SLUICE_TRY(resolve_symbols());
  SLUICE_TRY(check_owners());
  return std::move(module_);
}

Result<void> ModuleParser::parse_header() {
  SLUICE_TRY(expect("sluice"));
  SLUICE_TRY(take_int("the version of the text form", 1, kTextVersion));
  const auto level = level_from_name(token().text);
  if (token().kind != TokenKind::kWord || !level)
    return unexpected("a level (typed, partitioned, lowered, scheduled)");
  module_.level = *level;
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(const bool has_stage, skip("after"));
  if (has_stage) {
    const size_t offset = token().offset;
    SLUICE_ASSIGN(std::string name, take_name("a stage"));
    while (token().is("-")) {
      SLUICE_TRY(advance());
      SLUICE_ASSIGN(const std::string remaining, take_name("a stage"));
      name += "-" + remaining;
    }
    const auto stage = stage_from_name(name);
    if (!stage) return lexer_.error_at(offset, fmt::format("there is no stage '{}'", name));
    module_.last_stage = *stage;
  }
  SLUICE_ASSIGN(const bool is_stopped, skip("stopped"));
  if (!is_stopped) return {};
  return parse_passes();
}

Result<void> ModuleParser::parse_passes() {
  SLUICE_TRY(expect("after"));
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const int64_t done,
                take_int("how many passes ran", 1, std::numeric_limits<uint32_t>::max()));
  SLUICE_TRY(expect("of"));
  bool is_more = true;
  while (is_more) {
    SLUICE_ASSIGN(const Token pass, take(TokenKind::kString, "the name of a pass"));
    module_.passes.push_back(pass.text);
    SLUICE_ASSIGN(is_more, skip(","));
  }
  module_.passes_done = static_cast<size_t>(done);
  if (module_.passes_done < module_.passes.size()) return {};
  return lexer_.error_at(
      offset, fmt::format("{} of {} passes are not half of the way", done, module_.passes.size()));
}

Result<void> ModuleParser::parse_line() {
  const size_t offset = token().offset;
  if (token().is("symbol")) return parse_symbol();
  if (token().is("require")) return parse_requirement();
  if (token().is("kernel")) return parse_kernel();
  if (token().is("graph")) {
    for (Scope& scope : scopes_) {
      if (scope.begin == offset)
        return scope.state == State::kDone ? lexer_.jump(scope.end) : parse_graph(scope);
    }
    SLUICE_TRY(advance());
    return unexpected("the name of a graph");
  }
  if (token().is("constant")) {
    SLUICE_TRY(advance());
    const auto found = numbered_.find(token().text);
    if (token().kind != TokenKind::kConstant || found == numbered_.end())
      return unexpected("the number of a constant");
    Numbered& numbered = found->second;
    if (numbered.state == State::kDone) return lexer_.jump(numbered.end);
    return parse_numbered(numbered);
  }
  return parse_fact();
}

// Parses the lines that print_module adds with PrintOptions::header.
Result<void> ModuleParser::parse_fact() {
  const std::string kind = token().kind == TokenKind::kWord ? token().text : "";
  if (kind == "version" || kind == "producer") {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const Token value, take(TokenKind::kString, "a text"));
    if (kind == "producer") module_.producer = value.text;
    return {};
  }
  if (kind == "option") {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const Token name, take(TokenKind::kString, "the name of an option"));
    SLUICE_TRY(expect("="));
    SLUICE_ASSIGN(const Token value, take(TokenKind::kString, "the value of an option"));
    module_.options[name.text] = value.text;
    return {};
  }
  if (kind == "made_from") {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const Token digest, take(TokenKind::kDigest, "a digest"));
    module_.made_from.push_back(*digest_from_hex(digest.text));
    return {};
  }
  return unexpected("a graph, symbol, requirement, constant or kernel");
}

Result<void> ModuleParser::parse_symbol() {
  SLUICE_TRY(advance());
  Symbol symbol;
  const size_t offset = token().offset;
  SLUICE_ASSIGN(symbol.name, take_name("the name of a symbol"));
  if (symbol.name.empty() || symbols_.contains(symbol.name))
    return lexer_.error_at(offset, "a symbol needs a name of its own");
  SLUICE_TRY(expect("="));
  SLUICE_ASSIGN(const std::string origin, take_name("dim, open, value or result"));
  if (origin == "value") {
    symbol.origin = SymbolOrigin::kInputValue;
  } else if (origin == "result") {
    symbol.origin = SymbolOrigin::kNodeResult;
  } else if (origin == "open") {
    symbol.origin = SymbolOrigin::kOpenDim;
  } else if (origin != "dim") {
    return lexer_.error("a symbol is read from a dim, open dim, value or result");
  }
  SLUICE_TRY(expect("("));
  symbol.graph = symbol.value = -1;
  const Token graph = token();
  SLUICE_TRY(advance());
  SLUICE_TRY(expect(","));
  const Token value = token();
  SLUICE_TRY(advance());
  SLUICE_TRY(expect(","));
  SLUICE_ASSIGN(const int64_t axis, take_int("an axis", 0, INT32_MAX));
  symbol.axis = static_cast<int32_t>(axis);
  SLUICE_TRY(expect(")"));
  SLUICE_TRY(parse_symbol_bounds(symbol));
  const SymbolId id = module_.expressions.add_symbol(symbol);
  // Expressions are made in the order of the lines: the normal form sorts by it.
  module_.expressions.symbol_expression(id);
  symbols_.emplace(symbol.name, id);
  if (!value.is("_")) symbol_sources_.push_back({id, graph, value});
  return {};
}

Result<void> ModuleParser::parse_symbol_bounds(Symbol& symbol) {
  SLUICE_ASSIGN(const bool has_bounds, skip("in"));
  if (has_bounds) {
    SLUICE_TRY(expect("["));
    SLUICE_ASSIGN(symbol.low, take_int("a lower bound"));
    SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(const bool is_open, skip("*"));
    if (!is_open) {
      SLUICE_ASSIGN(symbol.high, take_int("an upper bound", symbol.low));
    }
    SLUICE_TRY(expect("]"));
  }
  SLUICE_ASSIGN(const bool has_divisor, skip("multiple"));
  if (has_divisor) {
    SLUICE_ASSIGN(symbol.divisor, take_int("a divisor", 1));
  }
  return {};
}

// Two dims with "==" between them, of symbols that are defined above.
Result<void> ModuleParser::parse_requirement() {
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(const ExpressionId a, parse_sum());
  SLUICE_TRY(expect("=="));
  SLUICE_ASSIGN(const ExpressionId b, parse_sum());
  SLUICE_TRY(expect("for"));
  SLUICE_ASSIGN(const Token words, take(TokenKind::kString, "what needs these sizes"));
  module_.requirements.add(a, b, words.text);
  return {};
}

Result<void> ModuleParser::parse_kernel() {
  SLUICE_TRY(advance());
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const std::string name, take_name("the name of a kernel"));
  SLUICE_TRY(expect("="));
  Kernel kernel;
  kernel.entry = name;
  SLUICE_ASSIGN(kernel.object, parse_constant(nullptr));
  SLUICE_TRY(parse_kernel_fields(kernel));
  if (token().is("symbolic")) SLUICE_TRY(parse_kernel_symbols(kernel));
  if (kernels_.contains(name))
    return lexer_.error_at(offset, fmt::format("kernel {} is defined twice", spelled_word(name)));
  kernels_.emplace(name, module_.add_kernel(kernel));
  return {};
}

Result<std::vector<uint32_t>> ModuleParser::take_symbols() {
  SLUICE_ASSIGN(const std::vector<int64_t> numbers, take_numbers("a symbol", UINT32_MAX));
  return std::vector<uint32_t>(numbers.begin(), numbers.end());
}

// The current token is "symbolic".
Result<void> ModuleParser::parse_kernel_symbols(Kernel& kernel) {
  SLUICE_TRY(advance());
  kernel.symbolic = true;
  SLUICE_ASSIGN(kernel.multiply_add_symbols, take_symbols());
  SLUICE_TRY(expect("per_block"));
  SLUICE_ASSIGN(const int64_t per_block, take_int("per_block", 0, INT64_MAX));
  kernel.multiply_adds_per_block = static_cast<uint64_t>(per_block);
  if (!token().is("nominal")) return {};
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(const int64_t nominal, take_int("nominal", 0, INT64_MAX));
  kernel.nominal_multiply_adds = static_cast<uint64_t>(nominal);
  return {};
}

Result<void> ModuleParser::parse_kernel_fields(Kernel& kernel) {
  while (token().is("entry") || token().is("isa") || token().is("blocks") ||
         token().is("scratch") || token().is("multiply_adds") || token().is("cycles")) {
    const std::string field = token().text;
    SLUICE_TRY(advance());
    if (field == "entry" || field == "isa") {
      SLUICE_ASSIGN(const Token text, take(TokenKind::kString, "a text"));
      (field == "entry" ? kernel.entry : kernel.isa) = text.text;
      continue;
    }
    SLUICE_ASSIGN(const int64_t number,
                  take_int(field, 0, field == "blocks" ? UINT32_MAX : INT64_MAX));
    if (field == "blocks") kernel.blocks = static_cast<uint32_t>(number);
    if (field == "scratch") kernel.scratch_bytes = static_cast<uint64_t>(number);
    if (field == "multiply_adds") kernel.multiply_adds = static_cast<uint64_t>(number);
    if (field == "cycles") kernel.cycles = static_cast<uint64_t>(number);
  }
  return {};
}

// The current token is "$n".
Result<void> ModuleParser::parse_numbered(Numbered& numbered) {
  if (numbered.state == State::kOpen) return lexer_.error("this constant is made from itself");
  if (++depth_ > kDepthLimit) return lexer_.error("constants are nested too deep");
  numbered.state = State::kOpen;
  SLUICE_TRY(advance());
  SLUICE_TRY(expect("="));
  SLUICE_ASSIGN(numbered.segment, parse_constant(nullptr));
  numbered.end = token().offset;
  numbered.state = State::kDone;
  --depth_;
  return {};
}

Result<void> ModuleParser::resolve_symbols() {
  for (const SymbolSource& source : symbol_sources_) {
    const auto scope = scope_index_.find(key_of(source.graph));
    if (source.graph.kind != TokenKind::kGraph || scope == scope_index_.end())
      return lexer_.error_at(source.graph.offset, "there is no such graph");
    SLUICE_ASSIGN(const Value* value, find_value(scopes_[scope->second], source.value));
    Symbol& symbol = module_.expressions.symbol(source.symbol);
    symbol.graph = scopes_[scope->second].id;
    symbol.value = value->id();
  }
  return {};
}

Result<void> ModuleParser::check_owners() const {
  const GraphRole first = module_.root().role;
  if (first != GraphRole::kRoot && first != GraphRole::kPart && first != GraphRole::kSubgraph) {
    return lexer_.error_at(scopes_[0].begin,
                           "the first graph must be a root, a part or a subgraph");
  }
  for (const Scope& scope : scopes_) {
    if (!module_.has_graph(scope.id)) continue;  // an expression equal to another one
    const Graph& graph = module_.graph(scope.id);
    const bool stands_alone =
        graph.role == GraphRole::kRoot || graph.role == GraphRole::kExpression;
    if (!stands_alone && graph.id() != 0 && graph.owner() == nullptr)
      return lexer_.error_at(scope.begin, fmt::format("no node has {} as its body", scope.name));
  }
  return {};
}

}  // namespace text

Result<Module> parse_module(std::string_view text, const std::string& name) {
  auto module = text::ModuleParser(text, name).parse();
  if (module) module->source = name;
  return module;
}

}  // namespace sluice
