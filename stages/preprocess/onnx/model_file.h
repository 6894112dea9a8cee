// An ONNX file whose graph is parsed and whose weights stay in the file.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "onnx.pb.h"

namespace sluice {

struct ModelFile {
  // Tensors with elements above kSmallSegmentBytes name their bytes by `segment`, offsets into
  // `bytes`.
  onnx::ModelProto proto;
  std::string name;    // as the user wrote it, for messages
  std::string path;    // absolute; empty when read from standard input
  std::string folder;  // absolute: external data is searched here
  int64_t mtime_ns = 0;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
  Digest digest;                      // of all bytes except the payloads
};

// Opens a model; "-" is standard input, which is read into memory. For a graph file (file_kind)
// only the bytes are set. Returns kNotFound, kIo or kBadModel.
Result<ModelFile> open_model_file(const std::string& path);
Result<ModelFile> parse_model_file(std::shared_ptr<const std::vector<std::byte>> bytes,
                                   const std::string& name);

}  // namespace sluice
