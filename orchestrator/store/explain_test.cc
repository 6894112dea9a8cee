#include "orchestrator/store/explain.h"

#include "common/base/json.h"
#include "common/graphfile/header.h"
#include "gmock/gmock.h"
#include "orchestrator/store/find_record.h"
#include "orchestrator/store/testing/store_folder.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using End = Explanation::End;

class ExplainTest : public StoreFolderTest {
 protected:
  // Keeps a record of a stage that made `graph` of `input`, both known by a word, with the header
  // of a graph file as artifact; returns its key as text.
  std::string stage(const std::string& kind, const std::string& input, const std::string& graph,
                    Rows more = {}, const std::string& structure = "") {
    more.insert(more.begin(), {"input", digest_hex(sha256(input))});
    GraphHeader header;
    header.file_digest = sha256(graph);
    header.structure_digest = sha256(structure.empty() ? graph : structure);
    std::array<std::byte, kGraphHeaderBytes> bytes;
    print_graph_header(header, bytes);
    const Digest output = store_.keep(bytes);
    return digest_hex(keep_record(
        kind, more, {{"output", digest_hex(output)}, {"graph", digest_hex(sha256(graph))}}));
  }

  Explanation explained(const std::string& a, const std::string& b) const {
    auto found = explain(path_, a, b);
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found ? *std::move(found) : Explanation{};
  }

  static std::vector<std::string> kinds_of(const Explanation& found) {
    std::vector<std::string> kinds;
    for (const StageDifference& stage : found.stages) kinds.push_back(stage.kind);
    return kinds;
  }

  ErrorCode code_of(const std::string& a) const {
    const auto found = explain(path_, a, a);
    return found ? ErrorCode{} : found.error().code;
  }
};

TEST_F(ExplainTest, AnOptionOfTheStageItself) {
  const std::string a = stage("optimize", "model", "g1"),
                    b = stage("optimize", "model", "g2", {{"option.math", "high_precision"}});
  const Explanation found = explained(a, b);
  EXPECT_EQ(found.end, End::kItself);
  EXPECT_THAT(explanation_text(found),
              HasSubstr("optimize " + a.substr(0, 16) + ", " + b.substr(0, 16) +
                        "\n  option --math: default, high_precision\n"
                        "optimize is the first that differs by itself\n"));
}

TEST_F(ExplainTest, AnInputIsFollowedToTheFirstStageThatDiffers) {
  stage("optimize", "model", "o");
  stage("partition", "o", "p1"), stage("partition", "o", "p2", {{"profile", "cpu-avx2"}});
  stage("subgraph-optimize", "p1", "s1"), stage("subgraph-optimize", "p2", "s2");
  const std::string a = stage("build", "s1", "b1"), b = stage("build", "s2", "b2");
  const Explanation found = explained(a, b);
  EXPECT_THAT(kinds_of(found), ElementsAre("build", "subgraph-optimize", "partition"));
  EXPECT_EQ(found.end, End::kItself);
  EXPECT_EQ(found.stages.back().differences.at(0).text, "profile: not given, cpu-avx2");
  EXPECT_THAT(explanation_text(found), HasSubstr("partition is the first that differs by itself"));
}

TEST_F(ExplainTest, TheChainEndsAtTheImportedModel) {
  stage("optimize", "model 1", "o1"), stage("optimize", "model 2", "o2");
  const std::string a = stage("partition", "o1", "p1"), b = stage("partition", "o2", "p2");
  const Explanation found = explained(a, b);
  EXPECT_EQ(found.end, End::kImported);
  EXPECT_EQ(found.inputs[0], sha256(std::string_view("model 1")));
  EXPECT_EQ(found.have_equal_structure, false);
  const std::string text = explanation_text(found);
  EXPECT_THAT(text, HasSubstr("the imported graphs differ: structure or names or constants"));
  EXPECT_THAT(text, HasSubstr("--dim"));
  EXPECT_THAT(text, HasSubstr("after optimize their structure differs, too"));
}

TEST_F(ExplainTest, NamesAlone) {
  const std::string a = stage("optimize", "model 1", "o1", {}, "same"),
                    b = stage("optimize", "model 2", "o2", {}, "same");
  const Explanation found = explained(a, b);
  EXPECT_EQ(found.have_equal_structure, true);
  EXPECT_THAT(explanation_text(found),
              HasSubstr("after optimize their structure is equal: only names differ"));
  std::filesystem::remove_all(
      path_ + "/" +
      digest_hex(
          *find_record(*read_content(path_), *digest_from_hex(a))->results.find_digest("output"))
          .substr(0, 2));
  EXPECT_EQ(explained(a, b).have_equal_structure, std::nullopt);
}

TEST_F(ExplainTest, ARecordInBetweenMayBeLost) {
  const std::string a = stage("build", "s1", "b1"), b = stage("build", "s2", "b2");
  EXPECT_EQ(explained(a, b).end, End::kLost);
  EXPECT_THAT(explanation_text(explained(a, b)), HasSubstr("is not in the store any more"));
}

// Options that make no difference have several records for one graph.
TEST_F(ExplainTest, OfSeveralMakersTheNearestAreCompared) {
  stage("optimize", "model", "o1", {{"option.skip", "y"}});
  stage("optimize", "model", "o1", {{"option.skip", "x"}, {"option.math", "default"}});
  stage("optimize", "model", "o2", {{"option.skip", "y"}, {"profile", "cpu-avx2"}});
  const std::string a = stage("partition", "o1", "p1"), b = stage("partition", "o2", "p2");
  const Explanation found = explained(a, b);
  ASSERT_EQ(found.stages.size(), 2u);
  ASSERT_EQ(found.stages[1].differences.size(), 1u);
  EXPECT_EQ(found.stages[1].differences[0].field, "profile");
}

TEST_F(ExplainTest, KeysOfDifferentStages) {
  const std::string a = stage("optimize", "model", "o"), b = stage("partition", "o", "p");
  const Explanation found = explained(a, b);
  EXPECT_EQ(found.end, End::kKinds);
  EXPECT_THAT(explanation_text(found), HasSubstr("of optimize and of partition"));
}

TEST_F(ExplainTest, OneKey) {
  const std::string a = stage("optimize", "model", "o");
  EXPECT_EQ(explained(a, a.substr(0, 8)).end, End::kEqual);
  EXPECT_EQ(explanation_text(explained(a, a)), "both are one key\n");
}

TEST_F(ExplainTest, ACircleEnds) {
  const std::string a = stage("optimize", "x1", "x1"), b = stage("optimize", "x2", "x2");
  EXPECT_EQ(explained(a, b).stages.size(), 64u);
}

TEST_F(ExplainTest, AFileIsFoundByItsBytes) {
  const std::string a = stage("build", "s", "b1"), b = stage("build", "s", "b2", {{"build", "7"}});
  const auto output = [&](const std::string& key) {
    return *find_record(*read_content(path_), *digest_from_hex(key))->results.find_digest("output");
  };
  const std::string file = folder_.file("model.om");
  std::filesystem::copy_file(artifact(output(a)), file);
  const Explanation found = explained(file, artifact(output(b)));
  ASSERT_EQ(found.stages.size(), 1u);
  EXPECT_EQ(digest_hex(found.stages[0].keys[0]), a);
  EXPECT_EQ(digest_hex(found.stages[0].keys[1]), b);
}

TEST_F(ExplainTest, OfSeveralRecordsOfAFileTheLastUsedCounts) {
  const Digest output = keep_artifact("model");
  const Rows results{{"output", digest_hex(output)}};
  keep_record("build", {{"x", "1"}}, results, 5);
  const Digest last = keep_record("build", {{"x", "2"}}, results, 1);
  keep_record("build", {{"x", "3"}}, results, 3);
  EXPECT_EQ(find_key(*read_content(path_), artifact(output)).value(), last);
}

TEST_F(ExplainTest, AStageSaysMoreOfAFileThanTheWholeCompile) {
  const Digest output = keep_artifact("model");
  const Rows results{{"output", digest_hex(output)}};
  const Digest stage = keep_record("build", {{"x", "1"}}, results, 5);
  keep_record("compile", {{"x", "1"}}, results, 1);
  EXPECT_EQ(find_key(*read_content(path_), artifact(output)).value(), stage);
}

TEST_F(ExplainTest, AJobIsExplainedToo) {
  Record one{"compile", {}, {}}, two{"compile", {}, {}};
  one.fields.add("input", sha256(std::string_view("model 1")));
  two.fields.add("input", sha256(std::string_view("model 2")));
  for (const Record& job : {one, two}) store_.keep_job(job);
  store_.keep_failure(one);
  store_.keep(two);
  const Explanation found =
      explained(digest_hex(one.key()).substr(0, 12), digest_hex(two.key()).substr(0, 12));
  EXPECT_THAT(kinds_of(found), ElementsAre("compile"));
  EXPECT_EQ(found.end, End::kImported);
}

TEST_F(ExplainTest, WhatNamesNoRecordIsAnError) {
  const std::string a = stage("optimize", "model", "o");
  EXPECT_EQ(code_of("0123456789"), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(a.substr(0, 7)), ErrorCode::kNotFound) << "8 digits are needed";
  EXPECT_EQ(code_of(folder_.file("none.om")), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(write("file", "text")), ErrorCode::kNotFound);
  ASSERT_TRUE(write_text(record(*digest_from_hex(a)), "damaged").ok());
  EXPECT_EQ(code_of(a), ErrorCode::kBadFile);
}

TEST_F(ExplainTest, DigitsThatSeveralKeysBeginWithAreRefused) {
  const std::string a = stage("optimize", "model", "o");
  std::string other = a;
  other.back() = other.back() == '0' ? '1' : '0';
  write("records/" + a.substr(0, 2) + "/" + other, "");
  const auto found = explain(path_, a.substr(0, 8), a);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kBadOption);
  EXPECT_THAT(found.error().message, HasSubstr("2 keys begin with '" + a.substr(0, 8) + "'"));
}

TEST_F(ExplainTest, TheSameAsJson) {
  const std::string a = stage("optimize", "model 1", "o1"),
                    b = stage("optimize", "model 2", "o2", {{"profile", "x"}});
  const auto json = json_parse(explanation_json(explained(a, b)));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json->find("end")->as_string(), "imported");
  EXPECT_EQ(*json->find("equal_structure")->as_bool(), false);
  const Json& stage = json->find("stages")->as_array()->at(0);
  EXPECT_EQ(*stage.find("keys")->as_array()->at(1).as_string(), b);
  const Json& difference = stage.find("differences")->as_array()->at(1);
  EXPECT_EQ(*difference.find("field")->as_string(), "profile");
  EXPECT_TRUE(difference.find("values")->as_array()->at(0).is_null());
  EXPECT_EQ(*difference.find("values")->as_array()->at(1).as_string(), "x");
}

}  // namespace
}  // namespace sluice
