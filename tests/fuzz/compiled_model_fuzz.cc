// A .om file: the header, the checks on opening, what sluice-verify checks, and the loader up to where inputs would be bound. Its kernels
// are loaded and relocated, never run.
#include <cstring>

#include "common/base/digest.h"
#include "common/base/memory.h"
#include "common/tools/verify_file.h"
#include "runtime/executor/hybrid_model.h"
#include "runtime/loader/om_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

using Bytes = std::vector<std::byte>;

void put_digest(std::span<const std::byte> of, void* at) { std::memcpy(at, sha256(of).bytes.data(), sizeof(Digest)); }

// The digests of the segments that lie in the file. What the new description is longer or shorter by would move them: then they stay.
void seal_segments(Bytes& bytes, const OmHeader& header) {
  pb::ModelDef model;
  if (!model.ParseFromArray(bytes.data() + header.model_offset, static_cast<int>(header.model_bytes))) return;
  for (pb::SegmentDef& segment : *model.mutable_segments()) {
    if (segment.offset() > bytes.size() || segment.bytes() > bytes.size() - segment.offset()) continue;
    std::string digest(sizeof(Digest), '\0');
    put_digest(std::span(bytes).subspan(segment.offset(), segment.bytes()), digest.data());
    segment.set_digest(digest);
  }
  const std::string text = model.SerializeAsString();
  if (text.size() == header.model_bytes) std::memcpy(bytes.data() + header.model_offset, text.data(), text.size());
}

// Every digest made to match, from the innermost out: else nothing behind the first would ever be read.
void seal(Bytes& bytes) {
  if (bytes.size() < sizeof(OmHeader)) return;
  OmHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.file_bytes = bytes.size();
  if (header.model_offset <= bytes.size() && header.model_bytes <= bytes.size() - header.model_offset) {
    seal_segments(bytes, header);
    put_digest(std::span(bytes).subspan(header.model_offset, header.model_bytes), header.model_digest);
  }
  std::memcpy(bytes.data(), &header, sizeof(header));
  put_digest(std::span(bytes).first(offsetof(OmHeader, digest)), header.digest);
  std::memcpy(bytes.data(), &header, sizeof(header));
}

void open_and_verify(const Bytes& bytes) {
  const auto verified = within_memory([&] { return verify_om(bytes, true); });
  if (!verified) fuzz::expect_refusal(verified.error());
  const auto opened = within_memory([&]() -> Result<void> {
    SLUICE_ASSIGN(OmBytes copy, OmBytes::copy(bytes));
    SLUICE_ASSIGN(const auto model, OpenedModel::open(std::move(copy)));
    if (model->def().has_root()) {
      SLUICE_ASSIGN(const auto hybrid, HybridModel::sink(model));
    } else {
      SLUICE_ASSIGN(const auto sunk, StaticModel::sink(model, 0));
    }
    return {};
  });
  if (!opened) fuzz::expect_refusal(opened.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto span = fuzz::bytes_of(data, size);
  Bytes bytes(span.begin(), span.end());
  static_cast<void>(read_om_header(bytes));
  seal(bytes);
  open_and_verify(bytes);
  return 0;
}
