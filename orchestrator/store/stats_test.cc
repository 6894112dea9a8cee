#include "orchestrator/store/stats.h"

#include "common/base/json.h"
#include "common/base/store_size.h"
#include "gmock/gmock.h"
#include "orchestrator/store/limit.h"
#include "orchestrator/store/testing/store_folder.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class StatsTest : public StoreFolderTest {
 protected:
  Json json() const {
    const auto text = stats_text(path_, true);
    EXPECT_TRUE(text.ok());
    auto parsed = json_parse(text.value());
    EXPECT_TRUE(parsed.ok());
    return *std::move(parsed);
  }
  int64_t number(const Json& json, const char* kind, const char* name) const {
    const Json* row = json.find("kinds")->find(kind);
    return row == nullptr ? -1 : *row->find(name)->as_int();
  }
};

TEST_F(StatsTest, CountsByKind) {
  keep("a", 3), keep("b", 1);
  const Digest output = keep_artifact("c", 2);
  keep_record("optimize", {{"input", "x"}}, {{"output", digest_hex(output)}}, 2);
  keep_record("optimize", {{"input", "y"}}, {{"output", digest_hex(output)}}, 2);
  keep_artifact("constant");
  const Json found = json();
  EXPECT_EQ(number(found, "kernel", "records"), 2);
  EXPECT_EQ(number(found, "kernel", "artifacts"), 2);
  EXPECT_EQ(number(found, "optimize", "records"), 2);
  EXPECT_EQ(number(found, "optimize", "artifacts"), 1);
  EXPECT_EQ(number(found, "no record", "artifacts"), 1);
  EXPECT_EQ(number(found, "no record", "bytes"), 100);
  EXPECT_EQ(*found.find("artifacts")->as_int(), 4);
  EXPECT_TRUE(found.find("limit")->is_null());
  EXPECT_NEAR(*found.find("oldest_use_seconds")->number(), 3 * 86400.0, 60);
  EXPECT_NEAR(*found.find("newest_use_seconds")->number(), 0, 60);
  EXPECT_EQ(find_store_size(path_), static_cast<uint64_t>(*found.find("bytes")->as_int()));
}

TEST_F(StatsTest, BytesOfFilesWithAnotherNameAreApart) {
  const std::string file = folder_.file("model.om");
  ASSERT_TRUE(write_text(file, "model").ok());
  ASSERT_TRUE(store_.keep_file(file));
  EXPECT_EQ(number(json(), "no record", "linked_bytes"), 5);
  EXPECT_EQ(*json().find("bytes")->as_int(), 0);
  EXPECT_EQ(find_store_size(path_), 5u);
}

TEST_F(StatsTest, TheTableHasARowForEachKindAndTheLimit) {
  keep("a", 3);
  keep_artifact("constant");
  ASSERT_TRUE(set_limit(path_, 10'000'000'000).ok());
  const std::string text = stats_text(path_, false).value();
  EXPECT_THAT(text, HasSubstr("\nkernel                    1          1 "));
  EXPECT_THAT(text, HasSubstr("\nno record                 0          1       100 B "));
  EXPECT_THAT(text, HasSubstr("     3 days"));
  EXPECT_THAT(text, HasSubstr("\nlimit 10.0 GB\n"));
}

TEST_F(StatsTest, AnEmptyStoreHasNoRows) {
  ASSERT_TRUE(make_directories(path_).ok());
  EXPECT_THAT(stats_text(path_, false).value(), MatchesRegex("kind[^\n]*\nno limit\n"));
  EXPECT_TRUE(json().find("oldest_use_seconds")->is_null());
}

}  // namespace
}  // namespace sluice
