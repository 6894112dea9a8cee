// Moves the node that computes the first operand of a contraction into the contraction's body.
//
//   before:  %1 = Mul(%gate, %up)   %y = MatMul(%1, %w)
//   after:   %y = Fused(%gate, %up, %w) {anchor = 1, body = @y}
//            @y(%gate, %up, %w):  %1 = Mul(%gate, %up)   %y = MatMul(%1, %w)
//
// The node is elementwise, a BatchNormalization, a Concat, or a Fused node of such nodes; its
// result then is in no memory, a Concat copies nothing. The contraction is MatMul, Gemm or a Conv
// that is a product, plain or in a Fused node with an epilogue.
//
// Legal because the body computes exactly what the nodes computed, nothing else reads %1, and only
// control edges can lead out of the two nodes and back: the graph is searched for those. Both nodes
// have the same placement. A kernel computes the operand where it reads it, once for each part of a
// large constant matrix: can_take_prologue (common/target/aicore.h) says where that costs less than
// a pass over memory. A node with sums of its own, such as a normalisation, stays: what follows its
// sums costs nothing there.
#include <algorithm>
#include <map>

#include "common/loop/prologue.h"
#include "common/ops/attributes.h"
#include "common/ops/small_constant.h"
#include "common/pass/boundary.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"
#include "stages/optimize/editor.h"
#include "stages/optimize/fusion/fused_node.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

const Graph* body_of(const Node& node) {
  return node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
}

// Returns the input of a contraction that its anchor alone reads, as its first operand; nothing for
// other nodes.
std::optional<size_t> first_operand(const Node& node, const Node& anchor) {
  const Graph* body = body_of(node);
  if (body == nullptr) return 0;
  const auto found = std::ranges::find(body->inputs(), anchor.input(0));
  if (found == body->inputs().end()) return std::nullopt;
  const std::vector<Use>& uses = (*found)->uses();
  if (uses.size() != 1 || (*found)->is_output()) return std::nullopt;
  return static_cast<size_t>(found - body->inputs().begin());
}

bool is_prologue(const Node& node) {
  const Graph* body = body_of(node);
  if (node.output_count() != 1) return false;
  if (body == nullptr) return is_prologue_op(node);
  return std::ranges::all_of(body->nodes(), [](const Node& own) { return is_prologue_op(own); });
}

// Returns the node that computes the operand, if the contraction can do so; otherwise null.
Node* find_prologue(const Node& node, const Node& anchor, size_t input) {
  const Value* operand = node.input(input);
  Node* before = operand->producer();
  if (before == nullptr || operand->uses().size() != 1 || operand->is_output() ||
      !is_removable(*before) || !(before->placement == node.placement) ||
      !can_take_prologue(anchor, node) || !is_prologue(*before))
    return nullptr;
  return loop::lower_prologue(*before, prologue_columns(anchor)).ok() ? before : nullptr;
}

Node& wrap(Editor& editor, Node& contraction) {
  FusedNode fused(editor, contraction.output());
  fused.copy_anchor(contraction);
  return fused.replace(contraction, {&contraction});
}

// Moves nodes before the anchor of a body.
class Mover {
 public:
  Mover(Node& fused, const Node& before, size_t input)
      : fused_(fused),
        body_(*fused.get(attributes::Fused::body)),
        anchor_(*const_cast<Node*>(find_anchor(body_))),
        before_(before),
        free_(input) {}

  void run() {
    const Graph* own = body_of(before_);
    if (own == nullptr) {
      copy(before_);
      anchor_.set_input(0, inside_.at(&before_.output()));
    } else {
      for (size_t i = 0; i < own->inputs().size(); ++i)
        inside_[own->inputs()[i]] = &add_input(*before_.input(i));
      for (const Node& node : own->nodes()) copy(node);
      anchor_.set_input(0, inside_.at(own->outputs()[0]));
    }
    int64_t index = 0;
    for (const Node& node : body_.nodes()) {
      if (&node == &anchor_) break;
      ++index;
    }
    fused_.set(attributes::Fused::anchor, index);
    fused_.add_origins(before_.origins());
  }

 private:
  // Adds an input to both; the first takes the place of the operand.
  Value& add_input(Value& outer) {
    if (!free_) {
      fused_.add_input(&outer);
      return body_.add_input(outer.type_id(), outer.name());
    }
    Value& inner = *body_.inputs()[*free_];
    fused_.set_input(*free_, &outer);
    inner.set_type(outer.type_id());
    inner.set_name(outer.name());
    free_.reset();
    return inner;
  }

  Value& inside(Value& outer) {
    Value*& known = inside_[&outer];
    if (known != nullptr) return *known;
    const bool is_own = &outer.graph() != &fused_.graph() || is_small_scalar(outer);
    known = is_own && outer.is_constant() ? &body_.add_constant(outer.segment(), outer.name())
                                          : &add_input(outer);
    return *known;
  }

  void copy(const Node& node) {
    std::vector<Value*> operands;
    for (size_t i = 0; i < node.input_count(); ++i)
      operands.push_back(node.input(i) == nullptr ? nullptr : &inside(*node.input(i)));
    Node& copy = body_.add_node(node.op(), operands, 0, &anchor_);
    for (const Attribute& attribute : node.attributes())
      copy.set_attribute(attribute.name, attribute.value);
    copy.set_name(node.name());
    copy.add_origins(node.origins());
    inside_[&node.output()] = &copy.add_output(node.output().type_id(), node.output().name());
  }

  Node& fused_;
  Graph& body_;
  Node& anchor_;
  const Node& before_;
  std::optional<size_t> free_;             // the input that was the operand
  std::map<const Value*, Value*> inside_;  // looked up only
};

Result<bool> run(Graph& graph) {
  Editor editor(graph);
  std::vector<Node*> contractions;
  for (Node& node : graph.nodes()) {
    const Graph* body = body_of(node);
    const bool has_anchor = body == nullptr ? is_contraction(node.op()) && !node.placement.keep
                                            : find_anchor(*body) != nullptr;
    if (has_anchor && !read_quantized(node) && aicore_unsupported_reason(node).empty())
      contractions.push_back(&node);
  }
  bool changed = false;
  for (Node* node : contractions) {
    const Node& anchor = body_of(*node) == nullptr ? *node : *find_anchor(*body_of(*node));
    const auto input = first_operand(*node, anchor);
    Node* before = input ? find_prologue(*node, anchor, *input) : nullptr;
    std::string reason;
    if (before == nullptr || (editor.has_control_edges() && !can_fuse({before, node}, reason)))
      continue;
    Node& fused = body_of(*node) == nullptr ? wrap(editor, *node) : *node;
    Mover(fused, *before, *input).run();
    editor.erase_unused(*before);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_contraction_prologue(Graph& root, const Options&) {
  return on_every_graph(root, run);
}

}  // namespace sluice
