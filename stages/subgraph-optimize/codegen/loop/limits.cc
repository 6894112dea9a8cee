#include "stages/subgraph-optimize/codegen/loop/limits.h"

namespace sluice {
namespace {

class Rewriter {
 public:
  Rewriter(ExpressionTable& table, SymbolId symbol) : table_(table), symbol_(symbol) {}

  std::optional<PlainOffset> run(ExpressionId offset) {
    const ExpressionId plain = rewritten(offset);
    if (failed_ || conditions_.empty()) return std::nullopt;
    return PlainOffset{plain, std::move(conditions_)};
  }

 private:
  ExpressionId rewritten(ExpressionId id) {
    const Expression e = table_[id];
    if (e.op == ExpressionOp::kConstant || e.op == ExpressionOp::kSymbol ||
        !loop::mentions(table_, id, symbol_))
      return id;
    const ExpressionId a = rewritten(e.a), b = rewritten(e.b);
    if (e.op != ExpressionOp::kMin && e.op != ExpressionOp::kMax) return table_.make(e.op, a, b);
    const bool takes_a = grows(a);
    failed_ = failed_ || takes_a == grows(b);
    const ExpressionId chosen = takes_a ? a : b, other = takes_a ? b : a;
    conditions_.push_back(e.op == ExpressionOp::kMin ? table_.subtract(other, chosen)
                                                     : table_.subtract(chosen, other));
    return chosen;
  }

  bool grows(ExpressionId id) {
    const auto linear = loop::split_linear(table_, id, symbol_);
    const auto stride = linear ? table_.as_constant(linear->stride) : std::optional<int64_t>();
    return stride && *stride > 0;
  }

  ExpressionTable& table_;
  SymbolId symbol_;
  std::vector<ExpressionId> conditions_;
  bool failed_ = false;
};

}  // namespace

std::optional<PlainOffset> without_limits(loop::LoopGraph& graph, ExpressionId offset,
                                          SymbolId symbol) {
  return Rewriter(graph.expressions, symbol).run(offset);
}

}  // namespace sluice
