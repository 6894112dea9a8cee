// Finds a smaller model for which a command still fails.
#pragma once

#include <functional>
#include <string>

#include "common/tools/reduce/command.h"
#include "common/tools/reduce/model.h"

namespace sluice {

struct ReduceRequest {
  std::string input, output;
  std::string scratch;  // a folder for candidates
  std::function<Result<void>(const std::string&)> say;
};

struct Reduced {
  size_t nodes = 0, of = 0;
};

// From the first success on the output is the smallest model found so far, so an interrupt loses
// nothing. Errors: kBadOption when the command does not fail on the input, those of reading and
// writing.
Result<Reduced> reduce_model(const ReduceRequest& request, Command& command);

}  // namespace sluice
