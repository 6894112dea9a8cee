#include "common/base/work.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace sluice {
namespace {

TEST(Work, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kWorkCount; ++i)
    EXPECT_TRUE(names.insert(work_name(static_cast<Work>(i))).second);
}

TEST(Work, IsWhatWasAddedSince) {
  const WorkCounts before = work_done();
  add_work(Work::kKernels);
  add_work(Work::kKernels, 2);
  EXPECT_EQ(work_since(before)[static_cast<size_t>(Work::kKernels)], 3u);
  EXPECT_EQ(work_since(work_done())[static_cast<size_t>(Work::kKernels)], 0u);
}

TEST(Work, EveryCounterIsDocumented) {
  std::ifstream file(std::filesystem::path(SLUICE_SOURCE_DIR) / "docs" / "statistics.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string rows[] = {
#define SLUICE_WORK(enumerator, name, sentence) "| `" name "` | " sentence " |",
#include "common/base/work.def"
#undef SLUICE_WORK
  };
  for (const std::string& row : rows) {
    EXPECT_NE(text.str().find(row), std::string::npos) << "docs/statistics.md has no " << row;
  }
}

}  // namespace
}  // namespace sluice
