// Converts tensors of an ONNX model to segments. Elements above 1 KiB that already have the form
// the graph needs stay where they are, in the model's file or in a file of external data, and are
// named by digest; the digests are computed here, once, by several threads.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/files.h"
#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "stages/preprocess/onnx/model_file.h"

namespace sluice {

class Constants {
 public:
  // The options read are external-dir (see find_external_file) and max-constant-bytes.
  Constants(const ModelFile& file, Module& module, const Options& options)
      : file_(file),
        module_(module),
        external_dir_(options.text("external-dir")),
        max_bytes_(options.max_constant_bytes()) {}

  // Hashes everything that is in files. Must be called once, before segment().
  Result<void> hash_payloads(int64_t threads);

  // Returns the tensor's segment. Errors (kBadModel; kLimit for one above --max-constant-bytes) say
  // "tensor 'w'", or `where` when it has no name.
  Result<SegmentId> segment(const onnx::TensorProto& tensor, const std::string& where);
  Result<SegmentId> segment(const onnx::SparseTensorProto& tensor, const std::string& where);
  // Returns the digest of a model all of whose payloads were hashed: of their digests and the other
  // bytes.
  const Digest& model_digest() const { return model_digest_; }

 private:
  // Bytes in a file: its index (-1: the model's) and the position. Also the key of their digest.
  struct Payload {
    int file = -1;
    uint64_t offset = 0;
    uint64_t size = 0;
    auto operator<=>(const Payload&) const = default;
  };
  struct Hashed {
    Digest digest;
    bool is_splat = false;
    int element_bytes = 0;
  };

  Result<bool> find_payload(const onnx::TensorProto& tensor, const std::string& where,
                            Payload& payload);
  Result<void> find_external(const onnx::TensorProto& tensor, const std::string& where,
                             Payload& payload);
  Result<int> open_external(const std::string& location, const std::string& where);
  Result<void> gather(const onnx::TensorProto& tensor);
  Result<void> gather(const onnx::GraphProto& graph);
  Result<void> gather(const onnx::NodeProto& node);
  std::span<const std::byte> bytes(const Payload& payload) const;
  const std::string& path_of(const Payload& payload) const;  // empty: the model is in memory
  Result<void> hash_payload(const Payload& payload, Hashed& hashed) const;
  Result<void> check_size(uint64_t bytes, const std::string& name) const;
  Result<SegmentId> from_payload(TypeId type, const Payload& payload, uint64_t expected,
                                 const std::string& where);

  const ModelFile& file_;
  Module& module_;
  std::string external_dir_;
  uint64_t max_bytes_;
  std::vector<MappedFile> external_;
  std::map<std::string, int> external_index_;
  std::map<Payload, Hashed> hashed_;
  Digest model_digest_;
};

}  // namespace sluice
