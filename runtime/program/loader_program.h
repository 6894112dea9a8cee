// sluice-loader as a function.
#pragma once

#include "runtime/program/loader_options.h"

namespace sluice {

Result<void> run_loader(const LoaderOptions& options);

// Parses, runs, prints the error, answers the exit code.
int loader_main(int argc, const char* const* argv);

}  // namespace sluice
