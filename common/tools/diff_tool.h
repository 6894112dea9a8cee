// Compares two graph files, or the values of two runs, and reports the differences in lines.
#pragma once

#include <cstddef>
#include <string>

#include "common/base/result.h"

namespace sluice {

struct DiffRequest {
  std::string a, b;
  size_t limit = 0;                // lines; 0: all
  bool ignores_constants = false;  // of graphs
  // The next members are for values only.
  double tolerance = 0;
  bool is_json = false;  // the text
  // The location of the constants of the graph `b`, when they have moved.
  std::string store, model;
};

struct Differences {
  std::string text;
  bool any = false;
};

// Compares two graph files.
Result<Differences> diff_graphs(const DiffRequest& request);
// Compares values. a: a folder of values; b: another one, or a graph file, which is evaluated on
// the inputs in `a`. Error: kBadBinding when they have no value in common.
Result<Differences> diff_values(const DiffRequest& request);

}  // namespace sluice
