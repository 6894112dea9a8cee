#include "common/sandbox/sandbox_options.h"

#include <unistd.h>

#include <charconv>

#include "common/base/files.h"
#include "common/base/options.h"

namespace sluice {
namespace {

constexpr int kStoreFolders = 256;  // of artifacts, by the first two digits of their digests

uint64_t memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes) : 0;
}

// Returns the value of an option; that of the table when it is not given.
Result<uint64_t> limit(std::string_view option, std::string value) {
  const OptionRow& row = *find_option(option);
  if (value.empty()) value = row.fallback;
  SLUICE_TRY(check_option_value(row, value));
  uint64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace

Result<Sandbox> sandbox_of_options(const std::function<std::string(std::string_view name)>& text) {
  Sandbox sandbox;
  SLUICE_ASSIGN(sandbox.memory_bytes, limit("sandbox-memory", text("sandbox-memory")));
  SLUICE_ASSIGN(sandbox.cpu_seconds, limit("sandbox-seconds", text("sandbox-seconds")));
  SLUICE_ASSIGN(sandbox.file_bytes, limit("sandbox-file-bytes", text("sandbox-file-bytes")));
  if (sandbox.memory_bytes == 0) sandbox.memory_bytes = memory_of_machine();
  return sandbox;
}

void allow_constants(const std::string& store, Sandbox& sandbox) {
  for (int i = 0; i < kStoreFolders; ++i) {
    const std::string folder = fmt::format("{}/{:02x}", store, i);
    if (make_directories(folder)) sandbox.writable.push_back(folder);
  }
}

Error limit_error(std::string_view who, uint64_t limit, std::string_view unit,
                  std::string_view option) {
  return make_error(ErrorCode::kLimit, "{} wants more than the {} {} that --{} allows", who, limit,
                    unit, option)
      .with_hint(fmt::format("allow more with --{}={}", option, limit * 2));
}

Error memory_limit_error(std::string_view who, const Sandbox& sandbox) {
  return limit_error(who, sandbox.memory_bytes, "bytes of memory", "sandbox-memory");
}

Error time_limit_error(std::string_view who, const Sandbox& sandbox) {
  return limit_error(who, sandbox.cpu_seconds, "seconds of processor time", "sandbox-seconds");
}

Error clock_limit_error(std::string_view who, const Sandbox& sandbox) {
  return make_error(ErrorCode::kLimit,
                    "{} has not ended after {} seconds, {} times what --sandbox-seconds allows of "
                    "processor time",
                    who, sandbox.cpu_seconds * kClockFactor, kClockFactor)
      .with_hint(fmt::format("allow more with --sandbox-seconds={}", sandbox.cpu_seconds * 2));
}

Error file_limit_error(std::string_view who, const Sandbox& sandbox) {
  return limit_error(who, sandbox.file_bytes, "bytes of a file", "sandbox-file-bytes");
}

}  // namespace sluice
