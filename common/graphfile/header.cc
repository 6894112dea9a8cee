#include "common/graphfile/header.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "common/base/failure_header.h"
#include "common/base/file_kind.h"
#include "common/base/release.h"

namespace sluice {
namespace {

constexpr size_t kCrcAt = 112;

template <typename T>
void take(std::span<const std::byte>& bytes, T& value) {
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
}

template <typename T>
void put(std::span<std::byte>& bytes, const T& value) {
  std::memcpy(bytes.data(), &value, sizeof(T));
  bytes = bytes.subspan(sizeof(T));
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), kCrcAt));
}

}  // namespace

std::string version_text() {
  return fmt::format("sluice {} schema {} LLVM {}", kRelease, kGraphSchema, SLUICE_LLVM_VERSION);
}

bool is_graph_file(std::span<const std::byte> bytes) {
  return file_kind(bytes) == FileKind::kGraph;
}

Result<GraphHeader> parse_graph_header(std::span<const std::byte> bytes) {
  if (file_kind(bytes) == FileKind::kFailure) return failure_read(bytes);
  if (bytes.empty()) {
    return make_error(ErrorCode::kBadFile, "there is no graph: the input is empty")
        .with_hint(
            "in a pipe, the program before ended without a word, as one that is killed does");
  }
  if (!is_graph_file(bytes)) {
    return make_error(ErrorCode::kBadFile,
                      "this is no graph file: it does not start with \"SLUICEG1\"")
        .with_hint(file_kind_hint(bytes));
  }
  if (bytes.size() < kGraphHeaderBytes) {
    return make_error(ErrorCode::kBadFile, "the graph file has {} bytes, less than its header",
                      bytes.size());
  }
  GraphHeader header;
  std::span<const std::byte> remaining = bytes.subspan(sizeof(kGraphMagic));
  take(remaining, header.schema);
  if (header.schema > kGraphSchema) {
    return make_error(ErrorCode::kNewerSchema,
                      "the graph file has schema {}, this release reads up to {}", header.schema,
                      kGraphSchema);
  }
  if (header.schema < kGraphSchema) {
    return make_error(ErrorCode::kBadFile, "the graph file has schema {}, this release reads {}",
                      header.schema, kGraphSchema)
        .with_hint("compile the model again");
  }
  uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + kCrcAt, sizeof(crc));
  const auto zeros = bytes.subspan(kCrcAt + sizeof(crc), kGraphHeaderBytes - kCrcAt - sizeof(crc));
  if (crc != crc_of(bytes) ||
      std::any_of(zeros.begin(), zeros.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return make_error(ErrorCode::kBadFile, "the header of the graph file is damaged");
  }
  uint8_t mid_stage = 0, zero = 0;
  take(remaining, header.level);
  take(remaining, header.last_stage);
  take(remaining, mid_stage);
  take(remaining, zero);
  if (mid_stage > 1 || zero != 0)
    return make_error(ErrorCode::kBadFile, "the header of the graph file is damaged");
  header.mid_stage = mid_stage == 1;
  for (uint64_t* length :
       {&header.graph_bytes, &header.names_bytes, &header.locations_bytes, &header.segment_bytes})
    take(remaining, *length);
  take(remaining, header.structure_digest.bytes);
  take(remaining, header.file_digest.bytes);
  return header;
}

void print_graph_header(const GraphHeader& header, std::span<std::byte, kGraphHeaderBytes> bytes) {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  std::span<std::byte> remaining = bytes;
  put(remaining, kGraphMagic);
  put(remaining, header.schema);
  put(remaining, header.level);
  put(remaining, header.last_stage);
  put(remaining, static_cast<uint8_t>(header.mid_stage ? 1 : 0));
  put(remaining, uint8_t{0});
  for (uint64_t length :
       {header.graph_bytes, header.names_bytes, header.locations_bytes, header.segment_bytes})
    put(remaining, length);
  put(remaining, header.structure_digest.bytes);
  put(remaining, header.file_digest.bytes);
  put(remaining, crc_of(bytes));
}

}  // namespace sluice
