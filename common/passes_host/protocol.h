// The lines between a stage and a pass host (serve_passes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/passes_host/serve_passes.h"

namespace sluice {

inline constexpr size_t kMaxPassLine = 1 << 20;

struct GraphRequest {
  PassRequest request;
  std::vector<std::byte> graph;
};

std::string request_line(const PassRequest& request, uint64_t bytes);
// Reads one; nothing when the other end is closed.
Result<std::optional<GraphRequest>> read_request(int input);

struct AnswerLine {
  PassAnswer answer;
  uint64_t bytes = 0;          // of the graph, which follows
  std::optional<Error> error;  // of the pass
};
// Errors: kBadReply for a line that is no answer.
Result<AnswerLine> parse_answer(std::string_view line);
Result<void> send_answer(int output, const PassAnswer& answer, std::span<const std::byte> graph);
Result<void> send_error(int output, const Error& error);

}  // namespace sluice
