// The constants of a model that are in files beside it (ModelDef.external_weights). The weights
// region is the weights segment of the .om, then these, each at the next page: every page of the
// region is a page of one file, and so can be mapped.
//
//   region   | segment ·· | weight 0 ······· | weight 1 ··· |          ·: zeros up to the next page
//            0            4096               12288
#pragma once

#include <cstdint>
#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// The first bytes of the file of combined weights, which are followed by zeros up to the first
// page, and then by the region from the first of them on. The digest is combined_digest(), by which
// a file of another model is known, one with the same sizes too.
inline constexpr char kCombinedMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'W', 'T'};
struct CombinedHeader {
  char magic[8];
  uint8_t digest[32];
};

// Returns the bytes of the weights region, of a model whose external weights were verified.
uint64_t weights_bytes(const pb::ModelDef& model);
// Returns the offset in the region at which the first of the external weights lies.
uint64_t external_offset(const pb::ModelDef& model);
// Returns the offset of the next one after one of so many bytes at `offset`.
uint64_t next_external_offset(uint64_t offset, uint64_t bytes);

// Checks that sizes and digests are possible and the region is no larger than memory can be.
Result<void> verify_external_weights(const pb::ModelDef& model);

// Returns the digest of the digests of the external weights, in order.
Digest combined_digest(const pb::ModelDef& model);
Digest digest_of(const pb::ExternalWeightDef& weight);
// Returns "constant 'conv1.weight' (sha256:0123456789abcdef)", for messages.
std::string weight_text(const pb::ExternalWeightDef& weight);

}  // namespace sluice
