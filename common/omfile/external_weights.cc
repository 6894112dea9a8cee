#include "common/omfile/external_weights.h"

#include <cstring>

#include "common/omfile/om_format.h"
#include "common/omfile/verify_model.h"

namespace sluice {
namespace {

uint64_t next_page(uint64_t offset) { return (offset + kOmPage - 1) / kOmPage * kOmPage; }

Error bad_weight(int index, const char* what, uint64_t value) {
  return make_error(ErrorCode::kBadCompiledModel, "external weight {} has {} {}", index, what,
                    value);
}

}  // namespace

uint64_t external_offset(const pb::ModelDef& model) {
  return next_page(segment_bytes(model, pb::SEGMENT_WEIGHTS));
}

uint64_t next_external_offset(uint64_t offset, uint64_t bytes) { return next_page(offset + bytes); }

uint64_t weights_bytes(const pb::ModelDef& model) {
  if (model.external_weights_size() == 0) return segment_bytes(model, pb::SEGMENT_WEIGHTS);
  uint64_t end = external_offset(model);
  for (const pb::ExternalWeightDef& weight : model.external_weights())
    end = next_page(end) + weight.bytes();
  return end;
}

Result<void> verify_external_weights(const pb::ModelDef& model) {
  uint64_t end = external_offset(model);
  for (int i = 0; i < model.external_weights_size(); ++i) {
    const pb::ExternalWeightDef& weight = model.external_weights(i);
    if (weight.digest().size() != sizeof(Digest))
      return bad_weight(i, "a digest of bytes:", weight.digest().size());
    end = next_page(end);
    if (end > kOmArenaLimit || weight.bytes() == 0 || weight.bytes() > kOmArenaLimit - end)
      return bad_weight(i, "an impossible number of bytes:", weight.bytes());
    end += weight.bytes();
  }
  return {};
}

Digest combined_digest(const pb::ModelDef& model) {
  Sha256 hash;
  for (const pb::ExternalWeightDef& weight : model.external_weights()) hash.add(weight.digest());
  return hash.finish();
}

Digest digest_of(const pb::ExternalWeightDef& weight) {
  Digest digest;
  std::memcpy(digest.bytes.data(), weight.digest().data(), digest.bytes.size());
  return digest;
}

std::string weight_text(const pb::ExternalWeightDef& weight) {
  return fmt::format("constant '{}' (sha256:{})", weight.name(),
                     digest_hex(digest_of(weight)).substr(0, 16));
}

}  // namespace sluice
