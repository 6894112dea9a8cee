// Prints a module or one of its graphs. For common/text and common/tools.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"
#include "common/text/text.h"

namespace sluice::text {

std::string print_expression(const ExpressionTable& table, ExpressionId id);
// Returns "nhwc [1, 8, 8, 64] bytes 16384".
std::string print_storage(const Module& module, const Storage& storage);
// Returns the quoted name of a graph's stream.
std::string stream_name(const Graph& graph, uint32_t stream);
// Return what a text means that says nothing of it: the tasks that hold a buffer, the bytes that a
// value has at its place.
TaskRange implied_held(const MemoryBuffer& buffer);
Dim implied_bytes(const Value& value);
// Returns "arena bytes 4096 offset 0 live "main" [2, 5]".
std::string print_buffer(const Graph& graph, const MemoryBuffer& buffer);
// Returns " bytes 4*n of f32[n, 8]": the bytes of a value that has a place, where its storage or
// type does not imply them, and the wider rows that its rows are parts of.
std::string print_size(const Value& value);
// Returns where a value lies that has a place: its buffer, after the offset within it.
std::string print_place(const Value& value);

class ModulePrinter {
 public:
  explicit ModulePrinter(const Module& module);

  std::string module(const PrintOptions& options);
  std::string attribute(const AttributeValue& value) const;
  std::string constant(SegmentId id) const;  // type and content

 private:
  void collect(const Graph& graph);
  void collect_dim(const Dim& dim);
  void collect_expression(ExpressionId id);
  void collect_type(TypeId id);
  void collect_segment(SegmentId id);
  void header(const PrintOptions& options);
  void symbols();
  void requirements();
  void kernels();
  void numbered_constants();
  void graph(const Graph& graph);
  void node(const Node& node, const std::vector<std::string>& names,
            const std::vector<size_t>& positions);
  std::string definition(const Value& value, const std::string& name) const;
  std::string input(const Value& value, const std::string& name) const;
  std::string placement(const Node& node) const;
  void schedule(const Graph& graph);
  std::string place(const Value& value) const;
  std::string content(const Segment& segment) const;
  std::string elements(const Segment& segment) const;

  const Module& module_;
  std::string out_;
  std::vector<std::string> graph_names_;
  std::vector<bool> symbols_;              // by symbol: mentioned
  std::vector<bool> expressions_;          // by expression: visited
  std::vector<bool> types_;                // by type: visited
  std::vector<bool> segments_;             // by segment: visited
  std::vector<int32_t> numbers_;           // by segment: the number in its "$n", or -1
  std::vector<SegmentId> numbered_;        // by number
  std::vector<std::string> kernel_names_;  // by kernel; empty: not mentioned
  std::vector<KernelId> kernels_;          // in order of first mention
};

}  // namespace sluice::text
