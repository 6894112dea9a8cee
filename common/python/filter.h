// A Python program as a stage of the pipe: graph in, graph out.
#pragma once

#include <functional>
#include <string>

#include "common/python/module_box.h"

namespace sluice::python {

// Reads a graph ("-": standard input), calls the pass, and writes the graph: byte for byte the one
// that was read if it did not change, else with `digest`, of the program, among what it is made
// from. Fails like a stage: with one message, a failure header for the next program of a pipe, and
// nothing under the name of the output. What the pass prints goes to standard error. Returns the
// exit code; an exception of the pass ends it before anything is written, and passes through.
int run_filter(const std::string& program, const std::string& input, const std::string& output,
               const std::string& digest, const std::function<void(Box)>& pass);

// Ends a filter whose pass or command line failed: prints the error, and writes the failure header
// where another program reads the output. Returns the exit code.
int end_filter(const std::string& program, const std::string& output, bool is_usage,
               const std::string& message, const std::string& hint);

}  // namespace sluice::python
