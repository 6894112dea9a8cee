#include "common/base/tensor.h"
#include "common/text/elements.h"
#include "common/text/parser.h"

namespace sluice::text {

// Parses: type content. The current token follows "constant".
Result<SegmentId> ModuleParser::parse_constant(const Scope* scope) {
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const TypeId type, parse_type());
  if (token().is("parameter")) {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const int64_t index, take_int("the number of a parameter", 0, UINT32_MAX));
    return module_.make_parameter(type, static_cast<uint32_t>(index));
  }
  const auto count = module_.type(type).element_count();
  const bool has_size =
      module_.type(type).dtype == DType::kString || module_.type(type).dense_bytes().has_value();
  if (!count || !has_size) return lexer_.error_at(offset, "a constant is a tensor of fixed shape");
  if (token().is("[")) return parse_elements(type);
  if (token().is("splat")) return parse_splat(type);
  if (token().kind == TokenKind::kDigest) return parse_digest(type);
  if (token().is("expression")) return parse_expression_constant(type, scope);
  return unexpected("'[', splat, sha256:…, expression or parameter");
}

Result<std::string> ModuleParser::take_element_text() {
  const bool is_element = token().kind == TokenKind::kNumber || token().kind == TokenKind::kWord;
  if (!is_element) return unexpected("an element");
  std::string text = token().text;
  SLUICE_TRY(advance());
  return text;
}

Result<SegmentId> ModuleParser::parse_elements(TypeId type_id) {
  const Type type = module_.type(type_id);
  const bool is_complex = type.dtype == DType::kC64 || type.dtype == DType::kC128;
  ElementWriter writer(type.dtype);
  std::vector<std::string> strings;
  const size_t offset = token().offset;
  SLUICE_TRY(expect("["));
  for (bool first = true; !token().is("]"); first = false) {
    if (!first) SLUICE_TRY(expect(","));
    if (type.dtype == DType::kString) {
      SLUICE_ASSIGN(Token string, take(TokenKind::kString, "a text"));
      strings.push_back(std::move(string.text));
      continue;
    }
    if (is_complex) SLUICE_TRY(expect("("));
    for (int part = 0; part < (is_complex ? 2 : 1); ++part) {
      if (part > 0) SLUICE_TRY(expect(","));
      const size_t element_offset = token().offset;
      SLUICE_ASSIGN(const std::string element, take_element_text());
      if (!writer.add(element))
        return lexer_.error_at(element_offset,
                               fmt::format("'{}' is no {}", element, dtype_name(type.dtype)));
    }
    if (is_complex) SLUICE_TRY(expect(")"));
  }
  SLUICE_TRY(advance());
  const auto count = static_cast<size_t>(*type.element_count());
  const size_t given =
      type.dtype == DType::kString ? strings.size() : writer.count() / (is_complex ? 2 : 1);
  if (given != count)
    return lexer_.error_at(offset, fmt::format("{} elements, the type has {}", given, count));
  if (type.dtype != DType::kString) return module_.make_constant(type_id, writer.take());
  const Tensor tensor = make_string_tensor(*type.extents(), strings);
  return module_.make_constant(type_id,
                               std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end()));
}

Result<SegmentId> ModuleParser::parse_splat(TypeId type_id) {
  const DType dtype = module_.type(type_id).dtype;
  SLUICE_TRY(advance());
  if (dtype_bits(dtype) < 8)
    return lexer_.error(fmt::format("a splat of {} cannot be", dtype_name(dtype)));
  const bool is_complex = dtype == DType::kC64 || dtype == DType::kC128;
  ElementWriter writer(dtype);
  if (is_complex) SLUICE_TRY(expect("("));
  for (int part = 0; part < (is_complex ? 2 : 1); ++part) {
    if (part > 0) SLUICE_TRY(expect(","));
    const size_t offset = token().offset;
    SLUICE_ASSIGN(const std::string element, take_element_text());
    if (!writer.add(element))
      return lexer_.error_at(offset, fmt::format("'{}' is no {}", element, dtype_name(dtype)));
  }
  if (is_complex) SLUICE_TRY(expect(")"));
  return module_.make_splat(type_id, writer.take());
}

// The bytes are elsewhere; sluice-as --with finds them.
Result<SegmentId> ModuleParser::parse_digest(TypeId type_id) {
  SLUICE_ASSIGN(const Token digest, take(TokenKind::kDigest, "a digest"));
  Segment segment;
  segment.kind = SegmentKind::kBytes;
  segment.type = type_id;
  segment.digest = *digest_from_hex(digest.text);
  const Type& type = module_.type(type_id);
  if (type.dtype == DType::kString) {
    SLUICE_TRY(expect("size"));
    const int64_t offsets = (*type.element_count() + 1) * 8;
    SLUICE_ASSIGN(const int64_t size, take_int("the size of a constant of strings", offsets));
    segment.size = static_cast<uint64_t>(size);
  } else {
    segment.size = *type.dense_bytes();
  }
  return module_.add_segment(std::move(segment));
}

// Parses: expression @graph(operands).
Result<SegmentId> ModuleParser::parse_expression_constant(TypeId type, const Scope* scope) {
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(const Token name, take(TokenKind::kGraph, "a graph"));
  SLUICE_ASSIGN(const GraphId graph, require_graph(name));
  if (module_.graph(graph).role != GraphRole::kExpression) {
    return lexer_.error_at(name.offset, fmt::format("@{} is no expression graph", name.text));
  }
  std::vector<SegmentId> inputs;
  SLUICE_TRY(expect("("));
  while (!token().is(")")) {
    if (!inputs.empty()) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(const SegmentId input, parse_operand(scope));
    inputs.push_back(input);
  }
  SLUICE_TRY(advance());
  const SegmentId made = module_.make_expression(type, graph, std::move(inputs));
  if (!module_.has_graph(graph)) {  // it was equal to another one, which replaces it
    Scope& erased = scopes_[scope_index_.at(key_of(name))];
    erased.id = module_.segment(made).graph;
    erased.values.clear();
  }
  return made;
}

// Parses $n, a constant of the current graph, or an inline constant.
Result<SegmentId> ModuleParser::parse_operand(const Scope* scope) {
  if (token().kind == TokenKind::kValue && scope != nullptr) {
    const Token name = token();
    SLUICE_ASSIGN(const Value* value, find_value(*scope, name));
    if (!value->is_constant()) return unexpected("a constant");
    SLUICE_TRY(advance());
    return value->segment();
  }
  if (token().kind != TokenKind::kConstant) {
    if (++depth_ > kDepthLimit) return lexer_.error("constants are nested too deep");
    auto nested = parse_constant(scope);
    --depth_;
    return nested;
  }
  const auto found = numbered_.find(token().text);
  if (found == numbered_.end())
    return lexer_.error(fmt::format("there is no constant ${}", token().text));
  const size_t offset = token().offset;
  if (found->second.state != State::kDone) {
    SLUICE_TRY(lexer_.jump(found->second.begin));
    SLUICE_TRY(advance());
    SLUICE_TRY(parse_numbered(found->second));
    SLUICE_TRY(lexer_.jump(offset));
  }
  SLUICE_TRY(advance());
  return found->second.segment;
}

Result<std::vector<int64_t>> ModuleParser::parse_ints(bool already_open) {
  std::vector<int64_t> values;
  if (!already_open) SLUICE_TRY(expect("["));
  while (!token().is("]")) {
    if (!values.empty()) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(const int64_t value, take_int("a number"));
    values.push_back(value);
  }
  SLUICE_TRY(advance());
  return values;
}

Result<AttributeValue> ModuleParser::parse_attribute(const Scope& scope) {
  const bool is_float_word = token().is("inf") || token().is("nan");
  if (is_float_word || (token().kind == TokenKind::kNumber && looks_like_float(token().text))) {
    const auto value = parse_float(token().text);
    if (!value) return unexpected("a number");
    SLUICE_TRY(advance());
    return AttributeValue(*value);
  }
  if (token().kind == TokenKind::kNumber) {
    SLUICE_ASSIGN(const int64_t value, take_int("a number"));
    return AttributeValue(value);
  }
  if (token().kind == TokenKind::kString) {
    SLUICE_ASSIGN(Token text, take(TokenKind::kString, "a text"));
    return AttributeValue(std::move(text.text));
  }
  if (token().kind == TokenKind::kGraph) {
    SLUICE_ASSIGN(const GraphId body, take_body());
    return AttributeValue(GraphRef{body});
  }
  for (const std::string_view kind : {"ints", "floats", "strings", "graphs"}) {
    if (!token().is(kind)) continue;
    SLUICE_TRY(advance());
    return parse_list(kind);
  }
  if (token().is("[")) return parse_list("");
  SLUICE_ASSIGN(const bool is_type, skip("type"));
  if (is_type) {
    SLUICE_ASSIGN(const TypeId type, parse_type());
    return AttributeValue(TypeRef{type});
  }
  SLUICE_ASSIGN(const bool is_constant, skip("constant"));
  if (!is_constant) return unexpected("the value of an attribute");
  SLUICE_ASSIGN(const SegmentId segment, parse_constant(&scope));
  return AttributeValue(SegmentRef{segment});
}

// kind: "ints", "floats", "strings", "graphs", or "" when the first element determines it.
Result<AttributeValue> ModuleParser::parse_list(std::string_view kind) {
  SLUICE_TRY(expect("["));
  if (kind.empty() && token().kind == TokenKind::kString) kind = "strings";
  if (kind.empty() && token().kind == TokenKind::kGraph) kind = "graphs";
  if (kind.empty() && (token().kind == TokenKind::kWord || looks_like_float(token().text)))
    kind = "floats";
  if (kind.empty() && token().kind != TokenKind::kNumber)
    return unexpected("an element (an empty list says of what: ints [])");
  if (kind.empty() || kind == "ints") {
    SLUICE_ASSIGN(std::vector<int64_t> values, parse_ints(true));
    return AttributeValue(std::move(values));
  }
  std::vector<float> floats;
  std::vector<std::string> strings;
  std::vector<GraphRef> graphs;
  for (bool first = true; !token().is("]"); first = false) {
    if (!first) SLUICE_TRY(expect(","));
    if (kind == "floats") {
      const auto value = parse_float(token().text);
      if ((token().kind != TokenKind::kNumber && token().kind != TokenKind::kWord) || !value)
        return unexpected("a number");
      floats.push_back(*value);
      SLUICE_TRY(advance());
    } else if (kind == "strings") {
      SLUICE_ASSIGN(Token text, take(TokenKind::kString, "a text"));
      strings.push_back(std::move(text.text));
    } else {
      SLUICE_ASSIGN(const GraphId body, take_body());
      for (const GraphRef other : graphs) {
        if (other.id == body) return lexer_.error("a graph stands in the list twice");
      }
      graphs.push_back({body});
    }
  }
  SLUICE_TRY(advance());
  if (kind == "floats") return AttributeValue(std::move(floats));
  return kind == "strings" ? AttributeValue(std::move(strings)) : AttributeValue(std::move(graphs));
}

}  // namespace sluice::text
