#include "common/omfile/om_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "common/base/digest.h"
#include "common/base/failure_header.h"
#include "common/base/files.h"
#include "common/base/memory.h"
#include "common/omfile/verify_model.h"
#include "google/protobuf/arena.h"

namespace sluice {
namespace {

constexpr const char* kRecompile = "compile the model again with this release";

bool equals(const Digest& digest, const void* bytes) {
  return std::memcmp(digest.bytes.data(), bytes, digest.bytes.size()) == 0;
}

template <size_t N>
std::string_view field_text(const char (&field)[N]) {
  return {field, std::find(field, field + N, '\0')};
}

Error damaged(std::string_view what) {
  return make_error(ErrorCode::kBadCompiledModel, "{}", what);
}

Result<std::shared_ptr<const pb::ModelDef>> parse_model(std::span<const std::byte> bytes,
                                                        const OmHeader& header) {
  const auto model_bytes = bytes.subspan(header.model_offset, header.model_bytes);
  if (!equals(sha256(model_bytes), header.model_digest))
    return damaged("the model's description is damaged: its digest does not match");
  auto arena = std::make_shared<google::protobuf::Arena>();
  auto* model = google::protobuf::Arena::CreateMessage<pb::ModelDef>(arena.get());
  if (!model->ParseFromArray(model_bytes.data(), static_cast<int>(model_bytes.size()))) {
    return damaged("the model's description cannot be parsed");
  }
  if (model->profile() != field_text(header.profile) || model->isa() != field_text(header.isa) ||
      model->version() != field_text(header.version)) {
    return damaged("header and description name different profiles, ISAs or versions");
  }
  return std::shared_ptr<const pb::ModelDef>(arena, model);
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// Checks that segments follow the description in order, page-aligned, with zeros between, and end
// where the file ends.
Result<void> check_segments(std::span<const std::byte> bytes, const OmHeader& header,
                            const pb::ModelDef& model, bool weights) {
  uint64_t end = header.model_offset + header.model_bytes;
  int count[3] = {};
  for (int i = 0; i < model.segments_size(); ++i) {
    const pb::SegmentDef& segment = model.segments(i);
    const bool kind_known =
        segment.kind() >= pb::SEGMENT_WEIGHTS && segment.kind() <= pb::SEGMENT_GRAPH;
    if (!kind_known)
      return make_error(ErrorCode::kBadCompiledModel, "segment {} has an unknown kind {}", i,
                        static_cast<int>(segment.kind()));
    if (++count[segment.kind()] > 1 && segment.kind() != pb::SEGMENT_GRAPH)
      return damaged("two segments of weights or of kernels");
    if (segment.offset() % kOmPage != 0 || segment.offset() < end ||
        segment.offset() - end >= kOmPage || segment.offset() > bytes.size() ||
        segment.bytes() > bytes.size() - segment.offset()) {
      return make_error(ErrorCode::kBadCompiledModel,
                        "segment {} lies at bytes {} + {}, outside its place in a file of {}", i,
                        segment.offset(), segment.bytes(), bytes.size());
    }
    if (!all_zero(bytes.subspan(end, segment.offset() - end)))
      return damaged("bytes between two segments are not zero");
    if (segment.digest().size() != sizeof(Digest))
      return make_error(ErrorCode::kBadCompiledModel, "segment {} has no digest", i);
    const bool check = weights || segment.kind() != pb::SEGMENT_WEIGHTS;
    if (check && !equals(sha256(bytes.subspan(segment.offset(), segment.bytes())),
                         segment.digest().data())) {
      return make_error(ErrorCode::kBadCompiledModel,
                        "segment {} is damaged: its digest does not match", i);
    }
    end = segment.offset() + segment.bytes();
  }
  if (end != bytes.size()) return damaged("bytes follow the last segment");
  return {};
}

Result<void> check_root(const pb::ModelDef& model) {
  if (model.root().first_node() > model.nodes())
    return make_error(ErrorCode::kBadCompiledModel, "the root's nodes begin at {} of {}",
                      model.root().first_node(), model.nodes());
  const auto graph = model.root().graph();
  if (graph < static_cast<uint32_t>(model.segments_size()) &&
      model.segments(static_cast<int>(graph)).kind() == pb::SEGMENT_GRAPH)
    return {};
  return make_error(ErrorCode::kBadCompiledModel, "segment {} of the root is no graph", graph);
}

Result<void> check_parts(const pb::ModelDef& model, bool test_tasks) {
  if (model.has_root()) {
    SLUICE_TRY(check_root(model));
  } else if (model.parts_size() != 1) {
    return make_error(ErrorCode::kUnsupportedPart, "the model has {} parts and no root",
                      model.parts_size());
  } else if (model.parts(0).has_symbolic()) {
    return make_error(ErrorCode::kUnsupportedPart, "the model has a symbolic part and no root");
  }
  for (const pb::PartDef& part : model.parts()) {
    SLUICE_TRY(verify_part(model, part, test_tasks));
  }
  return {};
}

}  // namespace

Result<OmBytes> OmBytes::open(const std::string& path) {
  if (path == "-") {
    SLUICE_ASSIGN(const std::vector<std::byte> bytes, read_file(path));
    return copy(bytes);
  }
  Descriptor open_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!open_file) return file_error("open", path);
  SLUICE_ASSIGN(MappedFile file, MappedFile::of(open_file.get(), path));
  OmBytes result;
  result.bytes_ = file.bytes();
  result.owner_ = std::make_shared<MappedFile>(std::move(file));
  struct stat status{};
  if (::fstat(open_file.get(), &status) == 0 && S_ISREG(status.st_mode))
    result.file_ = std::make_shared<const Descriptor>(std::move(open_file));
  return result;
}

Result<OmBytes> OmBytes::copy(std::span<const std::byte> bytes) {
  const size_t size = std::max<size_t>(bytes.size(), 1);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return memory_error(bytes.size(), "the compiled model");
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  OmBytes result;
  result.owner_ = std::shared_ptr<const void>(
      memory, [size](const void* address) { ::munmap(const_cast<void*>(address), size); });
  result.bytes_ = {static_cast<const std::byte*>(memory), bytes.size()};
  return result;
}

OmBytes OmBytes::borrow(std::span<const std::byte> bytes) {
  OmBytes result;
  result.bytes_ = bytes;
  return result;
}

std::span<const std::byte> OmFile::segment(int index) const {
  const pb::SegmentDef& def = model->segments(index);
  return file.bytes().subspan(def.offset(), def.bytes());
}

std::span<const std::byte> OmFile::segment(pb::SegmentKind kind) const {
  for (int i = 0; i < model->segments_size(); ++i) {
    if (model->segments(i).kind() == kind) return segment(i);
  }
  return {};
}

Result<OmHeader> read_om_header(std::span<const std::byte> bytes) {
  if (file_kind(bytes) == FileKind::kFailure) return failure_read(bytes);
  if (file_kind(bytes) != FileKind::kCompiledModel) {
    return make_error(ErrorCode::kBadCompiledModel, "not a compiled model")
        .with_hint(file_kind_hint(bytes));
  }
  if (bytes.size() < sizeof(OmHeader)) return damaged("the file is truncated within its header");
  OmHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.format != kOmFormat) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "format {} of compiled models; this release reads format {}", header.format,
                      kOmFormat)
        .with_hint(kRecompile);
  }
  const Digest digest = sha256(bytes.first(offsetof(OmHeader, digest)));
  if (header.header_bytes != sizeof(OmHeader) || !equals(digest, header.digest))
    return damaged("the header is damaged: its digest does not match");
  return header;
}

Result<void> check_om_size(const OmHeader& header, uint64_t bytes) {
  if (header.file_bytes == bytes) return {};
  return make_error(ErrorCode::kBadCompiledModel,
                    "the file has {} bytes, its header says {}: truncated or appended to", bytes,
                    header.file_bytes);
}

Result<OmFile> read_om(OmBytes file, const OmChecks& checks) {
  const auto bytes = file.bytes();
  SLUICE_ASSIGN(const OmHeader header, read_om_header(bytes));
  SLUICE_TRY(check_om_size(header, bytes.size()));
  if (header.model_offset != sizeof(OmHeader) ||
      header.model_bytes > bytes.size() - sizeof(OmHeader) || header.model_bytes > INT32_MAX) {
    return damaged("the model's description lies outside the file");
  }
  const std::string isa(field_text(header.isa));
  if (checks.machine && !machine_runs(isa)) {
    return make_error(ErrorCode::kWrongDevice,
                      "the model was compiled for {} (profile '{}'), which this CPU cannot run",
                      isa, field_text(header.profile))
        .with_hint("compile it with --profile native on this machine");
  }
  SLUICE_ASSIGN(auto model, parse_model(bytes, header));
  SLUICE_TRY(check_segments(bytes, header, *model, checks.weights));
  SLUICE_TRY(verify_om(*model, checks.test_tasks));
  return OmFile{std::move(file), std::move(model)};
}

Result<void> verify_om(const pb::ModelDef& model, bool test_tasks) {
  SLUICE_TRY(verify_model(model));
  return check_parts(model, test_tasks);
}

bool machine_runs(std::string_view isa) {
  if (isa == "generic") return true;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx2") return avx2;
  if (isa == "avx512bf16")
    return machine_runs("avx512vnni") && __builtin_cpu_supports("avx512bf16");
  if (isa == "avx512vnni") return machine_runs("avx512") && __builtin_cpu_supports("avx512vnni");
  return isa == "avx512" && avx2 && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}

}  // namespace sluice
