// The end of a program that failed: one error in a pipe, and the same exit code of all programs
// after the one that met it.
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

// Returns true when another program reads the output of a program that was to write to `output`
// ("-": standard output).
bool fails_into_pipe(const std::string& output);
// Returns the failure header for that reader.
std::string failure_text(const std::string& program, const Error& error);

// Returns the error that counts: `own`, unless a program before us in the pipe has failed, too.
// Reads standard input to its end if `input` is it, so that the program before us can finish
// writing and does not meet a closed reader.
Error earliest_failure(Error own, const std::string& input);

std::string error_line(const std::string& program, const Error& error, bool json);
// Prints the error unless another program has, writes the failure header if requested, and returns
// the exit code.
int end_failed(const std::string& program, const Error& error, bool json, bool into_pipe);

}  // namespace sluice
