// Names of values in an exported ONNX model.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "common/ir/graph.h"
#include "common/text/names.h"

namespace sluice {

// Returns the text as UTF-8, with \xHH for invalid bytes. Readers of ONNX accept nothing else.
std::string utf8_text(std::string_view text);

// The names of one graph or function and of the bodies in it, which see its names. Each name occurs
// once. A value without name gets a number.
class OnnxScope {
 public:
  // Makes a name for a value that this scope defines.
  const std::string& define(const Value& value);
  // Gives another object the name of the same value: a body's input for the captured value.
  void alias(const Value& inner, const Value& outer);
  // Gives a value a name of fresh(), or that of another value.
  void name_as(const Value& value, const std::string& name) { names_[&value] = name; }
  // Returns an empty name for an absent operand.
  const std::string& name(const Value* value) const;
  // Makes a name for a value that the graph does not have, or gets by name_as. Of an empty text it
  // is a number.
  std::string fresh(const std::string& like);
  // Makes the name of a node: each occurs once, too.
  std::string node_name(const std::string& own) { return node_names_.add(utf8_text(own)); }

 private:
  text::UniqueNames unique_, node_names_;
  std::unordered_map<const Value*, std::string> names_;
  size_t nameless_ = 0;
};

}  // namespace sluice
