#include "runtime/loader/om_writer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/loader/om_format.h"

namespace sluice {
namespace {

constexpr std::array<std::byte, kOmPage> kZeros{};

uint64_t round_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// Hands the bytes of a segment to sink(span), pieces and the zeros between them, in order.
template <typename Sink>
Result<void> for_each_span(const OmSegment& segment, Sink sink) {
  uint64_t at = 0;
  auto zeros_up_to = [&](uint64_t end) -> Result<void> {
    while (at < end) {
      const uint64_t piece = std::min<uint64_t>(end - at, kZeros.size());
      SLUICE_TRY(sink(std::span(kZeros).first(piece)));
      at += piece;
    }
    return {};
  };
  for (const OmPiece& piece : segment.pieces) {
    if (piece.offset < at || piece.offset + piece.bytes.size() > segment.bytes) {
      return make_error(ErrorCode::kInternal, "pieces of a segment overlap or leave it at byte {}", piece.offset);
    }
    SLUICE_TRY(zeros_up_to(piece.offset));
    SLUICE_TRY(sink(piece.bytes));
    at += piece.bytes.size();
  }
  return zeros_up_to(segment.bytes);
}

Result<Digest> segment_digest(const OmSegment& segment) {
  if (segment.digest) return *segment.digest;
  Sha256 hash;
  SLUICE_TRY(for_each_span(segment, [&](std::span<const std::byte> bytes) -> Result<void> {
    hash.add(bytes);
    return {};
  }));
  return hash.finish();
}

// Offsets of segments depend on the length of the ModelDef, which holds them as numbers of variable length: grows to a fixed point.
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

Result<OmHeader> make_header(const pb::ModelDef& model, const std::string& model_bytes, uint64_t file_bytes) {
  OmHeader header{};
  std::memcpy(header.magic, kOmMagic, sizeof(kOmMagic));
  header.format = kOmFormat;
  header.header_bytes = sizeof(OmHeader);
  header.file_bytes = file_bytes;
  header.model_offset = sizeof(OmHeader);
  header.model_bytes = model_bytes.size();
  if (!set_text(header.profile, model.profile()) || !set_text(header.isa, model.isa()) || !set_text(header.version, model.version())) {
    return make_error(ErrorCode::kInternal, "profile '{}', isa '{}' or version '{}' is too long for the header", model.profile(),
                      model.isa(), model.version());
  }
  const Digest model_digest = sha256(std::as_bytes(std::span(model_bytes)));
  std::memcpy(header.model_digest, model_digest.bytes.data(), sizeof(header.model_digest));
  const Digest digest = sha256(std::as_bytes(std::span(&header, 1)).first(offsetof(OmHeader, digest)));
  std::memcpy(header.digest, digest.bytes.data(), sizeof(header.digest));
  return header;
}

}  // namespace

Result<void> write_om(FileWriter& writer, pb::ModelDef model, std::span<const OmSegment> segments) {
  model.clear_segments();
  for (const OmSegment& segment : segments) {
    SLUICE_ASSIGN(const Digest digest, segment_digest(segment));
    pb::SegmentDef* def = model.add_segments();
    def->set_kind(segment.kind);
    def->set_bytes(segment.bytes);
    def->set_digest(digest.bytes.data(), digest.bytes.size());
  }
  const uint64_t file_bytes = place_segments(model);
  std::string model_bytes;
  if (!model.SerializeToString(&model_bytes)) return make_error(ErrorCode::kLimit, "the model's description exceeds 2 GiB");
  SLUICE_ASSIGN(const OmHeader header, make_header(model, model_bytes, file_bytes));
  const uint64_t start = writer.offset();
  SLUICE_TRY(writer.write(std::as_bytes(std::span(&header, 1))));
  SLUICE_TRY(writer.write(model_bytes));
  for (size_t i = 0; i < segments.size(); ++i) {
    const uint64_t padding = model.segments(static_cast<int>(i)).offset() - (writer.offset() - start);
    SLUICE_TRY(writer.write(std::span(kZeros).first(padding)));
    SLUICE_TRY(for_each_span(segments[i], [&](std::span<const std::byte> bytes) { return writer.write(bytes); }));
  }
  return {};
}

Result<void> write_om(const std::string& path, pb::ModelDef model, std::span<const OmSegment> segments) {
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(path));
  SLUICE_TRY(write_om(writer, std::move(model), segments));
  return writer.commit();
}

}  // namespace sluice
