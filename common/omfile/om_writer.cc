#include "common/omfile/om_writer.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include "common/omfile/om_format.h"

namespace sluice {
namespace {

constexpr std::array<std::byte, kOmPage> kZeros{};

constexpr size_t kCachedBytes = 1 << 20;  // hashed and written at once, while they are in the cache
constexpr uint64_t kUncachedBytes = uint64_t{1}
                                    << 30;  // a segment of as many leaves the page cache to others

uint64_t round_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Writes the bytes of a segment, pieces and the zeros between them, in order; returns their digest.
class SegmentWriter {
 public:
  SegmentWriter(FileWriter& writer, const OmSegment& segment)
      : writer_(writer), segment_(segment) {}

  Result<Digest> write() {
    if (segment_.bytes >= kUncachedBytes) writer_.begin_uncached();
    const OmOutput output = [&](const OmPiece& piece) { return add(piece); };
    if (segment_.stream) {
      SLUICE_TRY(segment_.stream(output));
    } else {
      for (const OmPiece& piece : segment_.pieces) SLUICE_TRY(output(piece));
    }
    SLUICE_TRY(zeros_up_to(segment_.bytes));
    SLUICE_TRY(writer_.end_uncached());
    return hash_.finish();
  }

 private:
  Result<void> add(const OmPiece& piece) {
    if (piece.offset < at_ || piece.offset + piece.bytes.size() > segment_.bytes) {
      return make_error(ErrorCode::kInternal, "pieces of a segment overlap or leave it at byte {}",
                        piece.offset);
    }
    SLUICE_TRY(zeros_up_to(piece.offset));
    return put(piece.bytes);
  }

  Result<void> zeros_up_to(uint64_t end) {
    while (at_ < end)
      SLUICE_TRY(put(std::span(kZeros).first(std::min<uint64_t>(end - at_, kZeros.size()))));
    return {};
  }

  Result<void> put(std::span<const std::byte> bytes) {
    at_ += bytes.size();
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kCachedBytes))) {
      const auto piece = bytes.first(std::min(bytes.size(), kCachedBytes));
      hash_.add(piece);
      SLUICE_TRY(writer_.write(piece));
    }
    return {};
  }

  FileWriter& writer_;
  const OmSegment& segment_;
  Sha256 hash_;
  uint64_t at_ = 0;
};

// Computes the offsets of segments, which depend on the length of the ModelDef, which contains them
// as numbers of variable length: iterates to a fixed point.
uint64_t place_segments(pb::ModelDef& model) {
  uint64_t model_bytes = 0;
  uint64_t end = 0;
  do {
    model_bytes = model.ByteSizeLong();
    end = sizeof(OmHeader) + model_bytes;
    for (pb::SegmentDef& segment : *model.mutable_segments()) {
      segment.set_offset(round_up(end, kOmPage));
      end = segment.offset() + segment.bytes();
    }
  } while (model.ByteSizeLong() != model_bytes);
  return end;
}

template <size_t N>
bool set_text(char (&field)[N], const std::string& text) {
  if (text.size() >= N) return false;
  std::memcpy(field, text.data(), text.size());
  return true;
}

Result<OmHeader> make_header(const pb::ModelDef& model, const std::string& model_bytes,
                             uint64_t file_bytes) {
  OmHeader header{};
  std::memcpy(header.magic, kOmMagic, sizeof(kOmMagic));
  header.format = kOmFormat;
  header.header_bytes = sizeof(OmHeader);
  header.file_bytes = file_bytes;
  header.model_offset = sizeof(OmHeader);
  header.model_bytes = model_bytes.size();
  if (!set_text(header.profile, model.profile()) || !set_text(header.isa, model.isa()) ||
      !set_text(header.version, model.version())) {
    return make_error(ErrorCode::kInternal,
                      "profile '{}', isa '{}' or version '{}' is too long for the header",
                      model.profile(), model.isa(), model.version());
  }
  const Digest model_digest = sha256(std::as_bytes(std::span(model_bytes)));
  std::memcpy(header.model_digest, model_digest.bytes.data(), sizeof(header.model_digest));
  const Digest digest =
      sha256(std::as_bytes(std::span(&header, 1)).first(offsetof(OmHeader, digest)));
  std::memcpy(header.digest, digest.bytes.data(), sizeof(header.digest));
  return header;
}

}  // namespace

Result<void> write_om(const std::string& path, pb::ModelDef model,
                      std::span<const OmSegment> segments, const OmCheck& check,
                      const OmFiles& files) {
  model.clear_segments();
  for (const OmSegment& segment : segments) {
    pb::SegmentDef* def = model.add_segments();
    def->set_kind(segment.kind);
    def->set_bytes(segment.bytes);
    // The length of the digests decides the offsets of the segments.
    def->set_digest(std::string(sizeof(Digest::bytes), '\0'));
  }
  const uint64_t file_bytes = place_segments(model);
  const uint64_t head_bytes = sizeof(OmHeader) + model.ByteSizeLong();
  if (head_bytes > INT_MAX) {
    return make_error(
               ErrorCode::kLimit,
               "the model's description, without weights and kernels, has {} bytes, at most {}",
               head_bytes, INT_MAX)
        .with_hint("compile it in pieces: --out-nodes");
  }
  if (check) SLUICE_TRY(check(model));
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(path, FileWriter::Order::kRewriting));
  if (files.write) SLUICE_TRY(files.write(model));
  for (uint64_t left = head_bytes; left > 0; left -= std::min<uint64_t>(left, kZeros.size())) {
    SLUICE_TRY(writer.write(std::span(kZeros).first(std::min<uint64_t>(left, kZeros.size()))));
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    pb::SegmentDef& def = *model.mutable_segments(static_cast<int>(i));
    SLUICE_TRY(writer.write(std::span(kZeros).first(def.offset() - writer.offset())));
    SLUICE_ASSIGN(const Digest digest, SegmentWriter(writer, segments[i]).write());
    def.set_digest(digest.bytes.data(), digest.bytes.size());
  }
  const std::string model_bytes = model.SerializeAsString();
  SLUICE_ASSIGN(const OmHeader header, make_header(model, model_bytes, file_bytes));
  SLUICE_TRY(writer.rewrite(0, std::as_bytes(std::span(&header, 1))));
  SLUICE_TRY(writer.rewrite(sizeof(header), std::as_bytes(std::span(model_bytes))));
  if (files.commit) SLUICE_TRY(files.commit());
  return writer.commit();
}

}  // namespace sluice
