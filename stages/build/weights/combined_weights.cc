#include "stages/build/weights/combined_weights.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "common/omfile/external_weights.h"
#include "common/omfile/om_format.h"

namespace sluice {
namespace {

constexpr uint64_t kUncachedBytes = uint64_t{1}
                                    << 30;  // a file of as many leaves the page cache to others

}  // namespace

Result<CombinedWeights> CombinedWeights::create(const WeightsPlace& place, uint64_t bytes) {
  SLUICE_ASSIGN(FileWriter file,
                FileWriter::create(place.combined_file(), FileWriter::Order::kRewriting));
  SLUICE_ASSIGN(FileWriter index, FileWriter::create(place.index_file()));
  const CombinedHeader header{};  // until all digests are known
  SLUICE_TRY(file.write(std::as_bytes(std::span(&header, 1))));
  SLUICE_TRY(file.pad_to(kOmPage));
  if (bytes >= kUncachedBytes) file.begin_uncached();
  return CombinedWeights(place, std::move(file), std::move(index));
}

Result<void> CombinedWeights::begin() { return file_.pad_to(kOmPage); }

Result<void> CombinedWeights::add(std::span<const std::byte> bytes) { return file_.write(bytes); }

Result<void> CombinedWeights::finish(const pb::ModelDef& model) {
  SLUICE_TRY(file_.end_uncached());
  CombinedHeader header{};
  std::memcpy(header.magic, kCombinedMagic, sizeof(header.magic));
  const Digest digest = combined_digest(model);
  std::memcpy(header.digest, digest.bytes.data(), sizeof(header.digest));
  SLUICE_TRY(file_.rewrite(0, std::as_bytes(std::span(&header, 1))));
  return write_index(model);
}

// Writes {"file": …, "weights": {digest: {"offset": …, "bytes": …, "name": …}}}, by offset. Of
// constants with equal bytes the first is listed.
Result<void> CombinedWeights::write_index(const pb::ModelDef& model) {
  const std::string file = std::filesystem::path(place_.combined_file()).filename().string();
  Json weights{Json::Object{}}, index;
  std::set<std::string_view> listed;
  uint64_t offset = kOmPage;
  for (const pb::ExternalWeightDef& weight : model.external_weights()) {
    Json entry;
    entry.set("file", file);
    entry.set("offset", offset);
    entry.set("bytes", weight.bytes());
    entry.set("name", weight.name());
    if (listed.insert(weight.digest()).second)
      weights.set(digest_hex(digest_of(weight)), std::move(entry));
    offset = next_external_offset(offset, weight.bytes());
  }
  index.set("weights", std::move(weights));
  return index_.write(json_dump(index, 2) + "\n");
}

Result<void> CombinedWeights::commit() {
  SLUICE_TRY(file_.commit());
  return index_.commit();
}

}  // namespace sluice
