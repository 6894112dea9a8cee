#include "stages/build/streams/stream_options.h"

namespace sluice {

Result<void> check_stream_options(const Options& options) {
  const std::string mode = options.text("multi-stream-parallel-mode");
  if (!options.flag("enable-single-stream") || mode.empty()) return {};
  return make_error(ErrorCode::kBadOption,
                    "--enable-single-stream is for one stream, --multi-stream-parallel-mode={} for "
                    "several",
                    mode)
      .with_hint("leave one of them out");
}

Result<void> check_single_stream(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    const std::string_view label = user_label(node.placement.stream_label);
    if (label.empty()) continue;
    return make_error(ErrorCode::kBadOption,
                      "{}: has stream_label '{}', and --enable-single-stream is for one stream",
                      node.label(), label)
        .with_hint("leave the option or the labels out");
  }
  return {};
}

Result<void> check_limit(const Graph& graph, const DeviceProfile& profile, std::string_view what,
                         size_t needed, int64_t limit, std::string_view hint) {
  if (limit == 0 || needed <= static_cast<size_t>(limit)) return {};
  return make_error(ErrorCode::kLimit, "graph '{}' needs {} {}, device profile '{}' has {}",
                    graph.name(), needed, what, profile.name, limit)
      .with_hint(std::string(hint));
}

}  // namespace sluice
