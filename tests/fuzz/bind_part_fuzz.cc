// Takes a .om file, makes its digests match, and binds each of its symbolic parts to sizes: tiny
// ones, and any. The sizes are read from the bytes of the header's own digest, which is recomputed
// anyway.
#include "common/base/memory.h"
#include "tests/fuzz/compiled_model.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

Result<void> bind_parts(std::span<const std::byte> om, std::span<const std::byte> entropy) {
  SLUICE_ASSIGN(const auto model, fuzz::open_with_stand_ins(om));
  if (!model->def().has_root()) return {};
  SLUICE_ASSIGN(const auto hybrid, HybridModel::lower(model));
  for (const bool any : {false, true}) {
    const std::vector<int64_t> symbols = fuzz::draw_symbols(model->def(), entropy, any);
    for (size_t part = 0; part < hybrid->part_count(); ++part) {
      const auto bound = hybrid->part(part, symbols);
      if (!bound) fuzz::expect_unsupported_reason(bound.error());
    }
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  const std::vector<std::byte> om = fuzz::with_stand_ins(bytes);
  if (om.empty()) return 0;
  const auto entropy = bytes.subspan(offsetof(OmHeader, digest), sizeof(Digest));
  const auto done = within_memory([&] { return bind_parts(om, entropy); });
  if (!done) fuzz::expect_unsupported_reason(done.error());
  return 0;
}
