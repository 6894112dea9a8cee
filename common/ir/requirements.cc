#include "common/ir/requirements.h"

#include <algorithm>

namespace sluice {

void Requirements::add(ExpressionId a, ExpressionId b, std::string words) {
  if (a == b || !pairs_.insert(std::minmax(a, b)).second) return;
  rows_.push_back({a, b, std::move(words)});
}

void Requirements::drop_proved(ExpressionTable& expressions) {
  std::erase_if(rows_,
                [&](const Requirement& each) { return expressions.prove_equal(each.a, each.b); });
}

}  // namespace sluice
