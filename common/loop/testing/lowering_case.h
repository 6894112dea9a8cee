// Compares the loops of a node, interpreted, with the reference evaluator, for tests of lowerings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "common/loop/loop_graph.h"

namespace sluice::loop {

// One node, or a Fused node with its body, and how to run it.
struct LoweringCase {
  // The graphs as text, without header and symbols: those are the names of `sizes`. The first graph
  // has one node, whose results are its outputs. Types of results may be left out where they can
  // be inferred.
  std::string graphs;
  std::map<std::string, int64_t> sizes = {};
  // The error that is allowed, in units of the result's epsilon (f32: 2^-23) relative to the larger
  // of the value and 1. 0: the same bits; NaN equals NaN.
  double ulps = 0;
  // Values of inputs, by name without sigil; others are random, floats from [-4, 4] and integers
  // from [-9, 9]. Where no range is given, NaN, infinities, zeros and, for ulps 0, the ends of the
  // range of the dtype are among them.
  std::map<std::string, std::pair<double, double>> ranges = {};
  std::map<std::string, Tensor> values = {};
  uint32_t seed = 1;
};

// Runs loops in place of the interpreter, with an error that is allowed for results that are floats
// besides that of the case.
struct LoopsRunner {
  std::function<Result<void>(const LoopGraph& graph, std::span<const int64_t> sizes,
                             std::span<std::byte* const> operands)>
      run;
  double ulps = 0;
};
void set_loops_runner(LoopsRunner runner);

// Returns the graph of a node: one_node("%x: f32[N, 3]", "%y = Relu(%x)"). The outputs are all
// results that the node names.
std::string one_node(const std::string& inputs, const std::string& node);

// Returns an empty text when the loops verify, and what their text parses to computes what the
// evaluator computes, or both fail; otherwise what differs, or why the node was not lowered.
std::string lowering_difference(const LoweringCase& test);

}  // namespace sluice::loop
