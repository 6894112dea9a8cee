// The program sluice-loader as a function.
#pragma once

#include "runtime/program/loader_options.h"

namespace sluice {

Result<void> run_loader(const LoaderOptions& options);

// Parses the command line, runs the model, prints the error, and returns the exit code.
int loader_main(int argc, const char* const* argv);

}  // namespace sluice
