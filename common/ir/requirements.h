// Sizes that must be equal although compiling cannot tell whether they are: what a node needs of
// sizes that only a run knows.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/symbolic/expression.h"

namespace sluice {

struct Requirement {
  ExpressionId a = -1;
  ExpressionId b = -1;
  std::string words;  // the node and its two sizes: "node 'bn' (BatchNormalization): channels of …"
};

// The requirements of a module's root graph, each pair of sizes once, in the order in which they
// were added. One whose node is erased later stays: the sizes do not fit the user's model.
class Requirements {
 public:
  // Adds nothing when the pair is known, in either order.
  void add(ExpressionId a, ExpressionId b, std::string words);
  // Drops those that hold for all sizes, by what is known of the symbols now.
  void drop_proved(ExpressionTable& expressions);
  const std::vector<Requirement>& rows() const { return rows_; }

 private:
  std::vector<Requirement> rows_;
  std::set<std::pair<ExpressionId, ExpressionId>> pairs_;
};

}  // namespace sluice
