#include "common/ir/annotation.h"

#include <charconv>

#include "common/ir/engine_fault.h"

namespace sluice {
namespace {

// Each setter returns false for a value that the field does not accept.
bool set_number(int32_t& field, std::string_view value) {
  const char* end = value.data() + value.size();
  int32_t number = -1;
  if (std::from_chars(value.data(), end, number).ptr != end || number < 0) return false;
  field = number;
  return true;
}

bool set_flag(bool& field, std::string_view value) {
  field = value == "true";
  return field || value == "false";
}

bool set_text(std::string& field, std::string_view value) {
  field = value;
  return true;
}

bool set_engine(Placement& placement, std::string_view value) {
  placement.engine = intern_engine(value);
  return placement.engine != EngineId::kNone;
}

bool set_precision(Placement& placement, std::string_view value) {
  placement.precision = precision_from_name(value).value_or(Precision::kNone);
  return placement.precision != Precision::kNone;
}

struct AnnotationRow {
  std::string_view name, values;
  bool (*set)(Placement& placement, std::string_view value);
};

constexpr AnnotationRow kTable[] = {
    {"engine", "an engine's name", set_engine},
    {"stream_label", "any text",
     [](Placement& p, std::string_view v) { return set_text(p.stream_label.text, v); }},
    {"stage_level", "a number",
     [](Placement& p, std::string_view v) { return set_number(p.stage_level, v); }},
    {"parallel_group", "a number",
     [](Placement& p, std::string_view v) { return set_number(p.parallel_group, v); }},
    {"super_kernel_scope", "any text",
     [](Placement& p, std::string_view v) { return set_text(p.super_kernel_scope, v); }},
    {"memory_class", "any text",
     [](Placement& p, std::string_view v) { return set_text(p.memory_class, v); }},
    {"precision", "keep, f32, f16 or bf16", set_precision},
    {"keep", "true or false", [](Placement& p, std::string_view v) { return set_flag(p.keep, v); }},
    {"no_fold", "true or false",
     [](Placement& p, std::string_view v) { return set_flag(p.no_fold, v); }},
};

}  // namespace

Result<void> annotate(Placement& placement, std::string_view name, std::string_view value) {
  std::string names;
  for (const AnnotationRow& row : kTable) {
    if (row.name == name) {
      if (row.set(placement, value)) return {};
      const std::string wanted =
          row.set == set_engine ? engine_fault(value) : fmt::format("expected {}", row.values);
      return make_error(ErrorCode::kBadValue, "annotation '{}' is '{}', {}", name, value, wanted);
    }
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return make_error(ErrorCode::kBadValue, "there is no annotation '{}'", name)
      .with_hint("known are " + names);
}

}  // namespace sluice
