// Patterns: small graphs to look for in larger ones (catalogue 1.6).
//
// A pattern is a graph of its own, built in code or read from text. Its inputs stand for any value;
// its constants for constants; its nodes for nodes of the same op and number of inputs. The order
// of its outputs is that of a match's outputs.
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
  // The root of the textual module is the pattern; its values are captured under their names.
  // Errors: kBadText.
  static Result<Pattern> from_text(std::string_view text, const std::string& name);

  Graph& graph() const { return module_->root(); }
  Module& module() const { return *module_; }

  // A value whose name is not empty is captured: Match::captured finds what it stood for.
  Value& input(std::string capture = {}) { return graph().add_input(0, std::move(capture)); }
  Value& constant(std::string capture = {});  // f32 0: for matchers that do not compare constants
  Value& constant(SegmentId segment, std::string capture = {}) {
    return graph().add_constant(segment, std::move(capture));
  }
  Value& node(Op op, const std::vector<Value*>& inputs,
              std::string capture = {});  // result 0 of a new node
  void output(Value& value) { graph().add_output(value); }

  // Why the pattern can never match; empty when it can. Patterns with bodies, control edges, ops
  // that take or give a variable number of values, cycles, or without outputs never match; neither
  // do those with nodes or inputs that lead to no output.
  std::string obstacle() const;

 private:
  std::unique_ptr<Module> module_;
};

}  // namespace sluice
