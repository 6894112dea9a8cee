#include <algorithm>

#include "common/base/options.h"
#include "common/graphfile/writer.h"

namespace sluice::graphfile {
namespace {

// Returns the number of the stage that reads the option first. Options of one stage begin with its
// name: "optimize.skip".
int first_stage_of(const std::string& name) {
  const size_t dot = name.find('.');
  const std::string_view stage =
      dot == std::string::npos ? first_reader(name) : std::string_view(name).substr(0, dot);
  return static_cast<int>(stage_from_name(stage).value_or(StageId::kNone));
}

// Returns the number of the last stage that has worked on the module, if only half-way.
int last_stage_of(const Module& module) {
  return static_cast<int>(module.last_stage) + (module.is_mid_stage() ? 1 : 0);
}

}  // namespace

flatbuffers::Offset<fb::Texts> TextRun::build(flatbuffers::FlatBufferBuilder& builder) const {
  const auto bytes =
      builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size());
  return fb::CreateTexts(builder, bytes, builder.CreateVector(ends_));
}

void add_options(const Module& module, OptionUse use, TextRun& names, TextRun& values) {
  const int last_stage = last_stage_of(module);
  for (const auto& [name, value] : module.options) {
    const bool is_read = first_stage_of(name) <= last_stage;
    if (is_read != (use == OptionUse::kRead)) continue;
    names.add(name);
    values.add(value);
  }
}

}  // namespace sluice::graphfile
