// Texts of graphs, for the tests of fusion.
#pragma once

#include <string>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {

inline constexpr char kRows[] = "%x: f32[4, 8]";  // of normalisations and activations

inline std::string graph_of(const std::string& inputs, const std::string& nodes,
                            const std::string& outputs = "%y") {
  return "graph @main(" + inputs + ") -> (" + outputs + ") {\n" + nodes + "}\n";
}

// The body of a Fused node, after the graph that has the node.
inline std::string body_of(const std::string& inputs, const std::string& nodes,
                           const std::string& name = "y", const std::string& outputs = "%y") {
  return "graph @" + name + "(" + inputs + ") -> (" + outputs + ") fused {\n" + nodes + "}\n";
}

inline std::string constant(const std::string& name, const std::string& number) {
  return "  %" + name + " = constant f32[] [" + number + "]\n";
}

}  // namespace sluice
