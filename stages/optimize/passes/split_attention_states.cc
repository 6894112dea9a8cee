// Splits the growing keys and values from Attention, so that a kernel computes what remains.
//
//   before:  %y, %ak, %av = Attention(%q, %k, %v, %m, %pk, %pv)
//   after:   %ak = Concat(%pk, %k) {axis = 2}   %av = Concat(%pv, %v) {axis = 2}
//            %y = Attention(%q, %ak, %av, %m)
//
// Legal because these are the operator's formulas. A causal node with a past gets the number of
// keys up to its last query as nonpad_kv_seqlen, which says where the queries begin. Results that
// nothing reads are dropped. Nodes that no kernel computes are left to decompose-attention.
#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/passes/attention_parts.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

bool hides_later_keys(const Node& node, const AttentionForm& form) {
  return node.get(attributes::Attention::is_causal) != 0 && !sees_all_keys(node, form);
}

// Returns for each batch entry how many keys there are up to that of the last query.
Value& keys_so_far(NodeMaker& make, const Node& node, const AttentionForm& form) {
  Value &q = *node.input(0), &past = *node.input(4);
  const Dim& before = past.type().dims[2];
  const size_t axis = q.type().rank() == 3 ? 1 : 2;
  if (before.is_fixed() && form.queries.is_fixed() && form.batch.is_fixed())
    return add_ints(node.graph(), std::vector<int64_t>(static_cast<size_t>(form.batch.value),
                                                       before.value + form.queries.value));
  Value& number =
      make.elementwise(Op::kAdd, {&make.size(past, 2), &make.size(q, axis)}, DType::kI32);
  return make.copies(make.cast(number, DType::kI64), q, 0);
}

void split(Editor& editor, Node& node, const AttentionForm& form) {
  NodeMaker make(editor, node);
  const bool has_past = node.input(4) != nullptr;
  const auto grown = [&](size_t input, size_t past) -> Value& {
    const bool is_read = has_past || (input < node.output_count() && node.output(input).is_used());
    return is_read ? with_past(make, node, form, input, past) : *node.input(input);
  };
  Value &keys = grown(1, 4), &values = grown(2, 5);
  Value* lengths = node.input(6);
  const bool is_causal = hides_later_keys(node, form);
  if (has_past && is_causal && lengths == nullptr) lengths = &keys_so_far(make, node, form);
  std::vector<Value*> inputs = {node.input(0),
                                has_past ? &keys : node.input(1),
                                has_past ? &values : node.input(2),
                                node.input(3),
                                nullptr,
                                nullptr,
                                lengths};
  while (inputs.back() == nullptr) inputs.pop_back();
  Node& stateless = make.node(Op::kAttention, inputs, node.output().type());
  for (const Attribute& attribute : node.attributes()) {
    if (is_causal || attribute.name != attributes::Attention::is_causal.name)
      stateless.set_attribute(attribute.name, attribute.value);
  }
  make.give(0, stateless.output());
  make.give(1, keys);
  make.give(2, values);
  make.finish();
}

bool rewrite_attention_states(Editor& editor, Node& node) {
  if (node.op() != Op::kAttention || !has_states(node)) return false;
  const auto form = read_removable_form(node);
  if (!form || !kernel_unsupported_reason(node, *form).empty()) return false;
  split(editor, node, *form);
  return true;
}

}  // namespace

Result<bool> split_attention_states(Graph& root, const Options&) {
  return on_every_node(root, rewrite_attention_states);
}

}  // namespace sluice
