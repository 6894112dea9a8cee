// Where the pages of the documentation are.
#pragma once

#include <string>

namespace sluice {

// Returns where a page is, "onnx-support.md" for example: its path in share/doc/sluice when the
// program runs from an installed tree, otherwise "docs/onnx-support.md", its place in the sources.
std::string page_path(const std::string& name);

}  // namespace sluice
