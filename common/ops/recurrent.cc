// RNN, GRU, LSTM. X is [seq, batch, in], W [dirs, gates*hidden, in], R [dirs, gates*hidden,
// hidden]; with layout 1 batch comes first in X and in the results.
#include <ranges>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"
#include "common/ops/recurrent_activation.h"
#include "fmt/ranges.h"

namespace sluice {
namespace {

Result<int64_t> directions(const InferCall& call) {
  const std::string direction = call.node.get(attributes::Recurrent::direction);
  if (direction == "forward" || direction == "reverse") return 1;
  if (direction == "bidirectional") return 2;
  return call.bad_node("attribute 'direction' is '{}'", direction);
}

// Checks the activations, of which each direction has one for a cell of one gate, two for three
// gates and three for four. More than that are not read.
Result<void> check_activations(const InferCall& call, int64_t gates, int64_t directions) {
  const auto names = call.node.get(attributes::Recurrent::activations);
  const int64_t wanted = directions * (gates == 1 ? 1 : gates - 1);
  if (names.empty()) return {};
  if (static_cast<int64_t>(names.size()) < wanted)
    return call.bad_node("attribute 'activations' has {} of the {} names that {} of {} needs",
                         names.size(), wanted, op_name(call.node.op()),
                         directions == 1 ? "one direction" : "two directions");
  for (const std::string& name : names) {
    if (find_activation(name) == nullptr)
      return call.bad_node(
          "attribute 'activations' has '{}', expected {}", name,
          fmt::join(kActivationRows | std::views::transform(&ActivationRow::name), ", "));
  }
  return {};
}

template <int64_t gates>
Result<void> infer_recurrent(InferCall& call) {
  for (const size_t i : {1, 2, 3, 5, 6, 7}) SLUICE_TRY(call.expect_same_dtype(i, 0));
  SLUICE_TRY(call.expect_dtype(4, kIndexSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  for (const size_t i : {0, 1, 2}) SLUICE_TRY(call.expect_rank(i, 3));
  SLUICE_TRY(call.expect_rank(3, 2));
  SLUICE_TRY(call.expect_rank(4, 1));
  SLUICE_TRY(call.expect_rank(5, 3));
  SLUICE_ASSIGN(const int64_t dirs, directions(call));
  SLUICE_TRY(check_activations(call, gates, dirs));
  const int64_t layout = call.node.get(attributes::Recurrent::layout);
  if (layout != 0 && layout != 1) return call.bad_node("attribute 'layout' is {}", layout);
  Dim hidden = call.dim(2, 2);
  if (call.node.has(attributes::Recurrent::hidden_size)) {
    const int64_t size = call.node.get(attributes::Recurrent::hidden_size);
    if (size < 1) return call.bad_node("attribute 'hidden_size' is {}", size);
    SLUICE_ASSIGN(hidden, call.unify(Dim::fixed(size), hidden,
                                     "attribute 'hidden_size' and the recurrence weights"));
  }
  for (const size_t i : {1, 2}) {
    SLUICE_TRY(call.unify(call.dim(i, 0), Dim::fixed(dirs),
                          fmt::format("directions of {} and of the node", call.input_name(i))));
    SLUICE_TRY(
        call.unify(call.dim(i, 1), call.math.multiply(hidden, gates),
                   fmt::format("rows of {} and gates times hidden size", call.input_name(i))));
  }
  SLUICE_TRY(
      call.unify(call.dim(0, 2), call.dim(1, 2),
                 fmt::format("sizes of {} and of {}", call.input_name(0), call.input_name(1))));
  const Dim sequence = call.dim(0, layout == 0 ? 0 : 1);
  const Dim batch = call.dim(0, layout == 0 ? 1 : 0);
  const Dim direction = Dim::fixed(dirs);
  SLUICE_TRY(call.give(0, call.dtype(0),
                       layout == 0 ? Dims{sequence, direction, batch, hidden}
                                   : Dims{batch, sequence, direction, hidden}));
  const Dims last = layout == 0 ? Dims{direction, batch, hidden} : Dims{batch, direction, hidden};
  const auto expect = [&](size_t input, const Dims& dims) -> Result<void> {
    if (!call.has_input(input)) return {};
    const std::string what =
        fmt::format("dims of {} and those it must have", call.input_name(input));
    SLUICE_TRY(call.unify(call.shape(input), Shape(dims), what));
    return {};
  };
  SLUICE_TRY(expect(3, {direction, call.math.multiply(hidden, 2 * gates)}));
  SLUICE_TRY(expect(4, {batch}));
  SLUICE_TRY(expect(5, last));
  if (gates == 4) {
    SLUICE_TRY(expect(6, last));
    SLUICE_TRY(expect(7, {direction, call.math.multiply(hidden, 3)}));
  }
  SLUICE_TRY(call.give(1, call.dtype(0), last));
  return call.give(2, call.dtype(0), last);
}

constexpr OpRow kRecurrentRows[] = {
    {Op::kGRU, 3, 6, 1, 2, 0, attribute_rows::GRU, infer_recurrent<3>},
    {Op::kLSTM, 3, 8, 1, 3, 0, attribute_rows::LSTM, infer_recurrent<4>},
    {Op::kRNN, 3, 6, 1, 2, 0, attribute_rows::Recurrent, infer_recurrent<1>},
};

}  // namespace

std::span<const OpRow> recurrent_rows() { return kRecurrentRows; }

}  // namespace sluice
