#include "common/store/build_id.h"

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(BuildIdTest, AProgramHasTheLinkersDigest) {
  const auto own = own_build_id();
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->size(), 40u) << *own;
  EXPECT_EQ(own->find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(BuildIdTest, AFileWithoutOneHasTheDigestOfItsBytes) {
  const TestFolder folder;
  const std::string path = folder.file("script");
  for (const std::string text : {"#!/bin/sh\n",
                                 "\x7f"
                                 "ELF",
                                 ""}) {
    ASSERT_TRUE(write_text(path, text).ok());
    EXPECT_EQ(build_id(path).value(), digest_hex(sha256(text)));
  }
  EXPECT_FALSE(build_id(folder.file("missing")).ok());
}

// The headers of a program that was cut off lead nowhere.
TEST(BuildIdTest, NoDamagedProgramIsTrusted) {
  const TestFolder folder;
  const std::string path = folder.file("program");
  const auto program = read_file("/proc/self/exe");
  ASSERT_TRUE(program.ok());
  for (size_t size = 0; size < 4096; size += 37) {
    ASSERT_TRUE(write_file(path, std::span(*program).first(size)).ok());
    EXPECT_TRUE(build_id(path).ok());
  }
}

}  // namespace
}  // namespace sluice
