// The table of the programs of Sluice, and the search for their files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct ProgramRow {
  std::string_view verb;       // what is typed after "sluice"
  std::string_view program;    // file name
  std::string_view arguments;  // put before the user's; at most one, may be empty
  std::string_view sentence;
};

std::span<const ProgramRow> program_table();
const ProgramRow* find_verb(std::string_view verb);
// Returns the verb of the table that a misspelt one was most likely meant to be; empty when none is
// near.
std::string_view nearest_verb(std::string_view verb);

// Finds a program beside the running program, then in PATH. Errors: kProgramMissing.
Result<std::string> find_program(const std::string& name);

}  // namespace sluice
