#include "common/base/file_kind.h"

#include <gtest/gtest.h>

#include <string_view>

namespace sluice {
namespace {

FileKind kind_of(std::string_view text) { return file_kind(std::as_bytes(std::span(text))); }

TEST(FileKind, IsToldByTheFirstBytes) {
  EXPECT_EQ(kind_of("SLUICEG1..."), FileKind::kGraph);
  EXPECT_EQ(kind_of("SLUICEOM..."), FileKind::kCompiledModel);
  EXPECT_EQ(kind_of("SLUICEFL..."), FileKind::kFailure);
  EXPECT_EQ(kind_of("sluice 1 typed\n"), FileKind::kGraphText);
  EXPECT_EQ(kind_of("\x08\x09\x12\x07pytorch"), FileKind::kOnnx);
  EXPECT_EQ(kind_of("SLUICEX"), FileKind::kUnknown);
  EXPECT_EQ(kind_of("\x08"), FileKind::kUnknown);
  EXPECT_EQ(kind_of(""), FileKind::kUnknown);
}

TEST(FileKind, AHintNamesTheProgram) {
  const std::string_view om = "SLUICEOM";
  EXPECT_NE(file_kind_hint(std::as_bytes(std::span(om))).find("sluice run"), std::string::npos);
  EXPECT_TRUE(file_kind_hint({}).empty());
}

}  // namespace
}  // namespace sluice
