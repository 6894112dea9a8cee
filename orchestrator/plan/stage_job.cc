#include "orchestrator/plan/stage_job.h"

#include <algorithm>

#include "common/base/files.h"
#include "common/base/options.h"
#include "common/graphfile/header.h"
#include "common/passes_host/pass_file.h"
#include "common/store/build_id.h"
#include "common/target/profile.h"

namespace sluice {
namespace {

constexpr std::string_view kNative = "native ";

Result<std::string> content_digest(const std::string& file) {
  SLUICE_ASSIGN(const MappedFile map, MappedFile::open(file));
  return "content " + digest_hex(sha256(map.bytes()));
}

Result<void> add_option(const std::string& argument, Fields& fields) {
  const size_t equals = std::min(argument.find('='), argument.size());
  const std::string name = argument.substr(2, equals - 2);
  std::string value = argument.substr(std::min(equals + 1, argument.size()));
  if (names_file(name) && !value.empty()) {
    const std::string file = value.substr(value.find_last_of('/') + 1);
    SLUICE_ASSIGN(value, content_digest(value));
    if (name == "rules") value += " " + file;  // graphs have the name, too
  }
  if (name == "pass") {
    SLUICE_ASSIGN(const PassFile pass, read_pass_file(value));
    value = fmt::format("content {} {}={}", pass.digest, pass.option.point->name, pass.option.name);
  }
  fields.add("option." + name, std::move(value));
  return {};
}

// Files of rules, and of passes, run in the order in which they are given.
bool have_order(const std::string& a, const std::string& b) {
  return (a.starts_with("--rules=") && b.starts_with("--rules=")) ||
         (a.starts_with("--pass=") && b.starts_with("--pass="));
}

}  // namespace

void sort_arguments(std::vector<std::string>& arguments) {
  std::ranges::stable_sort(arguments, [](const std::string& a, const std::string& b) {
    return a < b && !have_order(a, b);
  });
}

Result<std::string> profile_field(const std::string& option) {
  if (option.ends_with(".json")) return content_digest(option);
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(option.empty() ? "native" : option));
  // A graph says whether its profile was named, so these are two products.
  return option == profile.name ? option : std::string(kNative) + profile.name;
}

std::string profile_option(const std::string& field) {
  return field.starts_with(kNative) ? "native" : field;
}

Result<Fields> fields_of(const StageJob& job) {
  Fields fields;
  SLUICE_ASSIGN(std::string build, build_id(job.program));
  SLUICE_ASSIGN(std::string profile, profile_field(job.profile));
  fields.add("release", version_text());
  fields.add("build", std::move(build));
  fields.add("input", job.input);
  fields.add("profile", std::move(profile));
  std::vector<std::string> options = job.options;
  sort_arguments(options);
  for (const std::string& option : options)
    if (!option.starts_with("--profile=")) SLUICE_TRY(add_option(option, fields));
  return fields;
}

}  // namespace sluice
