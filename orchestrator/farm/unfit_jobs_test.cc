#include "orchestrator/farm/unfit_jobs.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

using std::chrono::seconds;

class UnfitJobsTest : public ::testing::Test {
 protected:
  void come(const std::string& id, const std::string& profile, const std::string& build) {
    FarmWorker& worker = workers_.get(id);
    worker.id = id;
    worker.beat.set_profile(profile);
    worker.beat.add_builds(build);
  }
  std::string why() { return why_unfit("build 12\nprofile v3\n", workers_); }

  FarmWorkers workers_;
};

TEST_F(UnfitJobsTest, SaysWhatIsLacking) {
  EXPECT_EQ(why(), "no worker is connected");
  come("a", "v3", "build 11");
  EXPECT_EQ(why(), "no worker has the sluice-build of the client, but another build of it");
  come("b", "v4", "build 12");
  EXPECT_EQ(why(), "no worker has both the programs of the client and its profile");
  come("c", "v3", "build 12");
  EXPECT_EQ(why(), "");
  workers_.get("c").is_excluded = true;
  workers_.get("a").is_excluded = true;
  EXPECT_EQ(why(), "no worker has the profile 'v3'");
  workers_.get("b").is_excluded = true;
  EXPECT_EQ(why(), "no worker takes jobs: they drain, or are excluded or gone");
}

TEST_F(UnfitJobsTest, TellsWhatLasts) {
  const FarmLog log("test", false, 0);
  UnfitJobs unfit(log);
  ReadyQueue queue;
  for (const char* name : {"1", "2"})
    queue.put(sha256(std::string_view(name)),
              {.owner = "alice", .needs = "build 12\n", .kind = "compile"});
  const auto now = FarmClock::now();
  unfit.look(queue, workers_, now);
  EXPECT_FALSE(unfit.by_owner().at("alice").is_reported);
  unfit.look(queue, workers_, now + seconds(4));
  EXPECT_TRUE(unfit.by_owner().at("alice").is_reported);
  EXPECT_EQ(unfit.by_owner().at("alice").jobs, 2u);
  come("a", "v3", "build 12");
  unfit.look(queue, workers_, now + seconds(5));
  EXPECT_TRUE(unfit.by_owner().empty());
}

}  // namespace
}  // namespace sluice
