#include "common/base/store_size.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include "common/base/descriptor.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr size_t kDigits = 20;
constexpr int kMaxLockTrials =
    200;  // a process that was stopped may have the lock: a second at most
constexpr std::chrono::milliseconds kPause{5};

std::string size_path(const std::string& store) { return store + "/size"; }

std::optional<uint64_t> read_size(const Descriptor& file) {
  char text[kDigits + 2];  // a longer file is something else
  const ssize_t got = ::pread(file.get(), text, sizeof(text), 0);
  if (got != kDigits + 1 || text[kDigits] != '\n') return std::nullopt;
  uint64_t size = 0;
  const auto [end, code] = std::from_chars(text, text + kDigits, size);
  if (code != std::errc() || end != text + kDigits) return std::nullopt;
  return size;
}

void write_size(const Descriptor& file, uint64_t size) {
  const std::string text = fmt::format("{:0{}}\n", size, kDigits);
  if (::ftruncate(file.get(), kDigits + 1) != 0) return;
  if (::pwrite(file.get(), text.data(), text.size(), 0) < 0) return;
}

Descriptor open_locked(const std::string& store, int flags) {
  Descriptor file(::open(size_path(store).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0666));
  for (int trial = 0; file && trial < kMaxLockTrials; ++trial) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    if (errno != EWOULDBLOCK) break;
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

}  // namespace

std::optional<uint64_t> find_store_size(const std::string& store) {
  const Descriptor file(
      ::open(size_path(store).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  return file ? read_size(file) : std::nullopt;
}

void add_to_store_size(const std::string& store, uint64_t bytes) {
  if (store.empty() || bytes == 0) return;
  const Descriptor file = open_locked(store, 0);
  if (!file) return;
  const std::optional<uint64_t> size = read_size(file);
  if (size && *size <= UINT64_MAX - bytes) write_size(file, *size + bytes);
}

void set_store_size(const std::string& store, uint64_t bytes) {
  if (const Descriptor file = open_locked(store, O_CREAT)) write_size(file, bytes);
}

}  // namespace sluice
