// Prepares damaged .sg files for the fuzz targets.
#pragma once

#include <cstring>
#include <vector>

#include "common/graphfile/header.h"

namespace sluice::fuzz {

// Writes the header anew from its own fields: a CRC that does not match would hide everything after
// it.
inline void seal_graph(std::vector<std::byte>& bytes) {
  if (bytes.size() < kGraphHeaderBytes) return;
  GraphHeader header;
  std::memcpy(&header.level, &bytes[12], 1);
  std::memcpy(&header.last_stage, &bytes[13], 1);
  header.mid_stage = bytes[14] != std::byte{0};
  uint64_t* lengths[] = {&header.graph_bytes, &header.names_bytes, &header.locations_bytes,
                         &header.segment_bytes};
  for (size_t i = 0; i < 4; ++i) std::memcpy(lengths[i], &bytes[16 + 8 * i], 8);
  std::memcpy(header.structure_digest.bytes.data(), &bytes[48], 32);
  std::memcpy(header.file_digest.bytes.data(), &bytes[80], 32);
  print_graph_header(header,
                     std::span<std::byte, kGraphHeaderBytes>(bytes.data(), kGraphHeaderBytes));
}

}  // namespace sluice::fuzz
