#include "stages/preprocess/onnx/annotation_rules.h"

#include <fnmatch.h>

#include <algorithm>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/ir/annotation.h"

namespace sluice {
namespace {

constexpr size_t kListed = 20;  // unmatched rules listed; of more, only the number

std::string scope_of(const onnx::NodeProto& node) {
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == "namespace") return entry.value();
  }
  const size_t begin = node.name().starts_with('/') ? 1 : 0;
  const size_t end = node.name().rfind('/');
  return end == std::string::npos || end < begin ? std::string()
                                                 : node.name().substr(begin, end - begin);
}

bool fits(const std::string& glob, const std::string& text) {
  return glob.empty() || fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

Result<std::string> text_of(const Json& value, const std::string& name) {
  if (const std::string* text = value.as_string()) return *text;
  if (const int64_t* number = value.as_int()) return std::to_string(*number);
  if (const bool* flag = value.as_bool()) return std::string(*flag ? "true" : "false");
  return make_error(ErrorCode::kBadJson, "'{}' must be a text, a number, true or false", name);
}

}  // namespace

Result<AnnotationRules> AnnotationRules::read(const std::string& path) {
  if (path.empty()) return AnnotationRules();
  SLUICE_ASSIGN(const std::string text, read_text(path));
  auto rules = parse(text);
  if (!rules) rules.error().file = path;
  return rules;
}

Result<AnnotationRules> AnnotationRules::parse(std::string_view text) {
  AnnotationRules rules;
  rules.digest_ = sha256(text);
  SLUICE_ASSIGN(const Json parsed, json_parse(text));
  const Json::Array* rows = parsed.as_array();
  if (rows == nullptr)
    return make_error(ErrorCode::kBadJson, "annotation rules are a list of objects");
  for (size_t i = 0; i < rows->size(); ++i) {
    auto rule = parse_rule((*rows)[i]);
    if (!rule) return std::move(rule).error().within(fmt::format("rule {}", i + 1));
    rules.rules_.push_back(std::move(rule).value());
  }
  return rules;
}

Result<AnnotationRules::Rule> AnnotationRules::parse_rule(const Json& row) {
  const Json::Object* members = row.as_object();
  if (members == nullptr) return make_error(ErrorCode::kBadJson, "a rule is an object");
  Rule rule;
  const Json::Object* set = nullptr;
  for (const auto& [name, value] : *members) {
    std::string* glob = name == "node"    ? &rule.node
                        : name == "op"    ? &rule.op
                        : name == "scope" ? &rule.scope
                                          : nullptr;
    if (name == "set" && value.as_object() != nullptr) {
      set = value.as_object();
    } else if (glob != nullptr && value.as_string() != nullptr && !value.as_string()->empty()) {
      *glob = *value.as_string();
    } else {
      return make_error(ErrorCode::kBadJson, "'{}' is not known or has another kind of value", name)
          .with_hint("a rule has the globs \"node\", \"op\" and \"scope\", and the object \"set\"");
    }
  }
  if (set == nullptr || set->empty())
    return make_error(ErrorCode::kBadJson, "sets nothing: \"set\" is missing or empty");
  for (const auto& [name, value] : *set) {
    SLUICE_ASSIGN(std::string spelled, text_of(value, name));
    Placement tried;
    SLUICE_TRY(annotate(tried, name, spelled));
    rule.set.emplace_back(name, std::move(spelled));
  }
  return rule;
}

void AnnotationRules::apply(const onnx::NodeProto& node, Placement& placement) {
  for (Rule& rule : rules_) {
    if (!fits(rule.op, node.op_type()) || !fits(rule.node, node.name())) continue;
    if (!rule.scope.empty() && !fits(rule.scope, scope_of(node))) continue;
    rule.matched = true;
    for (const auto& [name, value] : rule.set)
      static_cast<void>(annotate(placement, name, value));  // was checked when it was read
  }
}

std::vector<std::string> AnnotationRules::unmatched() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (rule.matched) continue;
    if (lines.size() == kListed) {
      const auto all = std::ranges::count(rules_, false, &Rule::matched);
      lines.push_back(
          fmt::format("{} more rules fit no node", all - static_cast<std::ptrdiff_t>(kListed)));
      break;
    }
    std::string globs;
    for (const auto& [name, glob] : {std::pair("node", &rule.node), std::pair("op", &rule.op),
                                     std::pair("scope", &rule.scope)}) {
      if (!glob->empty()) globs += fmt::format(" {} '{}'", name, *glob);
    }
    lines.push_back(fmt::format("rule {} fits no node:{}", i + 1, globs));
  }
  return lines;
}

}  // namespace sluice
