// Takes an ONNX model through the whole of sluice-preprocess. External data is looked for in a
// folder that contains none.
#include "common/base/memory.h"
#include "common/graphfile/header.h"
#include "common/text/text.h"
#include "common/verify/verify.h"
#include "stages/preprocess/onnx/import.h"
#include "stages/preprocess/preprocess.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

Result<Module> preprocessed(const uint8_t* data, size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  SLUICE_ASSIGN(ModelFile file, parse_model_file(std::make_shared<const std::vector<std::byte>>(
                                                     bytes.begin(), bytes.end()),
                                                 "fuzzed"));
  file.folder = "/proc/self/task/none";
  StageArgs args;
  SLUICE_TRY(args.options.set("threads", "1"));
  SLUICE_ASSIGN(Module module, import_model(std::move(file), args.options));
  SLUICE_ASSIGN(module, preprocess(std::move(module), args));
  module.level = Level::kTyped;
  module.last_stage = StageId::kPreprocess;
  module.compact();
  return module;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (is_graph_file(fuzz::bytes_of(data, size))) return 0;  // see graph_file_fuzz
  auto module = within_memory([&] { return preprocessed(data, size); });
  if (!module) {
    fuzz::expect_unsupported_reason(module.error());
    return 0;
  }
  if (auto verified = verify(*module, Level::kTyped); !verified) {
    fuzz::finding("the preprocessed graph does not verify",
                  error_text(verified.error()) + "\n" + print_module(*module));
  }
  fuzz::use_module(*module);
  fuzz::run_middle_stages(std::move(*module));
  return 0;
}
