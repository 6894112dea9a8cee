// Views of a graph other than its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Returns {"schema", "level", "last_stage", "options", "symbols", "graphs": [{"name", "role",
// "inputs", "outputs", "constants", "nodes"}]}; values and bodies by their names in the text.
std::string graph_json(const Module& module);
// Returns Graphviz text: a cluster for each graph, an edge for each operand, dashed for control
// edges.
std::string graph_dot(const Module& module);
// Returns lines for people: graphs by role, nodes by op and engine, constants by kind with their
// bytes, symbols.
std::string summary_text(const Module& module);

// Returns the graphs whose nodes have streams, in order. Error: kWrongLevel where none has; view:
// the option that needs them, "schedule".
Result<std::vector<const Graph*>> graphs_with_schedule(const Module& module, std::string_view view);
// Returns the tasks of a schedule as a table: stream, events, places of what they write and read.
// Errors as above.
Result<std::string> schedule_text(const Module& module);
// Returns a picture of it (SVG): tasks over time in a lane for each stream, waits as arrows. trace:
// a trace of a run, whose times are shown; empty: estimated times. Errors as above; those of
// reading the trace.
Result<std::string> timeline_svg(const Module& module, const std::string& trace);
Result<std::string> pieces_text(const Module& module);
// The large constants: SHA-256, bytes and place of each in a line.
std::string segments_text(const Module& module);
// Returns a picture of the arenas of a schedule (SVG): offsets over time. Errors as above.
Result<std::string> memory_svg(const Module& module);

}  // namespace sluice
