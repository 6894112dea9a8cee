// Takes a .om file: the header, the checks on opening, those of sluice-verify, the JSON of
// sluice-show, and the loader up to the binding of inputs. Its kernels are loaded and relocated,
// never run.
#include "common/base/memory.h"
#include "common/omfile/om_file.h"
#include "common/tools/om_text.h"
#include "common/tools/verify_file.h"
#include "runtime/executor/hybrid_model.h"
#include "tests/fuzz/compiled_model.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

void open_and_verify(const std::vector<std::byte>& bytes) {
  const fuzz::MadeWeights weights = fuzz::make_weights(bytes);
  const bool hash = weights.path.empty();  // files may be as large as sparse files can be
  const auto verified =
      within_memory([&] { return verify_om(bytes, hash, {.model = {}, .given = weights.path}); });
  if (!verified) fuzz::expect_unsupported_reason(verified.error());
  const auto shown = within_memory([&] { return om_json(bytes); });
  if (!shown) fuzz::expect_unsupported_reason(shown.error());
  const auto opened = within_memory([&]() -> Result<void> {
    SLUICE_ASSIGN(OmBytes copy, OmBytes::copy(bytes));
    SLUICE_ASSIGN(const auto model, OpenedModel::open(std::move(copy), {.weights = weights.path}));
    if (model->def().has_root()) {
      SLUICE_ASSIGN(const auto hybrid, HybridModel::lower(model));
    } else {
      SLUICE_ASSIGN(const auto lowered, StaticModel::lower(model, 0));
    }
    return {};
  });
  if (!opened) fuzz::expect_unsupported_reason(opened.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto span = fuzz::bytes_of(data, size);
  std::vector<std::byte> bytes(span.begin(), span.end());
  static_cast<void>(read_om_header(bytes));
  fuzz::seal_om(bytes);
  open_and_verify(bytes);
  return 0;
}
