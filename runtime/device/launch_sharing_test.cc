#include "runtime/device/launch_sharing.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr double kUs = 1e3;

// Runs launches of task 0 that take `alone` ns alone and `shared` ns when they are shared. Returns
// how many of them were shared.
int share(LaunchSharing& sharing, int launches, double alone, double shared) {
  int count = 0;
  for (int i = 0; i < launches; ++i) {
    if (sharing.is_known_tiny(0)) continue;
    if (!sharing.is_worth(0)) {
      sharing.note_alone(0, alone);
      continue;
    }
    sharing.note_shared(0, shared, alone);
    ++count;
  }
  return count;
}

TEST(LaunchSharing, SharesWhatIsFasterShared) {
  for (const double alone : {10 * kUs, 1000 * kUs}) {
    LaunchSharing sharing(1);
    EXPECT_GE(share(sharing, 1000, alone, alone / 2), 990);
  }
}

TEST(LaunchSharing, NeverSharesTinyLaunchesOnceTheyAreKnown) {
  LaunchSharing sharing(1);
  EXPECT_EQ(share(sharing, 1000, 2 * kUs, 1 * kUs), 1);
}

// A launch that was tiny is shared when it takes longer than it did.
TEST(LaunchSharing, NoticesThatALaunchGrew) {
  LaunchSharing sharing(1);
  share(sharing, 100, 1 * kUs, 1 * kUs);
  EXPECT_GE(share(sharing, 1000, 50 * kUs, 25 * kUs), 700);
}

TEST(LaunchSharing, LosesLittleWhereHelpersAreInterrupted) {
  for (const double alone : {10 * kUs, 1000 * kUs}) {
    LaunchSharing sharing(1);
    const int launches = static_cast<int>(2e9 / alone);
    const int shared = share(sharing, launches, alone, 3 * alone);
    EXPECT_GT(shared, 0);
    EXPECT_LT(shared, launches / 20);  // two times `alone` is lost in each
  }
}

TEST(LaunchSharing, SharesAgainWhenTheCoresAreFree) {
  LaunchSharing sharing(1);
  share(sharing, 1000, 100 * kUs, 300 * kUs);
  EXPECT_GT(share(sharing, 1000, 100 * kUs, 50 * kUs), 900);
}

// The time of a large launch is its share, whatever it was before: interruptions of the walker are
// no losses by sharing.
TEST(LaunchSharing, InterruptionsOfTheWalkerAreNoReasonToWorkAlone) {
  LaunchSharing sharing(1);
  share(sharing, 100, 1000 * kUs, 500 * kUs);
  EXPECT_EQ(share(sharing, 100, 9000 * kUs, 4500 * kUs), 100);
}

}  // namespace
}  // namespace sluice
