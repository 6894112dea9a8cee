// Makes matrix products and a softmax of Attention that has no kernel of its own: what gives its
// scores, or has very large heads.
//
//   before:  %y = Attention(%q, %k, %v)
//   after:   %1 = Transpose(%k) {perm = [0, 1, 3, 2]}   %2 = MatMul(%q, %1)   %3 = Mul(%2, scale)
//            %4 = Softmax(%3)   %y = MatMul(%4, %v)
//
// What else the node asks for stands between: the past is concatenated with keys and values, scores
// are capped, the mask is added, and keys that the mask, is_causal or nonpad_kv_seqlen hide get the
// score -inf. Sums are in f32.
//
// Legal because these are the operator's formulas, as common/eval/attention.cc computes them. A row
// that sees no key gives zeros: whether a row does is read from the mask, which is smaller than the
// scores. attention_parts.h says which nodes stay.
#include <limits>

#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/attention_parts.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

// More keys than there is memory for scores of.
constexpr int64_t kMaxKeys = int64_t{1} << 30;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

class Decomposition {
 public:
  Decomposition(Editor& editor, Node& node, const AttentionForm& form)
      : node_(node), form_(form), make_(editor, node), parts_(make_, node, form) {}

  void run() {
    Value& keys = with_past(make_, node_, form_, 1, 4);
    Value& values = with_past(make_, node_, form_, 2, 5);
    find_visible_keys(keys);
    Value& scores = masked(capped(scaled(keys)));
    make_.give(0, combined(softmax(scores), values));
    make_.give(1, keys);
    make_.give(2, values);
    make_.finish();
  }

 private:
  Value& like(const Value& x, Op op, const std::vector<Value*>& inputs) {
    return make_.add(op, inputs, x.type());
  }

  // Reads a mask of bools as visible keys, another as what is added to the scores. Keys after the
  // last one of a shorter mask are hidden.
  void read_mask() {
    Value* mask = node_.input(3);
    if (mask == nullptr) return;
    const bool is_bool = mask->type().dtype == DType::kBool;
    if (!is_bool) mask = &make_.cast(*mask, DType::kF32);
    if (form_.missing_mask_keys > 0) {
      Value& hidden = is_bool ? make_.integer(DType::kBool, 0) : make_.number(kHidden);
      mask = &make_.pad_end(*mask, form_.missing_mask_keys, hidden);
    }
    (is_bool ? visible_ : bias_) = mask;
  }

  // Finds which keys are visible: not padding, and, if the node is causal, none after the query's
  // own.
  void find_visible_keys(Value& keys) {
    read_mask();
    may_see_nothing_ = node_.input(3) != nullptr || node_.input(6) != nullptr;
    const bool is_causal =
        node_.get(attributes::Attention::is_causal) != 0 && !sees_all_keys(node_, form_);
    if (!is_causal && node_.input(6) == nullptr) return;
    Value& places = make_.places(keys, 2);
    Value* lengths = node_.input(6) == nullptr ? nullptr : &valid_keys(*node_.input(6));
    if (lengths != nullptr) require(make_.elementwise(Op::kLess, {&places, lengths}, DType::kBool));
    if (!is_causal) return;
    Value& own = make_.elementwise(Op::kAdd, {&query_places(), &keys_before(lengths)}, DType::kI32);
    require(make_.elementwise(Op::kLessOrEqual, {&places, &own}, DType::kBool));
  }

  void require(Value& condition) {
    visible_ = visible_ == nullptr
                   ? &condition
                   : &make_.elementwise(Op::kAnd, {visible_, &condition}, DType::kBool);
  }

  // Returns how many keys of each row of the batch are valid, [batch, 1, 1, 1].
  Value& valid_keys(Value& lengths) {
    const DType dtype = lengths.type().dtype;
    Value& rows =
        make_.reshape(lengths, {form_.batch, Dim::fixed(1), Dim::fixed(1), Dim::fixed(1)});
    Value& bounded =
        like(rows, Op::kClip, {&rows, &make_.integer(dtype, 0), &make_.integer(dtype, kMaxKeys)});
    return make_.cast(bounded, DType::kI32);
  }

  size_t query_axis() const { return node_.input(0)->type().rank() == 3 ? 1 : 2; }

  Value& query_places() {
    return make_.reshape(make_.places(*node_.input(0), query_axis()),
                         {form_.queries, Dim::fixed(1)});
  }

  // Returns how many keys precede that of the first query.
  Value& keys_before(Value* lengths) {
    if (lengths != nullptr)
      return make_.elementwise(Op::kSub, {lengths, &make_.size(*node_.input(0), query_axis())},
                               DType::kI32);
    return node_.input(4) == nullptr ? make_.integer(DType::kI32, 0)
                                     : make_.size(*node_.input(4), 2);
  }

  Value& scaled(Value& keys) {
    const float scale = node_.get(attributes::Attention::scale);
    Value& scores = parts_.scores(heads_of(make_, node_, form_, 0), keys,
                                  scale == 0 ? std::nullopt : std::optional(scale));
    show(0, scores);
    return scores;
  }

  Value& capped(Value& scores) {
    const float cap = node_.get(attributes::Attention::softcap);
    Value* result = &scores;
    if (cap > 0) {
      Value& parts = like(scores, Op::kDiv, {&scores, &make_.number(cap)});
      Value& bounded = like(scores, Op::kTanh, {&parts});
      result = &like(scores, Op::kMul, {&bounded, &make_.number(cap)});
    }
    show(1, *result);
    return *result;
  }

  Value& masked(Value& capped) {
    Value* scores = &parts_.by_query_head(capped);
    if (bias_ != nullptr) scores = &like(*scores, Op::kAdd, {scores, bias_});
    if (visible_ != nullptr)
      scores = &like(*scores, Op::kWhere, {visible_, scores, &make_.number(kHidden)});
    show(2, *scores);
    return *scores;
  }

  Value& softmax(Value& scores) {
    Node& node = make_.node(Op::kSoftmax, {&scores}, scores.type());
    node.set(attributes::Softmax::axis, int64_t{3});
    Value* weights = &node.output();
    if (may_see_nothing_)
      weights = &like(scores, Op::kWhere, {&sees_any_key(), weights, &make_.number(0)});
    show(3, *weights);
    return *weights;
  }

  Value& sees_any_key() {
    Value* keys = bias_;
    if (visible_ != nullptr) {
      Value& seen = bias_ == nullptr ? make_.number(0) : *bias_;
      keys = &make_.elementwise(Op::kWhere, {visible_, &seen, &make_.number(kHidden)}, DType::kF32);
    }
    Type type = keys->type();
    type.dims.back() = Dim::fixed(1);
    Value& axis = add_ints(node_.graph(), {type.rank() - 1});
    Value& largest = make_.add(Op::kReduceMax, {keys, &axis}, type);
    return make_.elementwise(Op::kGreater, {&largest, &make_.number(kHidden)}, DType::kBool);
  }

  // Returns the sums of values, by weight, with the rank of Q.
  Value& combined(Value& weights, Value& values) {
    Value& y = make_.cast(parts_.weighted(weights, values), node_.input(0)->type().dtype);
    if (node_.input(0)->type().rank() == 4) return y;
    return make_.reshape(make_.transpose(y, {0, 2, 1, 3}),
                         {form_.batch, form_.queries, Dim::fixed(form_.heads * form_.value_size)});
  }

  // Gives the scores after one of their four steps where the node does so.
  void show(int64_t step, Value& scores) {
    if (step != node_.get(attributes::Attention::qk_matmul_output_mode) ||
        node_.output_count() < 4 || !node_.output(3).is_used())
      return;
    Value& rows = step < 2 ? parts_.by_query_head(scores) : scores;
    make_.give(3, make_.cast(rows, node_.output(3).type().dtype));
  }

  Node& node_;
  const AttentionForm& form_;
  NodeMaker make_;
  AttentionMaker parts_;
  Value* bias_ = nullptr;     // f32: is added to the scores
  Value* visible_ = nullptr;  // bool: the other keys are hidden
  bool may_see_nothing_ = false;
};

bool rewrite_attention(Editor& editor, Node& node) {
  const auto form = node.op() == Op::kAttention ? read_removable_form(node) : std::nullopt;
  if (!form || kernel_unsupported_reason(node, *form).empty()) return false;
  decompose_attention_node(editor, node, *form);
  return true;
}

}  // namespace

void decompose_attention_node(Editor& editor, Node& node, const AttentionForm& form) {
  Decomposition(editor, node, form).run();
}

Result<bool> decompose_attention(Graph& root, const Options&) {
  return on_every_node(root, rewrite_attention);
}

}  // namespace sluice
