#include "common/store/handed_over.h"

#include <gtest/gtest.h>

#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

const HandedOverForm kForm{.kind = "kernel", .build = "b1", .artifact = "object"};

class HandedOverTest : public testing::Test {
 protected:
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  static Record record_of(const std::string& content, const std::string& build = "b1") {
    Record record{"kernel", {}, {}};
    record.fields.add("build", build);
    record.fields.add("specification", sha256(std::string_view("what is wanted")));
    record.results.add("object", sha256(std::string_view(content)));
    return record;
  }
  void hand_over(const Record& record, const std::string& artifact) {
    HandedOver::open(file_).value().add(record, bytes_of(artifact));
  }
  Result<void> take() {
    return take_handed_over(MappedFile::open(file_).value().bytes(), kForm, store_);
  }

  TestFolder folder_;
  const std::string file_ = folder_.file("entries");
  Store store_{folder_.file("store")};
};

TEST_F(HandedOverTest, IsMovedIntoTheStore) {
  const Record record = record_of("code");
  hand_over(record, "code");
  hand_over(record, "");  // used again
  EXPECT_TRUE(take());
  ASSERT_TRUE(store_.find(record.key()));
  EXPECT_EQ(store_.find(record.key())->results, record.results);
  EXPECT_TRUE(store_.find_artifact(*record.results.find_digest("object")));
}

TEST_F(HandedOverTest, ReplacesNothing) {
  store_.keep(record_of("code"));
  hand_over(record_of("other code"), "other code");
  EXPECT_TRUE(take());
  EXPECT_EQ(store_.find(record_of("").key())->results, record_of("code").results);
}

TEST_F(HandedOverTest, OtherBytesAreRefused) {
  hand_over(record_of("code"), "evil");
  EXPECT_FALSE(take());
  EXPECT_FALSE(store_.find(record_of("code").key()));
}

TEST_F(HandedOverTest, OtherRecordsAreRefused) {
  Record stage = record_of("code");
  stage.kind = "build";
  Record more = record_of("code");
  more.results.add("output", sha256(std::string_view("model")));
  for (const Record& record : {record_of("code", "b2"), stage, more}) {
    hand_over(record, "code");
    EXPECT_FALSE(take()) << record_text(record);
    EXPECT_FALSE(store_.find(record.key()));
    std::filesystem::remove(file_);
  }
}

TEST_F(HandedOverTest, DamageIsRefused) {
  for (const char* text : {"entry", "entry 1", "entry 99999999999999999999 1\n", "x",
                           "entry 5 18446744073709551615\nabcde"}) {
    EXPECT_FALSE(take_handed_over(bytes_of(std::string(text)), kForm, store_)) << text;
  }
}

}  // namespace
}  // namespace sluice
