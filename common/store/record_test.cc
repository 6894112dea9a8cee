#include "common/store/record.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

Record example() {
  Record record{"kernel", {}, {}};
  record.fields.add("specification", sha256(std::string_view("text")));
  record.fields.add("option", "two\nlines and a \\n");
  record.fields.add("empty", "");
  record.results.add("object", sha256(std::string_view("bytes")));
  return record;
}

TEST(RecordTest, TextIsReadBack) {
  const Record record = example();
  const auto back = parse_record(record_text(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, "kernel");
  EXPECT_EQ(back->fields, record.fields);
  EXPECT_EQ(back->results, record.results);
  EXPECT_EQ(back->key(), record.key());
}

TEST(RecordTest, WithoutFieldsOrResults) {
  const Record nothing{"optimize", {}, {}};
  const auto back = parse_record(record_text(nothing));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->fields.rows().empty());
  EXPECT_TRUE(back->results.rows().empty());
}

TEST(RecordTest, ResultsAreNotInTheKey) {
  Record other = example();
  other.results.add("blocks", "8");
  EXPECT_EQ(other.key(), example().key());
}

TEST(RecordTest, NamesArtifacts) {
  Record record = example();
  EXPECT_EQ(record.artifacts(), std::vector{sha256(std::string_view("bytes"))});
  record.results.add("entry", "k_1");
  record.results.add("graph", sha256(std::string_view("graph")));
  record.results.add("weights", sha256(std::string_view("weights")));
  EXPECT_EQ(record.artifacts(),
            (std::vector{sha256(std::string_view("bytes")), sha256(std::string_view("weights"))}));
  EXPECT_TRUE((Record{"optimize", {}, {}}).artifacts().empty());
}

// Names and values are distinguished, however they are put together.
TEST(RecordTest, EveryFieldIsInTheKey) {
  const Digest key = example().key();
  Record kind = example(), value = example(), order{"kernel", {}, {}};
  kind.kind = "kernels";
  value.fields.add("more", "");
  for (auto row = example().fields.rows(); const auto& [name, text] : row)
    order.fields.add(name + "x", text);
  for (const Record* each : {&kind, &value, &order}) EXPECT_NE(each->key(), key);
  Record one{"k", {}, {}}, two{"k", {}, {}};
  one.fields.add("a", "1\nb 2");
  two.fields.add("a", "1");
  two.fields.add("b", "2");
  EXPECT_NE(one.key(), two.key());
}

TEST(RecordTest, NoDamagedTextIsTaken) {
  const std::string text = record_text(example());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_FALSE(parse_record(damaged)) << "byte " << i;
    EXPECT_FALSE(parse_record(text.substr(0, i))) << "cut to " << i;
  }
}

}  // namespace
}  // namespace sluice
