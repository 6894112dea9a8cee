// A store of a test, whose files are as old as the test says.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/base/store.h"
#include "common/base/testing/test_folder.h"
#include "common/store/store.h"
#include "gtest/gtest.h"
#include "orchestrator/store/file_system.h"

namespace sluice {

inline constexpr int64_t kDayInNs = int64_t{24} * 3600 * 1'000'000'000;

class StoreFolderTest : public ::testing::Test {
 protected:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  // Keeps an artifact of 100 bytes, which contains the text.
  Digest keep_artifact(std::string text, double days = 0) {
    text.resize(100, '.');
    const Digest digest = store_.keep(std::as_bytes(std::span(text)));
    set_age(artifact(digest), days);
    return digest;
  }

  Digest keep_record(const std::string& kind, const Rows& fields, const Rows& results,
                     double days = 0) {
    Record record{kind, {}, {}};
    for (const auto& [name, value] : fields) record.fields.add(name, value);
    for (const auto& [name, value] : results) record.results.add(name, value);
    store_.keep(record);
    set_age(this->record(record.key()), days);
    return record.key();
  }

  // Keeps an artifact and a record that names it.
  struct Kept {
    Digest artifact;
    Digest key;
  };
  Kept keep(const std::string& text, double days = 0) {
    Kept kept{.artifact = keep_artifact(text, days)};
    kept.key = keep_record("kernel", {{"specification", text}},
                           {{"object", digest_hex(kept.artifact)}}, days);
    return kept;
  }

  static void set_age(const std::string& path, double days) {
    const int64_t time = now_ns() - static_cast<int64_t>(days * static_cast<double>(kDayInNs));
    const timespec at{.tv_sec = time / 1'000'000'000, .tv_nsec = time % 1'000'000'000};
    const timespec times[2] = {at, at};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }

  std::string artifact(const Digest& digest) const { return store_path(path_, digest); }
  std::string record(const Digest& key) const { return record_path(path_, key); }
  bool has(const Kept& kept) const {
    const bool has_record = std::filesystem::exists(record(kept.key));
    EXPECT_EQ(std::filesystem::exists(artifact(kept.artifact)), has_record);
    return has_record;
  }
  std::string write(const std::string& name, std::string_view text, double days = 0) const {
    const std::string path = path_ + "/" + name;
    EXPECT_TRUE(make_directories(std::filesystem::path(path).parent_path()).ok());
    EXPECT_TRUE(write_text(path, text).ok());
    set_age(path, days);
    return path;
  }
  bool exists(const std::string& path) const { return std::filesystem::exists(path); }

  const TestFolder folder_;
  const std::string path_ = folder_.file("store");
  Store store_{path_};
};

}  // namespace sluice
