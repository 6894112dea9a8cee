#include "common/target/profile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "common/base/engine_name.h"
#include "common/base/files.h"
#include "common/base/json.h"
#include "common/target/profile_engines.h"

namespace sluice {
namespace {

#include "profile_texts.inc"

constexpr int64_t kMaxCost = 1'000'000;
constexpr size_t kMaxMemoryClasses = 64;
constexpr int kMaxNamed = 20;  // unknown members in one error

// Reads members of one profile. The first member that is absent, mistyped, out of range or unread
// becomes the error.
class ProfileReader {
 public:
  explicit ProfileReader(const Json& json) : json_(json) {}

  void read(std::string_view key, std::string& out) {
    const Json* member = find(key);
    if (member && member->as_string()) return void(out = *member->as_string());
    miss(key);
  }
  template <typename Int>
  void read_int(std::string_view key, Int& out, const ValueRange& range) {
    const Json* member = find(key);
    if (member == nullptr || member->as_int() == nullptr) return miss(key);
    const int64_t number = *member->as_int();
    if (number < range.low || number > range.high) {
      return shape_mismatch(
          fmt::format("'{}' is {}, it must be {} to {}", key, number, range.low, range.high));
    }
    out = static_cast<Int>(number);
  }
  void read(std::string_view key, bool& out) {
    const Json* member = find(key);
    if (member && member->as_bool()) return void(out = *member->as_bool());
    miss(key);
  }
  void read_optional(std::string_view key, bool& out) {
    if (find(key) != nullptr) read(key, out);
  }
  void read(std::string_view key, std::vector<std::string>& out) {
    const Json* member = find(key);
    if (!member || !member->as_array()) return miss(key);
    for (const Json& element : *member->as_array()) {
      if (!element.as_string()) return miss(key);
      out.push_back(*element.as_string());
    }
  }
  // Reads optional members; an absent one means an empty list.
  void read_optional_int(std::string_view key, int64_t& out, const ValueRange& range) {
    if (find(key) != nullptr) read_int(key, out, range);
  }
  void read_optional(std::string_view key, Costs& out) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (member->as_object() == nullptr) return miss(key);
    ProfileReader reader(*member);
    for (const NamedCost& cost : kCosts)
      reader.read_optional_int(cost.name, out.*cost.number, kCostRange);
    reader.refuse_unread();
    if (!reader.fault().empty()) shape_mismatch(fmt::format("{}: {}", key, reader.fault()));
  }
  void read(std::string_view key, std::vector<DescribedEngine>& out) {
    for_each(key, [&](ProfileReader& element) {
      DescribedEngine engine;
      element.read("name", engine.name);
      element.read_int("cost", engine.cost, {0, kMaxCost});
      element.read("ops", engine.ops);
      element.read_optional("independent", engine.streams.is_independent);
      element.read_optional("attach", engine.streams.attaches);
      element.read_optional("skip", engine.streams.is_skipped);
      element.read_optional_int("max_parallel", engine.streams.max_parallel, kParallelRange);
      element.read_optional_int("tasks_per_node", engine.streams.tasks_per_node, kTasksPerNode);
      out.push_back(std::move(engine));
    });
  }
  void read_streams(StreamLimits& out) {
    read_optional("streams_by_engine", out.are_by_engine);
    read_optional_int("tasks_per_node", out.tasks_per_node, kTasksPerNode);
    read_optional_int("max_streams", out.max_streams, kStreamLimit);
    read_optional_int("max_tasks_per_stream", out.max_tasks, kStreamLimit);
    if (out.max_tasks > 0 && out.max_tasks <= kReservedTasks)
      shape_mismatch(
          fmt::format("'max_tasks_per_stream' is {}, it must be 0 or above {}, which the "
                      "device keeps for itself",
                      out.max_tasks, kReservedTasks));
    read_optional("huge_stream", out.has_huge_stream);
    read_optional_int("max_events", out.max_events, kStreamLimit);
    read_optional_int("max_notifies", out.max_notifies, kStreamLimit);
    read_optional_int("sync_cost", out.sync_cost, kCostRange);
    read_optional_int("transfer_cost", out.transfer_cost, kCostRange);
    read_optional_int("stream_memory_percent", out.memory_percent, kPercentRange);
  }
  void read(std::string_view key, std::vector<MemoryClassLimits>& out) {
    for_each(key, [&](ProfileReader& element) {
      MemoryClassLimits limits;
      element.read("name", limits.name);
      element.read_optional_int("alignment", limits.alignment, kAlignment);
      element.read_optional_int("sub_memory_bytes", limits.sub_memory_bytes, kSubMemoryBytes);
      out.push_back(std::move(limits));
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
  // Must be called last. A member that nothing reads is misspelt, or belongs to another release.
  void refuse_unread() {
    if (json_.as_object() == nullptr) return;
    std::string unread, known;
    int count = 0;
    for (const auto& [name, value] : *json_.as_object()) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end() || ++count > kMaxNamed)
        continue;
      unread += (unread.empty() ? "" : "' or '") + name;
    }
    if (count == 0) return;
    for (const std::string_view name : known_)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    shape_mismatch(fmt::format("no member has the name '{}'; known are {}", unread, known));
  }
  void shape_mismatch(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  const std::string& fault() const { return fault_; }

 private:
  const Json* find(std::string_view key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
    return json_.find(key);
  }
  template <typename Function>
  void for_each(std::string_view key, Function function) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (member->as_array() == nullptr) return miss(key);
    for (const Json& element : *member->as_array()) {
      ProfileReader reader(element);
      function(reader);
      reader.refuse_unread();
      if (!reader.fault().empty()) shape_mismatch(fmt::format("{}: {}", key, reader.fault()));
    }
  }
  void miss(std::string_view key) {
    shape_mismatch(fmt::format("member '{}' is absent or of the wrong kind", key));
  }
  const Json& json_;
  std::vector<std::string_view> known_;  // all members that were read
  std::string fault_;                    // the first error
};

// An instruction set that loaders know, with the limits of code for it.
struct InstructionSet {
  std::string_view isa, llvm_cpu;
  int vector_bits, vector_registers;
  std::string_view features;  // each with a space on both sides
};
constexpr InstructionSet kInstructionSets[] = {
    {"generic", "x86-64", 128, 16, " sse sse2 "},
    {"avx2", "x86-64-v3", 256, 16,
     " sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 fma bmi bmi2 lzcnt movbe f16c "},
    {"avx512", "x86-64-v4", 512, 32,
     " sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 fma bmi bmi2 lzcnt movbe f16c avx512f "
     "avx512cd avx512bw avx512dq avx512vl "},
    {"avx512vnni", "x86-64-v4", 512, 32,
     " sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 fma bmi bmi2 lzcnt movbe f16c avx512f "
     "avx512cd avx512bw avx512dq avx512vl "
     "avx512vnni "},
    {"avx512bf16", "x86-64-v4", 512, 32,
     " sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 fma bmi bmi2 lzcnt movbe f16c avx512f "
     "avx512cd avx512bw avx512dq avx512vl "
     "avx512vnni avx512bf16 "},
};

bool has_features(const InstructionSet& set, std::string_view features) {
  while (!features.empty()) {
    const std::string_view feature = features.substr(0, features.find(','));
    if (!feature.starts_with('+') ||
        set.features.find(fmt::format(" {} ", feature.substr(1))) == std::string_view::npos)
      return false;
    features.remove_prefix(std::min(feature.size() + 1, features.size()));
  }
  return true;
}

bool lists(std::string_view features, std::string_view feature) {
  return fmt::format(",{},", features).find(fmt::format(",{},", feature)) != std::string::npos;
}

// Returns the first contradiction among the classes of memory; empty if there is none.
std::string memory_fault(const DeviceProfile& profile) {
  if (profile.memory_classes.size() > kMaxMemoryClasses)
    return fmt::format("memory_classes: there are {}, expected at most {}",
                       profile.memory_classes.size(), kMaxMemoryClasses);
  std::vector<std::string_view> names;
  for (const MemoryClassLimits& each : profile.memory_classes) {
    if (!is_engine_name(each.name) || each.name.find('+') != std::string::npos)
      return fmt::format("memory_classes: '{}' is no name, expected 1 to 64 of a-z, 0-9 and _",
                         each.name);
    if (std::ranges::find(names, each.name) != names.end())
      return fmt::format("memory_classes: '{}' is there twice, expected once", each.name);
    names.push_back(each.name);
    if (!std::has_single_bit(static_cast<uint64_t>(each.alignment)))
      return fmt::format("memory_classes: '{}': 'alignment' is {}, it must be a power of two",
                         each.name, each.alignment);
    if (each.sub_memory_bytes % each.alignment != 0)
      return fmt::format(
          "memory_classes: '{}': 'sub_memory_bytes' is {}, it must be a multiple of the alignment, "
          "{}",
          each.name, each.sub_memory_bytes, each.alignment);
  }
  return {};
}

}  // namespace

// Generated code divides by lanes and keeps tiles in registers, and a loader checks only the isa of
// its CPU.
std::string machine_fault(const DeviceProfile& profile) {
  const auto* set = std::find_if(std::begin(kInstructionSets), std::end(kInstructionSets),
                                 [&](const auto& s) { return s.isa == profile.isa; });
  if (set == std::end(kInstructionSets)) {
    return fmt::format("'isa' is '{}', it must be avx512bf16, avx512vnni, avx512, avx2 or generic",
                       profile.isa);
  }
  if (profile.llvm_cpu != "x86-64" && profile.llvm_cpu != set->llvm_cpu) {
    return fmt::format("'llvm_cpu' is '{}', for isa {} it must be x86-64 or {}", profile.llvm_cpu,
                       set->isa, set->llvm_cpu);
  }
  if (!has_features(*set, profile.llvm_features)) {
    return fmt::format("'llvm_features' is '{}', for isa {} it may hold + before each of{}",
                       profile.llvm_features, set->isa,
                       set->features.substr(0, set->features.size() - 1));
  }
  const bool has_fma = profile.llvm_cpu != "x86-64" || lists(profile.llvm_features, "+fma");
  if (profile.fused_multiply_add && !has_fma)
    return "'fused_multiply_add' is true, and 'llvm_features' has no +fma";
  if (profile.int8_dot_product && !lists(profile.llvm_features, "+avx512vnni"))
    return "'int8_dot_product' is true, and 'llvm_features' has no +avx512vnni";
  if (profile.bf16_dot_product && !lists(profile.llvm_features, "+avx512bf16"))
    return "'bf16_dot_product' is true, and 'llvm_features' has no +avx512bf16";
  if (!std::has_single_bit(static_cast<uint64_t>(profile.vector_bits)) ||
      profile.vector_bits > set->vector_bits) {
    return fmt::format("'vector_bits' is {}, for isa {} it must be a power of two up to {}",
                       profile.vector_bits, set->isa, set->vector_bits);
  }
  if (profile.vector_registers > set->vector_registers) {
    return fmt::format("'vector_registers' is {}, isa {} has {}", profile.vector_registers,
                       set->isa, set->vector_registers);
  }
  return {};
}

Result<DeviceProfile> parse_profile(std::string_view text) {
  SLUICE_ASSIGN(Json json, json_parse(text));
  ProfileReader reader(json);
  DeviceProfile profile;
  reader.read("name", profile.name);
  reader.read("isa", profile.isa);
  reader.read("llvm_cpu", profile.llvm_cpu);
  reader.read("llvm_features", profile.llvm_features);
  reader.read_int("vector_bits", profile.vector_bits, kVectorBits);
  reader.read_int("vector_registers", profile.vector_registers, kVectorRegisters);
  reader.read("fused_multiply_add", profile.fused_multiply_add);
  reader.read_optional("int8_dot_product", profile.int8_dot_product);
  reader.read_optional("bf16_dot_product", profile.bf16_dot_product);
  reader.read_optional_int("l1_bytes", profile.l1_bytes, kCacheBytes);
  reader.read_optional_int("l1_ways", profile.l1_ways, kCacheWays);
  reader.read_int("l2_bytes", profile.l2_bytes, kCacheBytes);
  reader.read_optional_int("last_cache_bytes", profile.last_cache_bytes, kCacheBytes);
  reader.read_optional("costs", profile.costs);
  reader.read_int("scratch_limit", profile.scratch_limit, kScratchBytes);
  reader.read("engines", profile.engines);
  reader.read("described_engines", profile.described_engines);
  reader.read("composites", profile.composites);
  reader.read("memory_classes", profile.memory_classes);
  reader.read_streams(profile.streams);
  reader.refuse_unread();
  if (std::string fault = machine_fault(profile); !fault.empty())
    reader.shape_mismatch(std::move(fault));
  if (std::string fault = engines_fault(profile); !fault.empty())
    reader.shape_mismatch(std::move(fault));
  if (std::string fault = memory_fault(profile); !fault.empty())
    reader.shape_mismatch(std::move(fault));
  if (reader.fault().empty()) return profile;
  return make_error(ErrorCode::kBadJson, "device profile '{}': {}", profile.name, reader.fault());
}

Result<DeviceProfile> get_profile(std::string_view name) {
  if (name.starts_with("{")) return parse_profile(name);
  if (name.ends_with(".json")) {
    SLUICE_ASSIGN(const std::string text, read_text(std::string(name)));
    auto profile = parse_profile(text);
    if (profile) {
      profile->file = name;
    } else {
      profile.error().file = name;
    }
    return profile;
  }
  for (std::string_view text : kProfileTexts) {
    SLUICE_ASSIGN(DeviceProfile profile, parse_profile(text));
    if (name == profile.name || (name == "native" && cpu_supports(profile.isa))) return profile;
  }
  return make_error(ErrorCode::kBadOption, "there is no device profile '{}'", name)
      .with_hint(fmt::format("known profiles: native, {}", fmt::join(profile_names(), ", ")));
}

Result<void> check_lowerable(const DeviceProfile& profile) {
  std::string names;
  for (const DescribedEngine& engine : profile.described_engines)
    names += (names.empty() ? "" : ", ") + engine.name;
  for (const CompositeEngine& engine : profile.composites)
    names += (names.empty() ? "" : ", ") + engine.name;
  if (names.empty()) return {};
  return make_error(ErrorCode::kNotLowerable,
                    "device profile '{}' has engines that this release cannot lower for: {}",
                    profile.name, names)
      .with_hint(
          "leave 'described_engines' and 'composites' out of the profile: sluice-partition alone "
          "reads them");
}

Result<size_t> find_memory_class(const DeviceProfile& profile, std::string_view name) {
  std::string names;
  for (size_t i = 0; i < profile.memory_classes.size(); ++i) {
    if (name.empty() || profile.memory_classes[i].name == name) return i;
    names += (names.empty() ? "" : ", ") + profile.memory_classes[i].name;
  }
  return make_error(ErrorCode::kBadValue, "device profile '{}' has no memory class '{}'",
                    profile.name, name)
      .with_hint(names.empty()
                     ? "its memory has no classes: leave the annotation memory_class out, "
                       "or choose another --profile"
                     : "it has " + names);
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
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (isa == "avx2") return avx2;
  if (isa == "avx512bf16")
    return cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
  if (isa == "avx512vnni") return cpu_supports("avx512") && __builtin_cpu_supports("avx512vnni");
  if (isa == "avx512") {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }
#endif
  return false;
}

}  // namespace sluice
