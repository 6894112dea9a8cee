#include "runtime/device/stream_sharing.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Returns in how many of the runs other threads walked along.
int share_runs(StreamSharing& sharing, int runs, double alone_ns, double shared_ns) {
  int count = 0;
  for (int run = 0; run < runs; ++run) {
    const bool is_shared = sharing.decide();
    sharing.note(is_shared, is_shared ? shared_ns : alone_ns);
    count += is_shared ? 1 : 0;
  }
  return count;
}

TEST(StreamSharing, SharesWhatIsFasterShared) {
  StreamSharing sharing;
  EXPECT_GE(share_runs(sharing, 1000, 200, 100), 990);
}

TEST(StreamSharing, GivesUpWhileOthersKeepTheCoresBusy) {
  StreamSharing sharing;
  share_runs(sharing, 1000, 200, 100);
  share_runs(sharing, 1000, 200, 250);  // learns it
  EXPECT_LE(share_runs(sharing, 1000, 200, 250), 70);
  share_runs(sharing, 1000, 200, 100);
  EXPECT_GE(share_runs(sharing, 1000, 200, 100), 990);
}

TEST(StreamSharing, OneInterruptedRunDecidesNothing) {
  StreamSharing sharing;
  share_runs(sharing, 200, 200, 100);
  sharing.note(true, 1e9);
  EXPECT_GE(share_runs(sharing, 200, 200, 100), 195);
}

}  // namespace
}  // namespace sluice
