#include "common/omfile/weight_region.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "common/base/digest.h"
#include "common/base/memory.h"
#include "common/omfile/external_weights.h"

namespace sluice {
namespace {

Error cannot_map(uint64_t bytes, const std::string& what) {
  return memory_error(bytes, what)
      .with_hint(
          "give the process more memory; if vm.max_map_count is reached, compile with "
          "--external-weight=2, which maps one file");
}

}  // namespace

Result<WeightRegion> WeightRegion::map(const OmFile& om, const WeightsPath& path) {
  WeightRegion region;
  region.model_ = om.model;
  region.bytes_ = om.segment(pb::SEGMENT_WEIGHTS);
  if (om.model->external_weights_size() == 0) return region;
  SLUICE_TRY(region.reserve(weights_bytes(*om.model)));
  SLUICE_TRY(region.map_segment(om));
  SLUICE_TRY(for_each_weight_file(*om.model, path,
                                  [&](const WeightFile& file) { return region.map_file(file); }));
  return region;
}

Result<void> WeightRegion::reserve(uint64_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return memory_error(bytes, "the weights");
  memory_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                       [bytes](std::byte* begin) { ::munmap(begin, bytes); });
  bytes_ = {memory_.get(), bytes};
  return {};
}

// Maps the weights segment; copies that of a model whose bytes are not in a file.
Result<void> WeightRegion::map_segment(const OmFile& om) {
  const auto segment = om.segment(pb::SEGMENT_WEIGHTS);
  if (segment.empty()) return {};
  const auto start = segment.data() - om.file.bytes().data();
  const int file = om.file.descriptor();
  const int flags = MAP_PRIVATE | MAP_FIXED | (file < 0 ? MAP_ANONYMOUS : 0);
  if (::mmap(memory_.get(), segment.size(), file < 0 ? PROT_READ | PROT_WRITE : PROT_READ, flags,
             file, file < 0 ? 0 : start) == MAP_FAILED)
    return cannot_map(segment.size(), "the weights");
  if (file < 0) std::memcpy(memory_.get(), segment.data(), segment.size());
  return {};
}

Result<void> WeightRegion::map_file(const WeightFile& file) {
  paths_.resize(static_cast<size_t>(file.end), file.path);
  void* memory = ::mmap(memory_.get() + file.offset, file.bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                        file.file.get(), static_cast<off_t>(file.start));
  return memory == MAP_FAILED ? cannot_map(file.bytes, fmt::format("'{}'", file.path))
                              : Result<void>();
}

Result<void> WeightRegion::check_digests() const {
  uint64_t offset = external_offset(*model_);
  for (int i = 0; i < model_->external_weights_size(); ++i) {
    const pb::ExternalWeightDef& weight = model_->external_weights(i);
    const Digest found = sha256(bytes_.subspan(offset, weight.bytes()));
    if (found != digest_of(weight)) {
      return make_error(ErrorCode::kBadCompiledModel,
                        "{} is damaged: '{}' has other bytes, sha256:{}", weight_text(weight),
                        paths_[static_cast<size_t>(i)], digest_hex(found).substr(0, 16))
          .with_hint("compile the model again, which replaces the file");
    }
    offset = next_external_offset(offset, weight.bytes());
  }
  return {};
}

}  // namespace sluice
