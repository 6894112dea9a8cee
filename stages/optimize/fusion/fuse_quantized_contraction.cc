// Wraps a contraction of dequantized integers and the nodes after it, up to the quantization of its
// result, into one Fused node.
//
//   before:  %1 = DequantizeLinear(%x, …)   %2 = DequantizeLinear(%w, …)
//            %3 = Conv(%1, %2, %b)   %4 = Relu(%3)   %y = QuantizeLinear(%4, …)
//   after:   %y = Fused(%x, %w, %b) {anchor = 2, body = @y}      @y contains the five nodes
//
// Legal because the body computes exactly what the nodes computed. DequantizeLinear nodes are
// copied: those with other readers stay. From the contraction the chain is extended by elementwise
// nodes that are an epilogue which the aicore engine takes (epilogue_chain.h), to a QuantizeLinear
// with one scale. Without QuantizeLinear the result is f32. MatMulInteger and
// ConvInteger start a chain with a Cast to f32. Only what the engine takes
// (common/target/quantized.h) is fused: all else is dequantized, computed and quantized in floats.
//
// The bias stays outside, dequantized: folding constants makes it floats.
#include "common/pass/can_fuse.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"
#include "stages/optimize/fusion/epilogue_chain.h"
#include "stages/optimize/fusion/fused_node.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

class QuantizedChain {
 public:
  explicit QuantizedChain(Node& anchor) : chain_(anchor, true) {}

  // Returns false when the anchor's operands are not integers, or nothing is gained.
  bool grow() {
    if (!start()) return false;
    chain_.grow();
    quantized_.result = &end();
    take_quantization();
    return quantized_unsupported_reason(anchor(), quantized_).empty();
  }

  const std::vector<Node*>& nodes() const { return chain_.nodes(); }  // the anchor first
  // Returns the DequantizeLinear nodes of the operands; none for integer anchors.
  std::vector<Node*> dequantizations() const {
    if (is_integer_contraction(anchor().op())) return {};
    return {anchor().input(0)->producer(), anchor().input(1)->producer()};
  }
  Node& anchor() const { return chain_.anchor(); }
  Value& end() const { return chain_.end(); }

 private:
  bool start() {
    if (is_integer_contraction(anchor().op())) {
      quantized_ = *read_quantized(anchor());
      Node* cast = reader();
      if (quantized_.y.scale != nullptr || cast == nullptr || cast->op() != Op::kCast ||
          cast->output().type().dtype != DType::kF32)
        return false;
      take(*cast);
      return true;
    }
    const Node* x = anchor().input(0)->producer();
    const Node* w = anchor().input(1)->producer();
    if (!is_byte_dequantization(x, -1) || !is_byte_dequantization(w, column_axis(anchor())))
      return false;
    if (!(x->placement == anchor().placement) || !(w->placement == anchor().placement))
      return false;
    quantized_ = {.anchor = &anchor(),
                  .x = {x->input(0), x->input(1), x->input(2)},
                  .w = {w->input(0), w->input(1), w->input(2)},
                  .result = &end()};
    const Value* bias = anchor().input(2);
    return anchor().op() != Op::kGemm || bias == nullptr ||
           is_epilogue_operand(bias->type(), anchor(), true);
  }

  // Returns the one node that reads the chain's end, when it may join the chain.
  Node* reader() const {
    Node* node = chain_.reader();
    return node == nullptr || node->placement.keep || !(node->placement == anchor().placement)
               ? nullptr
               : node;
  }

  void take(Node& node) {
    chain_.take(node);
    quantized_.result = &end();
  }

  void take_quantization() {
    Node* node = reader();
    if (node == nullptr || node->op() != Op::kQuantizeLinear || node->input(0) != &end()) return;
    for (const size_t i : {1, 2}) {
      if (node->input(i) != nullptr && !known_number(*node->input(i))) return;
    }
    const DType dtype = node->output().type().dtype;
    if (dtype != DType::kI8 && dtype != DType::kU8) return;
    take(*node);
    quantized_.y = {&end(), node->input(1), node->input(2)};
  }

  EpilogueChain chain_;
  QuantizedContraction quantized_;
};

void fuse_quantized_chain(Editor& editor, const QuantizedChain& chain) {
  const std::vector<Node*> dequantizations = chain.dequantizations();
  FusedNode fused(editor, chain.end());
  for (const Node* node : dequantizations) fused.copy(*node);
  fused.copy(chain.anchor());
  // An epilogue reads operands as floats.
  for (const Node* node : dequantizations) fused.keep_outside(node->output());
  for (size_t i = 1; i < chain.nodes().size(); ++i) fused.copy(*chain.nodes()[i]);
  Node& made = fused.replace(chain.anchor(), chain.nodes());
  for (Node* node : dequantizations) {
    made.add_origins(node->origins());
    if (!node->is_erased()) editor.erase_unused(*node);
  }
}

Result<bool> fuse_quantized_contractions(Graph& graph) {
  Editor editor(graph);
  std::vector<Node*> anchors;
  for (Node& node : graph.nodes()) {
    if (takes_epilogue(node.op()) && node.output_count() == 1 && !node.placement.keep)
      anchors.push_back(&node);
  }
  bool changed = false;
  for (Node* anchor : anchors) {
    QuantizedChain chain(*anchor);
    std::string reason;
    if (!chain.grow() || (editor.has_control_edges() && !can_fuse(chain.nodes(), reason))) continue;
    fuse_quantized_chain(editor, chain);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_quantized_contraction(Graph& root, const Options&) {
  return on_every_graph(root, fuse_quantized_contractions);
}

}  // namespace sluice
