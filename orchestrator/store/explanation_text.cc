#include "common/base/json.h"
#include "common/base/options.h"
#include "fmt/ranges.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/store/explain.h"

namespace sluice {
namespace {

using End = Explanation::End;

constexpr size_t kShownKey = 16;

std::string short_hex(const Digest& digest) { return digest_hex(digest).substr(0, kShownKey); }

// The options that have an effect before the first record: "--dim, --input-shape, …".
std::string options_of_import() {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table())
    if (row.kind == OptionKind::kSource ||
        (row.kind == OptionKind::kSemantic && first_reader(row.name) == kStageNames[0]))
      names.push_back(fmt::format("--{}", row.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string stage_text(const StageDifference& stage) {
  std::string text =
      fmt::format("{} {}, {}\n", stage.kind, short_hex(stage.keys[0]), short_hex(stage.keys[1]));
  for (const FieldDifference& difference : stage.differences)
    text += fmt::format("  {}\n", difference.text);
  return text;
}

std::string imported_text(const Explanation& explanation) {
  std::string text = fmt::format(
      "the imported graphs differ: structure or names or constants; file digests {}, {}\n",
      short_hex(explanation.inputs[0]), short_hex(explanation.inputs[1]));
  text += fmt::format("they depend on the model and on {}\n", options_of_import());
  if (!explanation.have_equal_structure) return text;
  return text + (*explanation.have_equal_structure
                     ? fmt::format("after {} their structure is equal: only names differ\n",
                                   explanation.stages.back().kind)
                     : fmt::format("after {} their structure differs, too\n",
                                   explanation.stages.back().kind));
}

std::string end_text(const Explanation& explanation) {
  switch (explanation.end) {
    case End::kEqual:
      return "both are one key\n";
    case End::kKinds:
      return fmt::format("the keys are of {} and of {}: compare results of the same stage\n",
                         explanation.kinds[0], explanation.kinds[1]);
    case End::kItself:
      return fmt::format("{} is the first that differs by itself\n",
                         explanation.stages.back().kind);
    case End::kImported:
      return imported_text(explanation);
    case End::kLost:
      return fmt::format("what made the graphs {} and {} is not in the store any more\n",
                         short_hex(explanation.inputs[0]), short_hex(explanation.inputs[1]));
  }
  return {};
}

std::string_view end_name(End end) {
  switch (end) {
    case End::kEqual:
      return "equal";
    case End::kKinds:
      return "kinds";
    case End::kItself:
      return "itself";
    case End::kImported:
      return "imported";
    case End::kLost:
      return "lost";
  }
  return {};
}

Json two(const Digest (&digests)[2]) {
  return Json::Array{digest_hex(digests[0]), digest_hex(digests[1])};
}

Json json_of(const FieldDifference& difference) {
  Json json, values{Json::Array{}};
  json.set("field", difference.field);
  for (const auto& value : difference.value) values.push(value ? Json(*value) : Json());
  json.set("values", std::move(values));
  json.set("text", difference.text);
  return json;
}

Json json_of(const StageDifference& stage) {
  Json json, differences{Json::Array{}};
  json.set("kind", stage.kind);
  json.set("keys", two(stage.keys));
  for (const FieldDifference& difference : stage.differences) differences.push(json_of(difference));
  json.set("differences", std::move(differences));
  return json;
}

}  // namespace

std::string explanation_text(const Explanation& explanation) {
  std::string text;
  for (const StageDifference& stage : explanation.stages) text += stage_text(stage);
  return text + end_text(explanation);
}

std::string explanation_json(const Explanation& explanation) {
  Json json, stages{Json::Array{}};
  for (const StageDifference& stage : explanation.stages) stages.push(json_of(stage));
  json.set("stages", std::move(stages));
  json.set("end", end_name(explanation.end));
  if (explanation.end == End::kImported || explanation.end == End::kLost)
    json.set("inputs", two(explanation.inputs));
  if (explanation.end == End::kImported && explanation.have_equal_structure)
    json.set("equal_structure", *explanation.have_equal_structure);
  return json_dump(json, 2) + "\n";
}

}  // namespace sluice
