// Names of values in an exported ONNX model.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "common/ir/graph.h"
#include "common/text/names.h"

namespace sluice {

// The text as UTF-8: bytes that are none are written \xHH. Readers of ONNX take nothing else.
std::string utf8_text(std::string_view text);

// The names of one graph or function and of the bodies in it, which see its names: each name occurs
// once. A value without name gets a number.
class OnnxScope {
 public:
  // A new name for a value that this scope defines.
  const std::string& define(const Value& value);
  // The same value under another object: a body's input for what it captures.
  void alias(const Value& inner, const Value& outer);
  // Empty for an absent operand.
  const std::string& name(const Value* value) const;
  // A name for a value that the graph does not have.
  std::string fresh(const std::string& like);

 private:
  text::UniqueNames unique_;
  std::unordered_map<const Value*, std::string> names_;
  size_t nameless_ = 0;
};

}  // namespace sluice
