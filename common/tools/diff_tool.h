// Compares two graph files, or the values of two runs, and tells it in lines.
#pragma once

#include <cstddef>
#include <string>

#include "common/base/result.h"

namespace sluice {

struct DiffRequest {
  std::string a, b;
  size_t limit = 0;  // lines; 0: all
  // Of values only:
  double tolerance = 0;
  std::string store,
      model;  // where the constants of the graph `b` are, when they are elsewhere now
};

struct Differences {
  std::string text;
  bool any = false;
};

// Two graph files.
Result<Differences> diff_graphs(const DiffRequest& request);
// a: a folder of values; b: another one, or a graph file, which is evaluated on the inputs in `a`.
// Error: kBadBinding when they have no value in common.
Result<Differences> diff_values(const DiffRequest& request);

}  // namespace sluice
