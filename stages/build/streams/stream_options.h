// The options and the limits that streams are chosen by.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/target/engine_table.h"
#include "common/target/profile.h"

namespace sluice {

// The stream of tasks without a label. A node with this label runs there, too.
inline constexpr std::string_view kMainStream = "main";

// How tasks of one engine are spread over streams.
struct StreamBalance {
  int64_t streams = 2;       // and threads
  bool keeps_main = false;   // the longest path has the first stream for itself
  bool is_automatic = true;  // only where it is worth it
};

// Returns nothing where streams are not balanced: one is asked for, or they are chosen by engine.
std::optional<StreamBalance> stream_balance(const Options& options, const DeviceProfile& profile);

// Returns kBadOption for options that contradict each other.
Result<void> check_stream_options(const Options& options);

// Returns kBadOption for a node with a label of the user, when all tasks are to run in one stream.
Result<void> check_single_stream(const Graph& graph);

// Returns how many tasks the device is given for a node, its waits and records apart.
int64_t tasks_of_node(const Node& node, const DeviceProfile& profile, const EngineTable& table);

// Checks the limits of the device profile for a schedule that the user gave: streams, tasks of
// each, events. Error: kLimit.
Result<void> check_stream_limits(const Graph& root, const Options& options);

// Returns kLimit when a part needs more of something than the device has; limit 0: there is none.
// what: "streams"; hint: what the user can do.
Result<void> check_limit(const Graph& graph, const DeviceProfile& profile, std::string_view what,
                         size_t needed, int64_t limit, std::string_view hint);

}  // namespace sluice
