#include "common/base/digest.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Digest, KnownAnswerOfFips180) {
  Sha256 hash;
  hash.add("a");
  hash.add("bc");
  EXPECT_EQ(digest_hex(hash.finish()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, HexRoundTrips) {
  const std::string hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  ASSERT_TRUE(digest_from_hex(hex).has_value());
  EXPECT_EQ(digest_hex(*digest_from_hex(hex)), hex);
  EXPECT_FALSE(digest_from_hex(hex.substr(1)).has_value());
  EXPECT_FALSE(digest_from_hex("x" + hex.substr(1)).has_value());
}

}  // namespace
}  // namespace sluice
