#include "tests/fuzz/compiled_model.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/base/weights_place.h"
#include "common/omfile/external_weights.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/testing/model_builder.h"
#include "runtime/executor/hybrid_run.h"
#include "runtime/executor/run.h"

namespace sluice::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
constexpr const char* kStandIn = "stand-in";

void put_digest(std::span<const std::byte> of, void* at) {
  std::memcpy(at, sha256(of).bytes.data(), sizeof(Digest));
}

bool lies_in(uint64_t offset, uint64_t bytes, size_t size) {
  return offset <= size && bytes <= size - offset;
}

// Recomputes the digests of the segments in the file. If the new description is longer or shorter,
// the segments would move: then their digests stay.
void seal_segments(Bytes& bytes, const OmHeader& header) {
  pb::ModelDef model;
  if (!model.ParseFromArray(bytes.data() + header.model_offset,
                            static_cast<int>(header.model_bytes)))
    return;
  for (pb::SegmentDef& segment : *model.mutable_segments()) {
    if (!lies_in(segment.offset(), segment.bytes(), bytes.size())) continue;
    std::string digest(sizeof(Digest), '\0');
    put_digest(std::span(bytes).subspan(segment.offset(), segment.bytes()), digest.data());
    segment.set_digest(digest);
  }
  const std::string text = model.SerializeAsString();
  if (text.size() == header.model_bytes)
    std::memcpy(bytes.data() + header.model_offset, text.data(), text.size());
}

std::optional<pb::ModelDef> model_of(std::span<const std::byte> om) {
  OmHeader header;
  if (om.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, om.data(), sizeof(header));
  if (!lies_in(header.model_offset, header.model_bytes, om.size())) return std::nullopt;
  pb::ModelDef model;
  if (!model.ParseFromArray(om.data() + header.model_offset, static_cast<int>(header.model_bytes)))
    return std::nullopt;
  return model;
}

// Writes a sparse file. One that is too large for the file system stays shorter.
void put_file(const std::string& path, std::span<const std::byte> begin, uint64_t bytes) {
  static_cast<void>(write_file(path, begin).ok());
  std::error_code too_large;
  std::filesystem::resize_file(path, bytes, too_large);
}

void do_nothing(const KernelArgs*, uint32_t, uint32_t) {}

void put_stand_ins(pb::ModelDef& model) {
  for (pb::KernelDef& kernel : *model.mutable_kernels()) {
    if (kernel.object_bytes() == 0) continue;
    kernel.set_object_bytes(0);
    kernel.set_object_offset(0);
    kernel.set_entry(kStandIn);
  }
  for (pb::PartDef& part : *model.mutable_parts()) {
    for (auto& kind : *part.mutable_fixed()->mutable_task_kind())
      kind = kind == pb::TASK_LAUNCH ? pb::TASK_TEST : kind;
  }
}

// Makes a value of the type, with tiny tensors where dims are open. Null when it would be large, or
// is of a kind that no tensor makes.
std::unique_ptr<HostValue> value_of(const pb::ModelDef& model, uint32_t index,
                                    const TypeSizes& sizes) {
  const pb::TypeDef& type = model.types(static_cast<int>(index));
  auto value = std::make_unique<HostValue>();
  if (type.kind() != pb::VALUE_TENSOR) {
    value->kind =
        type.kind() == pb::VALUE_OPTIONAL ? HostValue::Kind::kNone : HostValue::Kind::kSequence;
    return value;
  }
  std::vector<int64_t> dims;
  for (int dim = 0; dim < type.dims_size(); ++dim)
    dims.push_back(sizes.extent(index, dim).value_or(2));
  const auto count = element_count(dims);
  if (!count || *count > kMaxBytes / 16) return nullptr;
  value->tensors.push_back(HostTensor::of(std::make_shared<const Tensor>(
      make_tensor(static_cast<DType>(type.dtype()), std::move(dims)))));
  return value;
}

Result<void> run_hybrid(const std::shared_ptr<const OpenedModel>& model,
                        std::span<const int64_t> symbols) {
  SLUICE_ASSIGN(auto hybrid, HybridModel::lower(model));
  SLUICE_ASSIGN(const TypeSizes sizes, TypeSizes::bind(model->def(), symbols));
  for (size_t part = 0; part < hybrid->part_count(); ++part) {
    SLUICE_ASSIGN(const auto bound, hybrid->part(part, symbols));
    if (bound->part().memory().arena_bytes() > kMaxBytes) return {};
  }
  SLUICE_ASSIGN(auto device, shared_device(1));
  HybridRun run(hybrid, std::move(device));
  for (int i = 0; i < model->def().inputs_size(); ++i) {
    if (is_state_input(model->def(), static_cast<size_t>(i))) continue;
    const auto value = value_of(model->def(), model->def().inputs(i).type(), sizes);
    if (value == nullptr) return {};
    SLUICE_TRY(run.bind_input(static_cast<size_t>(i), *value));
  }
  SLUICE_TRY(run.execute());
  for (int i = 0; i < model->def().outputs_size(); ++i)
    static_cast<void>(run.output(static_cast<size_t>(i)));
  return {};
}

Result<void> run_fixed(const std::shared_ptr<const OpenedModel>& model) {
  SLUICE_ASSIGN(const auto lowered, StaticModel::lower(model, 0));
  uint64_t bytes = lowered->part().memory().arena_bytes();
  const int bindings = lowered->inputs().size() + lowered->outputs().size();
  for (int i = 0; i < bindings; ++i)
    bytes = std::max(bytes, lowered->binding_bytes(static_cast<size_t>(i)));
  if (bytes > kMaxBytes) return {};
  SLUICE_ASSIGN(auto device, shared_device(1));
  Run run(lowered, std::move(device));
  std::vector<TensorBytes> inputs;
  for (int i = 0; i < lowered->inputs().size(); ++i) {
    const TensorBytes& input =
        inputs.emplace_back(lowered->binding_bytes(static_cast<size_t>(i)), std::byte{0});
    SLUICE_TRY(run.bind_input(static_cast<size_t>(i), input));
  }
  return run.execute();
}

}  // namespace

void seal_om(Bytes& bytes) {
  if (bytes.size() < sizeof(OmHeader)) return;
  OmHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.file_bytes = bytes.size();
  if (lies_in(header.model_offset, header.model_bytes, bytes.size())) {
    seal_segments(bytes, header);
    put_digest(std::span(bytes).subspan(header.model_offset, header.model_bytes),
               header.model_digest);
  }
  std::memcpy(bytes.data(), &header, sizeof(header));
  put_digest(std::span(bytes).first(offsetof(OmHeader, digest)), header.digest);
  std::memcpy(bytes.data(), &header, sizeof(header));
}

Bytes with_stand_ins(std::span<const std::byte> om) {
  auto model = model_of(om);
  if (!model) return {};
  put_stand_ins(*model);
  std::vector<OmSegment> segments;
  for (const pb::SegmentDef& segment : model->segments()) {
    if (!lies_in(segment.offset(), segment.bytes(), om.size())) return {};
    segments.push_back({.kind = segment.kind(),
                        .pieces = {{0, om.subspan(segment.offset(), segment.bytes())}},
                        .bytes = segment.bytes()});
  }
  return testing::om_bytes(*model, segments);
}

MadeWeights make_weights(std::span<const std::byte> om) {
  const auto model = model_of(om);
  const bool has_files =
      model && model->external_weights_size() > 0 && verify_external_weights(*model);
  if (!has_files) return {};
  auto folder = ScratchFolder::create();
  if (!folder) return {};
  const WeightsPlace place{folder->path(), "made"};
  if (model->combined_weights()) {
    const uint64_t bytes = weights_bytes(*model) - external_offset(*model);
    CombinedHeader header{};
    std::memcpy(header.magic, kCombinedMagic, sizeof(kCombinedMagic));
    std::memcpy(header.digest, combined_digest(*model).bytes.data(), sizeof(header.digest));
    put_file(place.combined_file(), std::as_bytes(std::span(&header, 1)), kOmPage + bytes);
    return {std::move(*folder), place.combined_file()};
  }
  for (const pb::ExternalWeightDef& weight : model->external_weights())
    put_file(place.shared_file(digest_of(weight)), {}, weight.bytes());
  return {std::move(*folder), place.folder};
}

Result<std::shared_ptr<const OpenedModel>> open_with_stand_ins(std::span<const std::byte> om) {
  static const TestKernels kernels{{kStandIn, do_nothing}};
  const MadeWeights weights = make_weights(om);
  SLUICE_ASSIGN(OmBytes bytes, OmBytes::copy(om));
  return OpenedModel::open(std::move(bytes), {.weights = weights.path, .test_kernels = &kernels});
}

std::vector<int64_t> draw_symbols(const pb::ModelDef& model, std::span<const std::byte> entropy,
                                  bool any) {
  std::vector<int64_t> symbols;
  for (size_t i = 0; i < static_cast<size_t>(model.sizes().symbols_size()); ++i) {
    uint64_t drawn = i;
    for (size_t k = 0; k < 8 && !entropy.empty(); ++k)
      drawn = drawn << 8 | std::to_integer<uint64_t>(entropy[(8 * i + k) % entropy.size()]);
    symbols.push_back(any && drawn % 4 == 0 ? static_cast<int64_t>(drawn)
                                            : static_cast<int64_t>(drawn / 4 % 6));
  }
  return symbols;
}

Result<void> run_once(const std::shared_ptr<const OpenedModel>& model,
                      std::span<const int64_t> symbols) {
  return model->def().has_root() ? run_hybrid(model, symbols) : run_fixed(model);
}

}  // namespace sluice::fuzz
