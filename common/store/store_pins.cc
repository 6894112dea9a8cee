#include "common/store/store_pins.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "common/base/files.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr int kMaxNumber = 10000;
constexpr std::string_view kSince = "since ";
constexpr char kDigits[] = "0123456789";

std::string folder_of_pins(const std::string& store) { return store + "/pins"; }

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "host";
  return file_name_of(name.data());
}

// HOST-PID-N, and a collection touches no file that is called otherwise.
bool is_name_of_pins(const std::string& name) {
  const size_t last = name.rfind('-');
  const size_t first = last == std::string::npos || last == 0 ? last : name.rfind('-', last - 1);
  if (first == std::string::npos || first == 0 || first == last) return false;
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of(kDigits) == std::string::npos;
  };
  return is_number(name.substr(first + 1, last - first - 1)) && is_number(name.substr(last + 1));
}

StoreLock make_locked_file(const std::string& store) {
  const std::string start =
      fmt::format("{}/{}-{}-", folder_of_pins(store), host_name(), ::getpid());
  for (int number = 0; number < kMaxNumber; ++number) {
    StoreLock::Trial trial =
        StoreLock::try_file(start + std::to_string(number), StoreLock::Making::kAlways);
    if (trial.lock || trial.error != 0) return std::move(trial.lock);
  }
  return {};
}

void append(const StoreLock& file, const std::string& line) {
  [[maybe_unused]] const auto written =
      write_descriptor(file.file().get(), std::as_bytes(std::span(line)));
}

void take_pinned(std::string_view line, PinnedFiles& pinned) {
  if (line.starts_with(kSince)) {
    int64_t since = 0;
    std::from_chars(line.data() + kSince.size(), line.data() + line.size(), since);
    pinned.since = std::min(pinned.since, since);
  } else if (const auto digest = digest_from_hex(line)) {
    pinned.digests.insert(*digest);
  }
}

// A line that is being written has no end yet.
void take_lines(std::string_view text, PinnedFiles& pinned) {
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    take_pinned(text.substr(0, end), pinned);
    text.remove_prefix(end + 1);
  }
}

}  // namespace

// The time is that of the file, which is by the clock of the file system, as the uses are.
void StorePins::make_file() {
  const std::string store = std::exchange(store_, {});
  if (store.empty() || !make_directories(folder_of_pins(store))) return;
  file_ = make_locked_file(store);
  struct stat status{};
  if (!file_ || ::fstat(file_.file().get(), &status) != 0) return;
  append(file_,
         fmt::format("{}{}\n", kSince,
                     status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec));
}

void StorePins::start() {
  const std::lock_guard lock(mutex_);
  make_file();
}

void StorePins::add(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  make_file();
  if (file_) append(file_, digest_hex(digest) + "\n");
}

PinnedFiles read_pins(const std::string& store, AbandonedPins abandoned) {
  PinnedFiles pinned;
  std::error_code failed;
  const std::filesystem::directory_iterator files(folder_of_pins(store), failed);
  for (const auto& file : files) {
    const std::string path = file.path().string();
    if (!is_name_of_pins(file.path().filename().string()) || !file.is_regular_file(failed))
      continue;
    StoreLock::Trial trial = StoreLock::try_file(path, StoreLock::Making::kNever);
    if (trial.lock) {
      if (abandoned == AbandonedPins::kKeep) trial.lock.leave_file();
      continue;
    }
    if (const auto text = read_text(path)) take_lines(*text, pinned);
  }
  return pinned;
}

}  // namespace sluice
