#include "tests/fuzz/fuzz_target.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/graphfile/graphfile.h"
#include "common/text/text.h"
#include "common/tools/show_onnx/show_onnx.h"
#include "common/verify/verify.h"
#include "stages/optimize/optimize.h"
#include "stages/partition/partition.h"

namespace sluice::fuzz {
namespace {

using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

SharedBytes written(Module& module) {
  auto bytes = graph_bytes(module);
  if (!bytes) expect_unsupported_reason(bytes.error());  // constants whose bytes are not available
  return bytes ? std::make_shared<const std::vector<std::byte>>(std::move(*bytes)) : nullptr;
}

void check_round_trip(Module& module, bool verifies) {
  const SharedBytes bytes = written(module);
  if (bytes == nullptr) return;
  auto again = read_graph(bytes, "written");
  if (!again) finding("what was written does not read", error_text(again.error()));
  const auto verified = verify(*again, again->level);
  if (verifies && !verified)
    finding("what was written no longer verifies", error_text(verified.error()));
  again->made_from = module.made_from;  // a reader inserts the file itself at the front
  const SharedBytes rewritten = written(*again);
  if (rewritten == nullptr || *rewritten != *bytes)
    finding("what was read is written in other bytes", print_module(*again));
}

void check_text(const Module& module, const std::string& text) {
  const auto parsed = parse_module(text, "printed");
  if (!parsed) finding("what was printed does not parse", error_text(parsed.error()) + "\n" + text);
  const std::string again = print_module(*parsed, {.header = true});
  if (again != print_module(module, {.header = true}))
    finding("what was printed and parsed prints differently", text + "---\n" + again);
}

void check_stage(Result<Module> result, Level level) {
  if (!result) return expect_unsupported_reason(result.error());
  result->compact();
  result->level = level;
  if (auto verified = verify(*result, level); !verified) {
    finding("the result of a stage does not verify",
            error_text(verified.error()) + "\n" + print_module(*result));
  }
}

// Reads the module as a stage reads it from a pipe.
Result<Module> reread(Module& module) {
  SLUICE_ASSIGN(auto bytes, graph_bytes(module));
  return read_graph(std::make_shared<const std::vector<std::byte>>(std::move(bytes)), "piped");
}

}  // namespace

void finding(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "finding: %.*s\n%.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(text.size()), text.data());
  std::abort();
}

void expect_unsupported_reason(const Error& error) {
  if (exit_class(error.code) == ExitClass::kInternal)
    finding("bad input is reported as a bug of our own", error_text(error));
  if (error.message.empty()) finding("an error without a message", error_text(error));
}

bool use_module(Module& module) {
  const auto verified = verify(module, module.level);
  if (!verified) expect_unsupported_reason(verified.error());
  static_cast<void>(verify_segments(module));
  module.compact();
  const std::string text = print_module(module, {.header = true});
  static_cast<void>(graph_onnx(module).ok());
  check_round_trip(module, verified.ok());
  if (verified) check_text(module, text);
  return verified.ok();
}

void run_middle_stages(Module module) {
  std::vector<PassReport> report;
  const auto copy = [&] { return reread(module); };
  if (auto input = copy()) check_stage(optimize(std::move(*input), {}, report), Level::kTyped);
  Options options;
  static_cast<void>(options.set("profile", "cpu-generic"));
  if (auto input = copy())
    check_stage(partition(std::move(*input), options, report), Level::kPartitioned);
}

}  // namespace sluice::fuzz
