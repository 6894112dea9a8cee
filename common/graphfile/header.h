// The 128 bytes that every .sg file starts with. The orchestrator reads nothing else of a graph.
//
//   0  magic "SLUICEG1"           8  u32 schema
//  12  u8 level, u8 last stage, u8 stopped half-way, u8 zero
//  16  u64 graph bytes           24  u64 names bytes
//  32  u64 locations bytes       40  u64 inline segment bytes
//  48  structure digest (32)     80  file digest (32)
// 112  u32 CRC of bytes 0..112, then zeros
//
// Buffers follow in this order, each starting at a multiple of 64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"

namespace sluice {

inline constexpr size_t kGraphHeaderBytes = 128;
inline constexpr uint32_t kGraphSchema = 6;
inline constexpr uint64_t kGraphAlignment = 64;  // of every buffer and inline segment

// The next offset at which a buffer or an inline segment may start.
inline uint64_t graph_aligned(uint64_t offset) {
  return (offset + kGraphAlignment - 1) / kGraphAlignment * kGraphAlignment;
}

struct GraphHeader {
  uint32_t schema = kGraphSchema;
  uint8_t level = 0;       // Level
  uint8_t last_stage = 0;  // StageId
  // The stage after last_stage stopped within its passes and can be resumed from this file.
  bool mid_stage = false;
  uint64_t graph_bytes = 0;
  uint64_t names_bytes = 0;
  uint64_t locations_bytes = 0;
  uint64_t segment_bytes = 0;
  Digest structure_digest;  // SHA-256 of the graph buffer
  Digest file_digest;       // SHA-256 of graph and names buffers
};

// Parses the header. Errors: kBadFile when the bytes are too few or not a header, kNewerSchema when
// the schema is newer than ours, and the error of a failure header.
Result<GraphHeader> parse_graph_header(std::span<const std::byte> bytes);
void print_graph_header(const GraphHeader& header, std::span<std::byte, kGraphHeaderBytes> bytes);

// Returns the version that files contain: release, schema and the LLVM that generates kernels,
// "sluice 0.1.0 schema 5 LLVM 19.1.7".
std::string version_text();

bool is_graph_file(std::span<const std::byte> bytes);  // starts with the magic

}  // namespace sluice
