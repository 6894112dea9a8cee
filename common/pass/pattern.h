// Patterns: small graphs to find in larger ones (catalogue 1.6).
//
// A pattern is a graph, built in code or parsed from text. Its inputs match any value, its
// constants match constants, and its nodes match nodes of the same op and number of inputs. The
// order of its outputs is that of a match's outputs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

class Pattern {
 public:
  Pattern() : module_(std::make_unique<Module>()) { module_->add_graph("pattern"); }
  // The root of the textual module is the pattern; its values are captured by their names. Errors:
  // kBadText.
  static Result<Pattern> from_text(std::string_view text, const std::string& name);

  Graph& graph() const { return module_->root(); }
  Module& module() const { return *module_; }

  // A value whose name is not empty is captured: Match::captured returns the matched value.
  Value& input(std::string capture = {}) { return graph().add_input(0, std::move(capture)); }
  Value& constant(std::string capture = {});  // f32 0: for matchers that do not compare constants
  Value& constant(SegmentId segment, std::string capture = {}) {
    return graph().add_constant(segment, std::move(capture));
  }
  // Returns result 0 of a new node.
  Value& node(Op op, const std::vector<Value*>& inputs, std::string capture = {});
  void output(Value& value) { graph().add_output(value); }

  // Returns the reason why the pattern can never match, empty when it can. Patterns with bodies,
  // control edges, ops with a variable number of inputs or outputs, cycles, or without outputs
  // never match; neither do those with nodes or inputs that lead to no output.
  std::string obstacle() const;

 private:
  std::unique_ptr<Module> module_;
};

}  // namespace sluice
