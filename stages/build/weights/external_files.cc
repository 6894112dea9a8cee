#include "stages/build/weights/external_files.h"

#include <algorithm>

#include "common/base/files.h"
#include "common/base/program.h"
#include "stages/build/weights/stream_weights.h"

namespace sluice {
namespace {

constexpr size_t kCachedBytes = 1 << 20;  // hashed and written at once, while they are in the cache

// Returns the name that the compiled model gets.
std::string model_name(const StageArgs& args) {
  const std::string later = args.options.text("weights-beside");
  return later.empty() ? args.output : later;
}

}  // namespace

Result<void> check_external_files(const StageArgs& args) {
  const bool has_files = external_weight(args.options) != ExternalWeight::kNone &&
                         args.options.text("stop-after").empty();
  return has_files ? check_has_weights_place(model_name(args)) : Result<void>();
}

OmFiles ExternalFiles::files() {
  if (layout_.outside.empty()) return {};
  return {[this](pb::ModelDef& model) { return write(model); }, [this] { return commit(); }};
}

Result<void> ExternalFiles::open() {
  const WeightsPlace place = weights_place(behind_links(model_name(args_)));
  SLUICE_TRY(make_directories(place.folder));
  if (external_weight(args_.options) == ExternalWeight::kShared) {
    shared_.emplace(place);
    return {};
  }
  uint64_t bytes = 0;
  for (const SegmentId segment : layout_.outside) bytes += module_.segment(segment).size;
  SLUICE_ASSIGN(CombinedWeights combined, CombinedWeights::create(place, bytes));
  combined_.emplace(std::move(combined));
  return {};
}

Result<void> ExternalFiles::add(bool begins, std::span<const std::byte> bytes) {
  if (shared_) return shared_->add(bytes);
  if (begins) SLUICE_TRY(combined_->begin());
  return combined_->add(bytes);
}

Result<void> ExternalFiles::write(pb::ModelDef& model) {
  SLUICE_TRY(open());
  SLUICE_ASSIGN(const int64_t threads, args_.options.threads());
  int index = 0;
  uint64_t done = 0;  // bytes of the constant that is being written
  std::optional<Sha256> hash;
  const OmOutput output = [&](const OmPiece& piece) -> Result<void> {
    for (auto bytes = piece.bytes; !bytes.empty();) {
      if (done == 0) hash.emplace();
      const auto some = bytes.first(std::min(bytes.size(), kCachedBytes));
      hash->add(some);
      SLUICE_TRY(add(done == 0, some));
      done += some.size();
      bytes = bytes.subspan(some.size());
    }
    pb::ExternalWeightDef& weight = *model.mutable_external_weights(index);
    if (done < weight.bytes()) return {};
    const Digest digest = hash->finish();
    weight.set_digest(digest.bytes.data(), digest.bytes.size());
    if (shared_) SLUICE_TRY(shared_->end(digest));
    ++index;
    done = 0;
    return {};
  };
  SLUICE_TRY(stream_weights(module_, layout_.outside, layout_, threads, output));
  return combined_ ? combined_->finish(model) : Result<void>();
}

}  // namespace sluice
