// An ONNX file: its graph parsed, its weights left where they lie.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "onnx.pb.h"

namespace sluice {

struct ModelFile {
  onnx::ModelProto proto;  // tensors with elements above kSmallSegmentBytes name their bytes by
                           // `segment`, offsets into `bytes`
  std::string name;        // as the user wrote it, for messages
  std::string path;        // absolute; empty when read from standard input
  std::string folder;      // absolute: where external data is looked for
  int64_t mtime_ns = 0;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
  Digest digest;                      // of everything but the payloads
};

// "-" is standard input, which is read into memory. Of a graph file (file_kind) only the bytes are
// given. Errors: kNotFound, kIo, kBadModel.
Result<ModelFile> open_model_file(const std::string& path);
Result<ModelFile> parse_model_file(std::shared_ptr<const std::vector<std::byte>> bytes,
                                   const std::string& name);

}  // namespace sluice
