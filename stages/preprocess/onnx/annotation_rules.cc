#include "stages/preprocess/onnx/annotation_rules.h"

#include <fnmatch.h>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/ir/annotation.h"

namespace sluice {
namespace {

std::string scope_of(const onnx::NodeProto& node) {
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == "namespace") return entry.value();
  }
  const size_t begin = node.name().starts_with('/') ? 1 : 0;
  const size_t end = node.name().rfind('/');
  return end == std::string::npos || end < begin ? std::string() : node.name().substr(begin, end - begin);
}

bool fits(const std::string& glob, const std::string& text) { return glob.empty() || fnmatch(glob.c_str(), text.c_str(), 0) == 0; }

Result<std::string> text_of(const Json& value, const std::string& name) {
  if (const std::string* text = value.as_string()) return *text;
  if (const int64_t* number = value.as_int()) return std::to_string(*number);
  if (const bool* flag = value.as_bool()) return std::string(*flag ? "true" : "false");
  return make_error(ErrorCode::kBadJson, "'{}' must be a text, a number, true or false", name);
}

}  // namespace

Result<AnnotationRules> AnnotationRules::read(const std::string& path) {
  AnnotationRules rules;
  if (path.empty()) return rules;
  SLUICE_ASSIGN(const std::string text, read_text(path));
  rules.digest_ = sha256(text);
  auto parsed = json_parse(text);
  const auto fail = [&](Error error) {
    error.file = path;
    return error;
  };
  if (!parsed) return fail(std::move(parsed).error());
  const Json::Array* rows = parsed->as_array();
  if (rows == nullptr) return fail(make_error(ErrorCode::kBadJson, "annotation rules are a list of objects"));
  for (size_t i = 0; i < rows->size(); ++i) {
    const std::string where = fmt::format("rule {}", i + 1);
    const Json::Object* members = (*rows)[i].as_object();
    if (members == nullptr) return fail(make_error(ErrorCode::kBadJson, "{} is no object", where));
    Rule rule;
    const Json::Object* set = nullptr;
    for (const auto& [name, value] : *members) {
      std::string* glob = name == "node" ? &rule.node : name == "op" ? &rule.op : name == "scope" ? &rule.scope : nullptr;
      if (name == "set" && value.as_object() != nullptr) {
        set = value.as_object();
      } else if (glob != nullptr && value.as_string() != nullptr && !value.as_string()->empty()) {
        *glob = *value.as_string();
      } else {
        return fail(make_error(ErrorCode::kBadJson, "{}: '{}' is not known or has another kind of value", where, name)
                        .with_hint("a rule has the globs \"node\", \"op\" and \"scope\", and the object \"set\""));
      }
    }
    if (set == nullptr || set->empty()) return fail(make_error(ErrorCode::kBadJson, "{} sets nothing: \"set\" is missing or empty", where));
    for (const auto& [name, value] : *set) {
      auto spelled = text_of(value, name);
      if (!spelled) return fail(std::move(spelled).error().within(where));
      Plan tried;
      if (auto known = annotate(tried, name, *spelled); !known) return fail(std::move(known).error().within(where));
      rule.set.emplace_back(name, std::move(spelled).value());
    }
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

void AnnotationRules::apply(const onnx::NodeProto& node, Plan& plan) {
  for (Rule& rule : rules_) {
    if (!fits(rule.op, node.op_type()) || !fits(rule.node, node.name())) continue;
    if (!rule.scope.empty() && !fits(rule.scope, scope_of(node))) continue;
    rule.matched = true;
    for (const auto& [name, value] : rule.set) static_cast<void>(annotate(plan, name, value));  // tried when it was read
  }
}

std::vector<std::string> AnnotationRules::unmatched() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (rule.matched) continue;
    std::string globs;
    for (const auto& [name, glob] : {std::pair("node", &rule.node), std::pair("op", &rule.op), std::pair("scope", &rule.scope)}) {
      if (!glob->empty()) globs += fmt::format(" {} '{}'", name, *glob);
    }
    lines.push_back(fmt::format("rule {} fits no node:{}", i + 1, globs));
  }
  return lines;
}

}  // namespace sluice
