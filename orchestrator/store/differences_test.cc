#include "orchestrator/store/differences.h"

#include "common/base/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Rows = std::vector<std::pair<std::string, std::string>>;

Record record_of(const std::string& kind, const Rows& rows) {
  Record record{kind, {}, {}};
  for (const auto& [name, value] : rows) record.fields.add(name, value);
  return record;
}

std::vector<std::string> texts_of(const Rows& a, const Rows& b,
                                  const std::string& kind = "optimize") {
  std::vector<std::string> texts;
  for (const auto& found : differences_of(record_of(kind, a), record_of(kind, b)))
    texts.push_back(found.text);
  return texts;
}

TEST(DifferencesTest, EqualRecordsHaveNone) {
  const Rows rows{{"build", "1"}, {"input", "2"}, {"option.math", "default"}};
  EXPECT_THAT(texts_of(rows, rows), IsEmpty());
}

TEST(DifferencesTest, AreInTheOrderOfTheRecords) {
  EXPECT_THAT(texts_of({{"release", "sluice 1"}, {"build", "1"}, {"input", "2"}, {"profile", "a"}},
                       {{"release", "sluice 2"}, {"build", "3"}, {"input", "4"}, {"profile", "b"}}),
              ElementsAre("release: sluice 1, sluice 2", "build: another build of sluice-optimize",
                          "input: another graph", "profile: a, b"));
}

TEST(DifferencesTest, AnOptionThatIsNotGivenHasItsDefault) {
  EXPECT_THAT(texts_of({}, {{"option.math", "high_precision"}}),
              ElementsAre("option --math: default, high_precision"));
  EXPECT_THAT(texts_of({{"option.skip", "fold-constants"}}, {}),
              ElementsAre("option --skip: fold-constants, not given"));
  EXPECT_THAT(texts_of({{"option.of-another-release", "1"}}, {}),
              ElementsAre("option --of-another-release: 1, not given"));
}

TEST(DifferencesTest, FilesAreCompared) {
  EXPECT_THAT(texts_of({{"option.annotate", "content 1"}}, {{"option.annotate", "content 2"}}),
              ElementsAre("option --annotate: files of other content"));
  EXPECT_THAT(texts_of({{"option.annotate", "content 1"}}, {}),
              ElementsAre("option --annotate: a file, not given"));
}

TEST(DifferencesTest, AnOptionThatIsGivenTwiceIsOne) {
  EXPECT_THAT(texts_of({{"option.dim", "N=1"}, {"option.dim", "M=1"}}, {{"option.dim", "N=1"}}),
              ElementsAre("option --dim: N=1;M=1, N=1"));
}

TEST(DifferencesTest, AKernelIsBuiltBySubgraphOptimize) {
  EXPECT_THAT(texts_of({{"build", "1"}, {"specification", "2"}},
                       {{"build", "3"}, {"specification", "4"}}, "kernel"),
              ElementsAre("build: another build of sluice-subgraph-optimize",
                          "specification: another kernel"));
}

TEST(DifferencesTest, AWholeCompileNamesTheOptionsOfItsStages) {
  EXPECT_THAT(
      texts_of({{"program.optimize", "1"}, {"build.denormals", "ieee"}},
               {{"program.optimize", "2"}, {"subgraph-optimize.math", "high_precision"}},
               "compile"),
      ElementsAre("build: another build of sluice-optimize", "option --denormals: ieee, flush",
                  "option --math: default, high_precision"));
}

TEST(DifferencesTest, ValuesStayAsTheyAre) {
  const auto found = differences_of(record_of("build", {}), record_of("build", {{"x", "1"}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].field, "x");
  EXPECT_EQ(found[0].value[0], std::nullopt);
  EXPECT_EQ(found[0].value[1], "1");
}

}  // namespace
}  // namespace sluice
