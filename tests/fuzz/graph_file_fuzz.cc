// A .sg file: read, verified by its level, printed, written; a typed graph that verifies also goes through the middle stages.
#include <algorithm>
#include <cstring>

#include "common/base/memory.h"
#include "common/graphfile/graphfile.h"
#include "common/graphfile/header.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

using Bytes = std::vector<std::byte>;

// Writes the header anew around its own fields: a CRC that does not match would hide all that lies behind it.
void seal(Bytes& bytes) {
  if (bytes.size() < kGraphHeaderBytes) return;
  GraphHeader header;
  std::memcpy(&header.level, &bytes[12], 1);
  std::memcpy(&header.last_stage, &bytes[13], 1);
  header.half_way = bytes[14] != std::byte{0};
  uint64_t* lengths[] = {&header.graph_bytes, &header.names_bytes, &header.locations_bytes, &header.segment_bytes};
  for (size_t i = 0; i < 4; ++i) std::memcpy(lengths[i], &bytes[16 + 8 * i], 8);
  std::memcpy(header.structure_digest.bytes.data(), &bytes[48], 32);
  std::memcpy(header.file_digest.bytes.data(), &bytes[80], 32);
  print_graph_header(header, std::span<std::byte, kGraphHeaderBytes>(bytes.data(), kGraphHeaderBytes));
}

void use(Bytes bytes) {
  auto module = within_memory([&] { return read_graph(std::make_shared<const Bytes>(std::move(bytes)), "fuzzed"); });
  if (!module) return fuzz::expect_refusal(module.error());
  const bool verifies = fuzz::use_module(*module);
  if (verifies && module->level == Level::kTyped) fuzz::run_middle_stages(std::move(*module));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto span = fuzz::bytes_of(data, size);
  Bytes bytes(span.begin(), span.end());
  static_cast<void>(parse_graph_header(bytes));
  seal(bytes);
  use(std::move(bytes));
  return 0;
}
