#include "common/target/profile.h"

#include "common/base/files.h"
#include "common/base/json.h"

namespace sluice {
namespace {

#include "profile_texts.inc"

// Reads members of one profile; the first absent or mistyped member becomes the error.
class ProfileReader {
 public:
  explicit ProfileReader(const Json& json) : json_(json) {}

  void read(std::string_view key, std::string& out) {
    const Json* member = json_.find(key);
    if (member && member->as_string()) return void(out = *member->as_string());
    miss(key);
  }
  template <typename Int>
  void read_int(std::string_view key, Int& out) {
    const Json* member = json_.find(key);
    if (member && member->as_int()) return void(out = static_cast<Int>(*member->as_int()));
    miss(key);
  }
  void read(std::string_view key, bool& out) {
    const Json* member = json_.find(key);
    if (member && member->as_bool()) return void(out = *member->as_bool());
    miss(key);
  }
  void read(std::string_view key, std::vector<std::string>& out) {
    const Json* member = json_.find(key);
    if (!member || !member->as_array()) return miss(key);
    for (const Json& element : *member->as_array()) {
      if (!element.as_string()) return miss(key);
      out.push_back(*element.as_string());
    }
  }
  // Optional members: absent means none.
  void read(std::string_view key, std::vector<DescribedEngine>& out) {
    for_each(key, [&](ProfileReader& element) {
      DescribedEngine engine;
      element.read("name", engine.name);
      element.read_int("cost", engine.cost);
      element.read("ops", engine.ops);
      out.push_back(std::move(engine));
    });
  }
  void read(std::string_view key, std::vector<CompositeEngine>& out) {
    for_each(key, [&](ProfileReader& element) {
      CompositeEngine composite;
      element.read("name", composite.name);
      element.read("members", composite.members);
      out.push_back(std::move(composite));
    });
  }
  const std::string& missing() const { return missing_; }

 private:
  template <typename Function>
  void for_each(std::string_view key, Function function) {
    const Json* member = json_.find(key);
    if (member == nullptr) return;
    if (member->as_array() == nullptr) return miss(key);
    for (const Json& element : *member->as_array()) {
      ProfileReader reader(element);
      function(reader);
      if (!reader.missing().empty()) miss(key);
    }
  }
  void miss(std::string_view key) {
    if (missing_.empty()) missing_ = key;
  }
  const Json& json_;
  std::string missing_;
};

Result<DeviceProfile> parse_profile(std::string_view text) {
  SLUICE_ASSIGN(Json json, json_parse(text));
  ProfileReader reader(json);
  DeviceProfile profile;
  reader.read("name", profile.name);
  reader.read("isa", profile.isa);
  reader.read("llvm_cpu", profile.llvm_cpu);
  reader.read("llvm_features", profile.llvm_features);
  reader.read_int("vector_bits", profile.vector_bits);
  reader.read_int("vector_registers", profile.vector_registers);
  reader.read("fused_multiply_add", profile.fused_multiply_add);
  reader.read_int("l1_bytes", profile.l1_bytes);
  reader.read_int("l2_bytes", profile.l2_bytes);
  reader.read_int("l3_bytes", profile.l3_bytes);
  reader.read_int("alignment", profile.alignment);
  reader.read_int("max_streams", profile.max_streams);
  reader.read_int("max_tasks_per_stream", profile.max_tasks_per_stream);
  reader.read_int("max_events", profile.max_events);
  reader.read_int("prefetch_num", profile.prefetch_num);
  reader.read_int("scratch_limit", profile.scratch_limit);
  reader.read("engines", profile.engines);
  reader.read("described_engines", profile.described_engines);
  reader.read("composites", profile.composites);
  if (!reader.missing().empty()) {
    return make_error(ErrorCode::kBadJson, "device profile '{}': member '{}' is absent or of the wrong kind", profile.name,
                      reader.missing());
  }
  return profile;
}

}  // namespace

Result<DeviceProfile> get_profile(std::string_view name) {
  if (name.ends_with(".json")) {
    SLUICE_ASSIGN(const std::string text, read_text(std::string(name)));
    auto profile = parse_profile(text);
    if (!profile) profile.error().file = name;
    return profile;
  }
  std::string known = "native";
  for (std::string_view text : kProfileTexts) {
    SLUICE_ASSIGN(DeviceProfile profile, parse_profile(text));
    if (name == profile.name || (name == "native" && cpu_supports(profile.isa))) return profile;
    known += ", " + profile.name;
  }
  return make_error(ErrorCode::kBadOption, "there is no device profile '{}'", name).with_hint("known profiles: " + known);
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (std::string_view text : kProfileTexts) {
    if (auto profile = parse_profile(text)) names.push_back(profile->name);
  }
  return names;
}

bool cpu_supports(std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "generic") return true;
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (isa == "avx2") return avx2;
  if (isa == "avx512") {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return false;
}

}  // namespace sluice
