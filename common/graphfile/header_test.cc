#include "common/graphfile/header.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice {
namespace {

std::array<std::byte, kGraphHeaderBytes> printed(const GraphHeader& header) {
  std::array<std::byte, kGraphHeaderBytes> bytes;
  print_graph_header(header, bytes);
  return bytes;
}

GraphHeader example_header() {
  GraphHeader header;
  header.level = 2;
  header.last_stage = 3;
  header.graph_bytes = 1000;
  header.names_bytes = 2000;
  header.locations_bytes = 3000;
  header.segment_bytes = uint64_t{1} << 40;
  header.structure_digest = sha256(std::string_view("graph"));
  header.file_digest.bytes[31] = 7;
  return header;
}

TEST(GraphHeader, SurvivesPrintingAndParsing) {
  const auto bytes = printed(example_header());
  const GraphHeader back = *parse_graph_header(bytes);
  EXPECT_EQ(back.level, 2);
  EXPECT_EQ(back.last_stage, 3);
  EXPECT_EQ(back.graph_bytes, 1000u);
  EXPECT_EQ(back.names_bytes, 2000u);
  EXPECT_EQ(back.locations_bytes, 3000u);
  EXPECT_EQ(back.segment_bytes, uint64_t{1} << 40);
  EXPECT_EQ(back.structure_digest, example_header().structure_digest);
  EXPECT_EQ(back.file_digest, example_header().file_digest);
}

TEST(GraphHeader, EveryChangedBitIsAnError) {
  const auto bytes = printed(example_header());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto changed = bytes;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(parse_graph_header(changed).ok()) << "bit " << bit;
  }
}

TEST(GraphHeader, ShortAndNewerFiles) {
  const auto bytes = printed(example_header());
  EXPECT_EQ(parse_graph_header(std::span(bytes).first(127)).error().code, ErrorCode::kBadFile);
  EXPECT_EQ(parse_graph_header({}).error().code, ErrorCode::kBadFile);
  GraphHeader newer = example_header();
  newer.schema = kGraphSchema + 1;
  EXPECT_EQ(parse_graph_header(printed(newer)).error().code, ErrorCode::kNewerSchema);
  EXPECT_TRUE(is_graph_file(bytes));
  EXPECT_FALSE(is_graph_file(std::span(bytes).subspan(1)));
}

}  // namespace
}  // namespace sluice
