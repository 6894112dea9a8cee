#include "common/passes_host/serve_passes.h"

#include <memory>

#include "common/graphfile/graphfile.h"
#include "common/passes_host/protocol.h"

namespace sluice {
namespace {

Result<void> answer(GraphRequest asked, int output, const RunPass& run) {
  auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(asked.graph));
  auto module = read_graph(std::move(bytes), asked.request.file);
  if (!module) return send_error(output, module.error());
  auto ran = run(*module, asked.request);
  if (!ran) return send_error(output, ran.error());
  if (!ran->changed) return send_answer(output, *ran, {});
  module->erase_unowned();
  const auto made = graph_bytes(*module);
  return made ? send_answer(output, *ran, *made) : send_error(output, made.error());
}

}  // namespace

Result<void> serve_passes(int input, int output, const RunPass& run) {
  while (true) {
    SLUICE_ASSIGN(auto asked, read_request(input));
    if (!asked) return {};
    SLUICE_TRY(answer(*std::move(asked), output, run));
  }
}

}  // namespace sluice
