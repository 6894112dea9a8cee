// The side of plugins in libsluice_compiler.so, whose graphs they get: sluice-pass-host opens it.
#pragma once

#include <cstddef>

// Enters the sandbox of passes, loads the plugins, and answers the requests of a stage
// (serve_passes.h) until it closes its end. A plugin that cannot be loaded is an answer, too.
// Returns the exit code of the process.
extern "C" int sluice_serve_plugins(int input, int output, const char* const* files, size_t count);
