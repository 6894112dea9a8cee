#include "stages/subgraph-optimize/engines/kernel_store.h"

#include <charconv>

#include "common/base/log.h"
#include "common/store/build_id.h"
#include "fmt/ranges.h"

namespace sluice {
namespace {

constexpr char kKind[] = "kernel";

template <typename Number>
bool take_number(const Fields& results, const char* name, Number& number) {
  const std::string* text = results.find(name);
  if (text == nullptr) return false;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  return code == std::errc() && end == text->data() + text->size();
}

// The symbols whose product the factor is multiplied by, "0 2"; no text for a fixed extent.
std::string symbols_text(const Extent& extent) {
  return fmt::format("{}", fmt::join(extent.symbols, " "));
}

bool take_extent(const Fields& results, Extent& extent) {
  const std::string* symbols = results.find("multiply_add_symbols");
  if (symbols == nullptr || !take_number(results, "multiply_adds", extent.factor) ||
      !take_number(results, "nominal_multiply_adds", extent.nominal))
    return false;
  for (const char *at = symbols->data(), *end = at + symbols->size(); at < end; ++at) {
    uint16_t symbol = 0;
    const auto [next, code] = std::from_chars(at, end, symbol);
    if (code != std::errc()) return false;
    extent.symbols.push_back(symbol);
    at = next;
  }
  return true;
}

void add_results(const GeneratedKernel& kernel, Fields& results) {
  results.add("entry", kernel.entry);
  results.add("blocks", fmt::format("{}", kernel.blocks));
  results.add("scratch_bytes", fmt::format("{}", kernel.scratch_bytes));
  results.add("multiply_adds", fmt::format("{}", kernel.multiply_adds.factor));
  results.add("multiply_add_symbols", symbols_text(kernel.multiply_adds));
  results.add("multiply_adds_per_block", fmt::format("{}", kernel.multiply_adds_per_block));
  results.add("nominal_multiply_adds", fmt::format("{}", kernel.multiply_adds.nominal));
  results.add("cycles", fmt::format("{}", kernel.cycles));
}

bool take_results(const Fields& results, GeneratedKernel& kernel) {
  const std::string* entry = results.find("entry");
  if (entry == nullptr) return false;
  kernel.entry = *entry;
  return take_number(results, "blocks", kernel.blocks) &&
         take_number(results, "scratch_bytes", kernel.scratch_bytes) &&
         take_number(results, "multiply_adds_per_block", kernel.multiply_adds_per_block) &&
         take_number(results, "cycles", kernel.cycles) &&
         take_extent(results, kernel.multiply_adds);
}

}  // namespace

Result<KernelStore> KernelStore::open(const std::string& path, const std::string& new_kernels,
                                      Faults faults) {
  if (path.empty()) return KernelStore({}, {}, faults);
  SLUICE_ASSIGN(std::string build, own_build_id());
  KernelStore store(path, std::move(build), faults);
  if (!new_kernels.empty()) {
    SLUICE_ASSIGN(HandedOver handed_over, HandedOver::open(new_kernels));
    store.handed_over_.emplace(std::move(handed_over));
  }
  return store;
}

KernelStore::~KernelStore() {
  if (faults_ != Faults::kWarned || store_ == nullptr || !store_->fault()) return;
  log_warning("sluice-subgraph-optimize", *store_->fault() + "; kernels are generated without it");
}

Fields KernelStore::fields(const std::string& specification) const {
  Fields fields;
  fields.add("build", build_);
  fields.add("specification", sha256(specification));
  return fields;
}

std::optional<GeneratedKernel> KernelStore::find(const std::string& specification) const {
  if (!store_->is_used()) return std::nullopt;
  const std::optional<Record> record = store_->find(kKind, fields(specification));
  if (!record) return std::nullopt;
  const std::optional<Digest> object = record->results.find_digest("object");
  GeneratedKernel kernel;
  if (!object || !take_results(record->results, kernel)) return std::nullopt;
  const std::optional<MappedFile> file = store_->find_artifact(*object);
  if (!file) return std::nullopt;
  if (handed_over_) handed_over_->add(*record);
  kernel.object.assign(file->bytes().begin(), file->bytes().end());
  return kernel;
}

void KernelStore::keep(const std::string& specification, const GeneratedKernel& kernel) const {
  if (!store_->is_used()) return;
  Record record{kKind, fields(specification), {}};
  record.results.add("object", handed_over_ ? sha256(kernel.object) : store_->keep(kernel.object));
  add_results(kernel, record.results);
  if (!handed_over_) return store_->keep(record);
  handed_over_->add(record, kernel.object);
}

Digest KernelStore::key(const std::string& specification) const {
  return Record{kKind, fields(specification), {}}.key();
}

std::optional<Digest> KernelStore::keep_graph(std::span<const std::byte> bytes) const {
  const Digest artifact = store_->keep(bytes);
  if (!store_->find_artifact(artifact)) return std::nullopt;
  return artifact;
}

bool KernelStore::keep_job(const std::string& specification, const Digest& graph) const {
  Record job{kKind, fields(specification), {}};
  job.results.add("graph", graph);
  store_->keep_job(job);
  return store_->find_job(job.key()).has_value();
}

}  // namespace sluice
