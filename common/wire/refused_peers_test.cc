#include "common/wire/refused_peers.h"

#include <gtest/gtest.h>

#include "fmt/format.h"

namespace sluice {
namespace {

using std::chrono::seconds;

TEST(RefusedPeers, AKeyIsToldOnceUntilItWasLetIn) {
  RefusedPeers peers;
  const auto begin = RefusedPeers::Clock::now();
  for (const int after : {0, 1, 100}) peers.add({"a", "1.2.3.4", "why"}, begin + seconds(after));
  ASSERT_EQ(peers.take().size(), 1u);
  peers.add({"b", "1.2.3.4", "why"}, begin + seconds(101));
  EXPECT_EQ(peers.take().at(0).key, "b");
  peers.forget("a");
  peers.add({"a", "1.2.3.4", "why"}, begin + seconds(102));
  EXPECT_EQ(peers.take().size(), 1u);
}

TEST(RefusedPeers, ThoseWithoutKeysAreToldNowAndThen) {
  RefusedPeers peers;
  const auto begin = RefusedPeers::Clock::now();
  for (int after = 0; after < 30; ++after) peers.add({"", "", "why"}, begin + seconds(after));
  EXPECT_EQ(peers.take().size(), 3u);
}

TEST(RefusedPeers, AFloodOfKeysIsNotAFloodOfLines) {
  RefusedPeers peers;
  const auto begin = RefusedPeers::Clock::now();
  for (int i = 0; i < 5000; ++i) peers.add({fmt::format("{}", i), "", "why"}, begin);
  EXPECT_EQ(peers.take().size(), 60u);
  peers.add({"later", "", "why"}, begin + seconds(61));
  EXPECT_EQ(peers.take().size(), 1u);
}

}  // namespace
}  // namespace sluice
