// Makes one Attention of the nodes that exporters write for it.
//
//   before:  %1 = Transpose(%k) {perm = [0, 1, 3, 2]}   %2 = MatMul(%q, %1)   %3 = Mul(%2, 0.125)
//            %4 = Add(%3, %mask)   %5 = Softmax(%4)     %y = MatMul(%5, %v)
//   after:   %y = Attention(%q, %k, %v, %mask) {scale = 0.125}
//
// The scale may be a factor of scores, queries or keys, or of several; a softcap may follow it.
// Further masks are added, or hide keys by Where; attention_mask.h says which become is_causal or
// the mask. Rows of NaN may be made zeros. attention_operand.h says what may stand around queries,
// keys and values: repeated heads are read as one of several query heads, and where queries, keys,
// values and the result all lie as [batch, length, heads, size], the node reads and writes them as
// [batch, length, heads * size], without a Transpose.
//
// Legal because the operator means these formulas (common/eval/attention.cc), in f32 where the
// nodes round between. The attribute hidden_score, which ONNX does not have, is set where a mask is
// read: a row that sees no key is NaN then, as its softmax is. No scores or weights may be read
// elsewhere, sizes must fit each other for sure, and nodes that an annotation places or
// keeps stay. A Concat with keys and values of the past stays before the node.
//
// Must run before the fusion of epilogues, which would hide the scale in the body of a product.
#include <bit>
#include <cmath>
#include <map>

#include "common/ops/attributes.h"
#include "common/pass/op_index.h"
#include "common/target/aicore.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/attention_match.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

// The only place that asks: the node is made where the engine has a kernel for it.
bool is_supported(const Node& attention) { return aicore_unsupported_reason(attention).empty(); }

std::vector<Dim> flat_dims(const FoundAttention& found) {
  return {found.by_head[0], found.by_head[2],
          Dim::fixed(found.by_head[1].value * found.v.dims[3].value)};
}

// Returns the node that joins heads which lie by length, as [batch, length, heads * size], or the
// node before it where that is read otherwise; null where the result stays as it is.
Node* find_flat_result(Node& last, const FoundAttention& found) {
  const std::vector<Dim>& rows = found.by_head;
  const Dim size = found.v.dims[3];
  Node* at = &last;
  if (last.output().type().rank() == 3) {
    if (rows[1] == Dim::fixed(1)) return &last;
    at = find_only_reader(last.output());
    if (at == nullptr || at->op() != Op::kReshape ||
        at->output().type().dims != std::vector{rows[0], rows[1], rows[2], size})
      return nullptr;
  }
  at = find_only_reader(at->output());
  if (at == nullptr || at->op() != Op::kTranspose ||
      transpose_order(*at) != std::vector<int64_t>{0, 2, 1, 3})
    return nullptr;
  Node* joined = find_only_reader(at->output());
  return joined != nullptr && joined->op() == Op::kReshape &&
                 joined->output().type().dims == flat_dims(found)
             ? joined
             : at;
}

double total_scale(const FoundAttention& found) {
  return found.scores.scale * found.q.factor * found.k.factor;
}

// The scale is left out where it is the operator's own.
void set_attributes(Node& node, const FoundAttention& found, bool is_flat) {
  const double scale = total_scale(found);
  const double own = 1 / std::sqrt(static_cast<double>(found.q.dims[3].value));
  if (!is_close(DType::kF32, scale, own))
    node.set(attributes::Attention::scale, static_cast<float>(scale));
  if (found.scores.softcap != 0)
    node.set(attributes::Attention::softcap, static_cast<float>(found.scores.softcap));
  const bool is_as_written = !found.zeros_nan || std::isfinite(found.mask.hidden_score);
  if (!found.mask.steps.empty() && is_as_written) {
    node.set(attributes::Attention::hidden_score, static_cast<float>(found.mask.hidden_score));
  }
  if (found.mask.is_causal) node.set(attributes::Attention::is_causal, int64_t{1});
  if (!is_flat) return;
  node.set(attributes::Attention::q_num_heads, found.q.dims[1].value);
  node.set(attributes::Attention::kv_num_heads, found.k.dims[1].value);
}

ScoreSizes score_sizes(const FoundAttention& found) {
  const auto value_of = [](const AttentionOperand& x) {
    return x.by_head != nullptr ? x.by_head : x.by_length;
  };
  const auto axis_of = [](const AttentionOperand& x) {
    return x.by_head != nullptr ? static_cast<size_t>(x.by_head->type().rank() - 2) : size_t{1};
  };
  return {found.by_head, value_of(found.q), axis_of(found.q), value_of(found.k), axis_of(found.k)};
}

// Returns what the nodes to be replaced read.
std::vector<Value*> operands_of(const FoundAttention& found, const Node& last) {
  std::vector<Value*> operands = {found.scores.product->input(0), found.scores.product->input(1),
                                  last.input(1)};
  for (const ScoreStep& step : found.scores.steps)
    operands.push_back(step.bias != nullptr ? step.bias : step.condition);
  return operands;
}

// What a mask is made of: equal ones are made once, for all layers.
std::vector<int64_t> mask_key(const FoundAttention& found) {
  std::vector<int64_t> key;
  for (const Dim& dim : found.by_head) {
    key.push_back(static_cast<int64_t>(dim.kind));
    key.push_back(dim.value);
  }
  for (const ScoreStep& step : found.mask.steps) {
    key.push_back(step.bias == nullptr ? -1 : step.bias->id());
    key.push_back(step.condition == nullptr ? -1 : step.condition->id());
    key.push_back((step.hides ? 1 : 0) + (step.is_joint ? 2 : 0));
    key.push_back(std::bit_cast<int64_t>(step.hidden));
  }
  return key;
}

class AttentionFuser {
 public:
  explicit AttentionFuser(Graph& graph) : editor_(graph) {}

  // Fuses what ends in the product of weights and values. Returns whether it did.
  bool fuse(Node& product) {
    if (product.is_erased() || product.placement.engine != EngineId::kNone) return false;
    const auto found = find_attention(triangles_, product);
    if (!found || total_scale(*found) == 0 || !std::isfinite(total_scale(*found))) return false;
    const bool is_flat = found->q.by_length != nullptr && found->k.by_length != nullptr &&
                         found->v.by_length != nullptr;
    Node* flat = is_flat ? find_flat_result(product, *found) : nullptr;
    return (flat != nullptr && replace(*found, product, *flat, true)) ||
           replace(*found, product, product, false);
  }

 private:
  // Replaces the nodes up to the one that makes `result`. Returns whether it did.
  bool replace(const FoundAttention& found, Node& product, Node& result, bool is_flat) {
    const std::vector<Value*> operands = operands_of(found, product);
    const auto nodes = find_nodes_between(editor_, operands, result);
    if (!nodes) return false;
    NodeMaker make(editor_, result);
    Node& attention = make_attention(make, found, is_flat);
    if (!is_supported(attention)) {
      make.abandon();
      return false;
    }
    if (attention.input(3) != nullptr) masks_[mask_key(found)] = attention.input(3);
    for (const Node* node : *nodes) attention.add_origins(node->origins());
    give_result(make, attention.output(), *nodes);
    for (const Value* operand : operands) {
      if (operand->producer() != nullptr) editor_.erase_unused(*operand->producer());
    }
    return true;
  }

  Node& make_attention(NodeMaker& make, const FoundAttention& found, bool is_flat) {
    const auto operand = [&](const AttentionOperand& x) {
      return is_flat ? &make_flat(make, x) : &make_by_head(make, x);
    };
    std::vector<Value*> inputs = {operand(found.q), operand(found.k), operand(found.v)};
    if (Value* mask = find_mask(make, found)) inputs.push_back(mask);
    std::vector<Dim> dims = is_flat ? flat_dims(found) : found.by_head;
    if (!is_flat) dims[3] = found.v.dims[3];
    Node& node =
        make.node(Op::kAttention, inputs, Type::tensor(inputs[0]->type().dtype, std::move(dims)));
    set_attributes(node, found, is_flat);
    return node;
  }

  Value* find_mask(NodeMaker& make, const FoundAttention& found) {
    const auto known = masks_.find(mask_key(found));
    return known != masks_.end() ? known->second
                                 : make_attention_mask(make, found.mask, score_sizes(found));
  }

  // Lets readers of the last of the nodes read the Attention, as it is or with its heads apart.
  void give_result(NodeMaker& make, Value& y, const std::vector<Node*>& nodes) {
    const std::vector<Dim>& dims = nodes.back()->output().type().dims;
    Value& given = y.type().dims == dims ? y : make.reshape(y, dims);
    make.give(0, given);
    make.finish(nodes);
    if (&given != &y) skip_views(given, y);
  }

  // Lets nodes that only join the heads again read the Attention, which has them joined.
  void skip_views(const Value& split, Value& joined) {
    const std::vector<Use> uses = split.uses();
    for (const Use& use : uses) {
      if (use.node->op() == Op::kReshape && use.input == 0 &&
          editor_.replace(use.node->output(), joined))
        editor_.erase_unused(*use.node);
    }
  }

  Editor editor_;
  TriangleReader triangles_;
  std::map<std::vector<int64_t>, Value*> masks_;
};

Result<bool> fuse_attentions(Graph& graph) {
  AttentionFuser fuser(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (Node* product : index.nodes(Op::kMatMul)) changed = fuser.fuse(*product) || changed;
  return changed;
}

}  // namespace

Result<bool> fuse_attention(Graph& root, const Options&) {
  return on_every_graph(root, fuse_attentions);
}

}  // namespace sluice
