#include "orchestrator/farm/stage_runs.h"

#include "common/graphfile/header.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// A worker that sees its client's files has no store, and asks nobody for artifacts.
TEST(StageRunsTest, WhereFilesAreNamedNothingIsAskedFor) {
  Store store("");
  int questions = 0;
  Artifacts artifacts(store, [&](const std::string&, const pb::Get&) { return ++questions > 0; });
  std::vector<pb::JobEnd> ends;
  StageRuns runs({.stage = {}, .names_files = true, .folder = {}, .store = {}, .limits = {}}, 1,
                 store, artifacts,
                 [&](const std::string&, pb::JobEnd end) { ends.push_back(std::move(end)); });
  Record record{.kind = kStageKind, .fields = {}, .results = {}};
  record.fields.add("stage", "optimize");
  record.fields.add("release", version_text());
  record.fields.add("reads", "<stdin> " + std::string(64, '0') + " x.sg");
  runs.add("client", "peer", record_text(record));
  runs.turn();
  EXPECT_EQ(questions, 0);
  EXPECT_TRUE(artifacts.take_arrivals().empty());
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].exit_code(), 3u);
  EXPECT_THAT(ends[0].error(), ::testing::HasSubstr("they are to be named"));
}

}  // namespace
}  // namespace sluice
