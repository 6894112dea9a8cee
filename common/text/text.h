// The textual graph, which sluice-show prints and sluice-as reads. docs/graph-text.md contains the
// grammar.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

inline constexpr int kTextVersion = 1;  // of the text form

struct PrintOptions {
  bool header = false;  // also version, options and made_from
};

// Prints a module. Parsing the text and printing it again produces the same text.
std::string print_module(const Module& module, const PrintOptions& options = {});
std::string print_type(const Module& module, TypeId type);  // "f32[N, 3, 224, 224]"
std::string print_dim(const Module& module, const Dim& dim);

// Parses a text. name is that of the text, for errors like "name:line:column: …" (kBadText).
Result<Module> parse_module(std::string_view text, const std::string& name);

}  // namespace sluice
