// The nodes after a contraction that its kernel can compute as its epilogue.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// A contraction and nodes after it. What a node of the chain gives is read within the chain alone,
// but for the end.
class EpilogueChain {
 public:
  EpilogueChain(Node& anchor, bool is_quantized)
      : anchor_(anchor), is_quantized_(is_quantized), nodes_{&anchor} {}

  // Appends steps until none is left. A step begins at the end of the chain and includes all
  // readers of the values that it reaches, up to one that they all lead to: x * Sigmoid(x) is one
  // step.
  void grow();
  // Appends one node.
  void take(Node& node) { nodes_.push_back(&node); }
  // Returns the only node that reads the end, if the end has no other use; otherwise null.
  Node* reader() const;

  const std::vector<Node*>& nodes() const { return nodes_; }  // the anchor first
  Node& anchor() const { return anchor_; }
  Value& end() const { return nodes_.back()->output(); }

 private:
  using Step = std::vector<Node*>;
  std::optional<Step> find_step() const;
  bool can_end_with(DType dtype) const;
  bool fits(const Node& node) const;
  bool has_capacity(const Step& step);

  Node& anchor_;
  bool is_quantized_;
  std::vector<Node*> nodes_;
  std::vector<const Value*> operands_;
};

}  // namespace sluice
