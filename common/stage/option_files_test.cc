#include "common/stage/option_files.h"

#include <gtest/gtest.h>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

std::string error_of(const Result<std::string>& result) {
  return result.ok() ? "no error" : result.error().message;
}

TEST(OptionFilesTest, ListsOfOperatorsTravelSorted) {
  const auto lines = mixlist_lines(R"({"white-list": {"to-add": ["Softmax"], "to-remove": ["Gemm"]},
                                       "black-list": {"to-remove": ["Exp"], "to-add": ["Conv"]},
                                       "gray-list": {"to-add": ["Log"]}})");
  ASSERT_TRUE(lines.ok()) << error_text(lines.error());
  EXPECT_EQ(*lines, "Conv deny\nExp gray\nGemm gray\nLog gray\nSoftmax allow\n");
}

TEST(OptionFilesTest, MistakesInListsNameTheKey) {
  EXPECT_EQ(error_of(mixlist_lines(R"({"white-list": {"to-add": ["Convv"]}})")),
            "'white-list.to-add' has \"Convv\", which is no operator");
  EXPECT_EQ(error_of(mixlist_lines(R"({"white-list": {"to-add": "Conv"}})")),
            "'white-list.to-add' must be a list");
  EXPECT_EQ(error_of(mixlist_lines(R"({"gray-list": {"to-remove": ["Conv"]}})")),
            "'gray-list.to-remove' is no list of operators");
  EXPECT_EQ(error_of(mixlist_lines(R"({"red-list": ["Conv"]})")),
            "'red-list' is no list of operators");
  EXPECT_EQ(error_of(mixlist_lines(
                R"({"white-list": {"to-add": ["Exp"]}, "black-list": {"to-add": ["Exp"]}})")),
            "'black-list.to-add' has 'Exp', which another list has too");
  EXPECT_EQ(error_of(mixlist_lines("[]")), "lists of operators are an object");
}

TEST(OptionFilesTest, LinesOfNodesTravelWithoutComments) {
  const auto lines =
      node_dtype_lines("# the head\n\n  /head/MatMul 1\t f32\r\nOpType::Softmax keep\n/a#b bf16");
  ASSERT_TRUE(lines.ok()) << error_text(lines.error());
  EXPECT_EQ(*lines, "/head/MatMul 1 f32\nOpType::Softmax keep\n/a#b bf16\n");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(named_words(*lines),
            (Pairs{{"/head/MatMul 1", "f32"}, {"OpType::Softmax", "keep"}, {"/a#b", "bf16"}}));
}

TEST(OptionFilesTest, MistakesInLinesNameTheLine) {
  EXPECT_EQ(error_of(node_dtype_lines("/a f16\n/b float16\n")),
            "line 2 is '/b float16', expected a node and keep, f32, f16 or bf16");
  EXPECT_EQ(error_of(node_dtype_lines("f16")),
            "line 1 is 'f16', expected a node and keep, f32, f16 or bf16");
}

TEST(OptionFilesTest, TheContentReplacesThePath) {
  const TestFolder folder;
  const std::string path = folder.path() + "/nodes.txt";
  ASSERT_TRUE(write_text(path, "/a   f16\n").ok());
  Options options;
  ASSERT_TRUE(options.set("customize-dtypes", path).ok());
  ASSERT_TRUE(read_option_files(options).ok());
  EXPECT_EQ(options.text("customize-dtypes"), "/a f16\n");
}

TEST(OptionFilesTest, ErrorsNameTheFile) {
  const TestFolder folder;
  const std::string path = folder.path() + "/nodes.txt";
  ASSERT_TRUE(write_text(path, "/a half\n").ok());
  Options options;
  ASSERT_TRUE(options.set("customize-dtypes", path).ok());
  const auto wrong = read_option_files(options);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().file, path);
  ASSERT_TRUE(options.set("customize-dtypes", folder.path() + "/none.txt").ok());
  const auto missing = read_option_files(options);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sluice
