// Makes a LogSoftmax and a NegativeLogLikelihoodLoss of a SoftmaxCrossEntropyLoss that sums over
// all rows: its sum needs the losses of all rows first, so it cannot be one kernel.
//
//   before:  %y, %p = SoftmaxCrossEntropyLoss(%x, %labels, %w) {reduction = "mean"}
//   after:   %p = LogSoftmax(%x) {axis = 1}
//            %y = NegativeLogLikelihoodLoss(%p, %labels, %w) {reduction = "mean"}
//
// Legal because this is the operator's definition. f16 and bf16 are computed in f32, as the
// operator does between the two. With the reduction "none" it is one kernel and stays, and so does
// a node that an annotation places or keeps.
#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

bool can_decompose_cross_entropy(const Node& node) {
  const Type& x = node.input(0)->type();
  return node.get(attributes::Loss::reduction) != "none" && is_removable(node) &&
         node.placement.engine == EngineId::kNone && x.is_tensor() && x.ranked && x.rank() >= 2 &&
         dtype_is_float(x.dtype);
}

void replace_cross_entropy(Editor& editor, Node& node) {
  const DType own = node.input(0)->type().dtype;
  const DType wide = own == DType::kF64 ? DType::kF64 : DType::kF32;
  NodeMaker make(editor, node);
  Value& x = make.cast(*node.input(0), wide);
  Node& logarithms = make.node(Op::kLogSoftmax, {&x}, x.type());
  logarithms.set(attributes::Softmax::axis, int64_t{1});
  std::vector<Value*> operands = {&logarithms.output(), node.input(1)};
  if (node.input(2) != nullptr) operands.push_back(&make.cast(*node.input(2), wide));
  Node& loss = make.node(Op::kNegativeLogLikelihoodLoss, operands, Type::tensor(wide, {}));
  for (const Attribute& attribute : node.attributes())
    loss.set_attribute(attribute.name, attribute.value);
  make.give(0, make.cast(loss.output(), own));
  if (node.output_count() > 1 && node.output(1).is_used())
    make.give(1, make.cast(logarithms.output(), own));
  make.finish();
}

bool rewrite_cross_entropy(Editor& editor, Node& node) {
  if (node.op() != Op::kSoftmaxCrossEntropyLoss || !can_decompose_cross_entropy(node)) return false;
  replace_cross_entropy(editor, node);
  return true;
}

}  // namespace

Result<bool> decompose_cross_entropy(Graph& root, const Options&) {
  return on_every_node(root, rewrite_cross_entropy);
}

}  // namespace sluice
