#include "common/eval/tiled_evaluation.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "common/eval/call.h"
#include "common/eval/tile_terms.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"

namespace sluice::eval {
namespace {

constexpr uint64_t kSmallBytes = 64 * 1024;  // evaluated whole: scales, permutations, shapes
constexpr uint32_t kMaxDepth = 200;  // of terms that are evaluated together, which bounds the stack
constexpr uint32_t kMaxNesting = 1000;  // of expressions over expressions

bool has_whole_bytes(DType dtype) { return dtype != DType::kString && dtype_bits(dtype) % 8 == 0; }

uint64_t bytes_of(const Term& term) {
  uint64_t bytes = std::max<uint64_t>(width_of(term.dtype), 1);
  for (const int64_t dim : term.dims) bytes *= static_cast<uint64_t>(dim);
  return bytes;
}

uint64_t packed_bytes(const Term& term) {  // for elements of less than a byte
  uint64_t bits = static_cast<uint64_t>(dtype_bits(term.dtype));
  for (const int64_t dim : term.dims) bits *= static_cast<uint64_t>(dim);
  return (bits + 7) / 8;
}

class TermBuilder {
 public:
  explicit TermBuilder(const Module& module) : module_(module) {}

  Result<int32_t> add_segment(SegmentId id) {
    if (const auto found = by_segment_.find(id); found != by_segment_.end()) return found->second;
    const Segment& segment = module_.segment(id);
    const Type& type = module_.type(segment.type);
    if (!type.is_fixed())
      return make_error(ErrorCode::kBadGraph, "a constant has a type that is not a fixed tensor");
    SLUICE_ASSIGN(const int32_t term, segment.kind == SegmentKind::kExpression
                                          ? add_expression(segment)
                                          : add_leaf(id, segment, type));
    by_segment_.emplace(id, term);
    return term;
  }

  // Releases tensors that only terms evaluated here have read.
  void drop_unreachable(int32_t root) {
    std::vector<bool> reached(terms.size(), false);
    reached[static_cast<size_t>(root)] = true;
    for (size_t i = terms.size(); i-- > 0;) {
      for (const int32_t input : terms[i].inputs) {
        if (reached[i] && input >= 0) reached[static_cast<size_t>(input)] = true;
      }
      if (!reached[i]) terms[i].owner.reset();
    }
  }

  std::vector<Term> terms;  // inputs before their users

 private:
  int32_t add(Term term) {
    for (const int32_t input : term.inputs) {
      if (input < 0) continue;
      Term& read = terms[static_cast<size_t>(input)];
      ++read.uses;
      term.depth = std::max(term.depth, read.depth + 1);
    }
    terms.push_back(std::move(term));
    return static_cast<int32_t>(terms.size()) - 1;
  }

  int32_t add_tensor(std::shared_ptr<const Tensor> tensor) {
    Term term{.dtype = tensor->dtype, .dims = tensor->dims, .data = tensor->bytes.data()};
    term.owner = std::move(tensor);
    return add(std::move(term));
  }

  Result<int32_t> add_leaf(SegmentId id, const Segment& segment, const Type& type) {
    const bool is_splat = segment.kind == SegmentKind::kSplat && has_whole_bytes(type.dtype);
    if (is_splat)
      return add({.kind = TermKind::kSplat,
                  .dtype = type.dtype,
                  .dims = *type.extents(),
                  .data = segment.data.data()});
    if (segment.kind == SegmentKind::kSmall || segment.kind == SegmentKind::kBytes) {
      SLUICE_ASSIGN(const std::span<const std::byte> bytes, module_.bytes(id));
      if (type.dtype != DType::kString && bytes.size() == type.dense_bytes()) {
        return add({.dtype = type.dtype, .dims = *type.extents(), .data = bytes.data()});
      }
    }
    SLUICE_ASSIGN(Tensor tensor, evaluate_segment(module_, id));
    return add_tensor(std::make_shared<const Tensor>(std::move(tensor)));
  }

  Result<int32_t> add_expression(const Segment& segment) {
    if (!module_.has_graph(segment.graph))
      return make_error(ErrorCode::kBadGraph, "a constant expression has no graph");
    if (nesting_ == kMaxNesting)
      return make_error(ErrorCode::kLimit, "constant expressions are nested more than {} deep",
                        kMaxNesting)
          .with_hint("compile from the ONNX model anew");
    const Graph& graph = module_.graph(segment.graph);
    std::vector<int32_t> values(static_cast<size_t>(graph.value_limit()), -1);
    if (graph.inputs().size() != segment.inputs.size() || graph.outputs().empty()) {
      return make_error(ErrorCode::kBadGraph,
                        "constant expression '{}' has {} inputs, {} were given", graph.name(),
                        graph.inputs().size(), segment.inputs.size());
    }
    ++nesting_;
    for (size_t i = 0; i < segment.inputs.size(); ++i) {
      SLUICE_ASSIGN(values[static_cast<size_t>(graph.inputs()[i]->id())],
                    add_segment(segment.inputs[i]));
    }
    for (const Node& node : graph.nodes()) SLUICE_TRY(add_node(node, values));
    --nesting_;
    return find(*graph.outputs()[0], values);
  }

  Result<int32_t> find(const Value& value, std::vector<int32_t>& values) {
    int32_t& term = values[static_cast<size_t>(value.id())];
    if (term < 0 && value.is_constant() && !value.is_input()) {
      SLUICE_ASSIGN(term, add_segment(value.segment()));
    }
    if (term < 0)
      return make_error(ErrorCode::kBadGraph,
                        "a constant expression reads value '{}', which nothing makes",
                        value.name());
    return term;
  }

  Result<void> add_node(const Node& node, std::vector<int32_t>& values) {
    std::vector<int32_t> inputs;
    for (size_t i = 0; i < node.input_count(); ++i) {
      int32_t input = -1;
      if (node.input(i) != nullptr) {
        SLUICE_ASSIGN(input, find(*node.input(i), values));
      }
      inputs.push_back(input);
    }
    Term term;
    if (!describe(node, inputs, term)) return evaluate_here(node, inputs, values);
    const int32_t id = add(std::move(term));
    values[static_cast<size_t>(node.output(0).id())] = id;
    const Term& added = terms.back();
    const bool is_small =
        bytes_of(added) <= kSmallBytes &&
        std::all_of(inputs.begin(), inputs.end(), [&](int32_t input) {
          return input < 0 || bytes_of(terms[static_cast<size_t>(input)]) <= kSmallBytes;
        });
    if (!is_small && added.depth <= kMaxDepth) return {};
    SLUICE_ASSIGN(Piece piece, whole(id));
    Term& made = terms.back();
    made = {.dtype = made.dtype,
            .dims = made.dims,
            .data = piece.view.data,
            .owner = std::move(piece.owner),
            .uses = made.uses};
    return {};
  }

  Result<Piece> whole(int32_t id) {
    const Term& term = terms[static_cast<size_t>(id)];
    SLUICE_ASSIGN(Piece piece, BoxEvaluation(terms).evaluate(id, Box::whole(term.dims)));
    return readable(std::move(piece), term.dtype);
  }

  // Describes how to evaluate boxes of the node's result. Returns false when it must be evaluated
  // whole.
  bool describe(const Node& node, const std::vector<int32_t>& inputs, Term& term) {
    const OpRow* row = find_op(node.op());
    if (row == nullptr || node.output_count() != 1 || !node.output(0).type().is_fixed())
      return false;
    const Type& type = node.output(0).type();
    term = {.dtype = type.dtype, .dims = *type.extents(), .node = &node, .inputs = inputs};
    bool fits = has_whole_bytes(type.dtype) && bytes_of(term) > 0;
    for (const int32_t input : inputs) {
      fits = fits && (input < 0 || (has_whole_bytes(terms[static_cast<size_t>(input)].dtype) &&
                                    bytes_of(terms[static_cast<size_t>(input)]) > 0));
    }
    if (!fits || inputs.empty() || inputs[0] < 0) return false;
    const Term& first = terms[static_cast<size_t>(inputs[0])];
    if ((row->flags & kElementwise) != 0 && (row->flags & kRandom) == 0) {
      term.kind = TermKind::kElementwise;
      return true;
    }
    const bool same_elements = first.dtype == term.dtype && bytes_of(first) == bytes_of(term);
    if ((row->flags & kView) != 0 && same_elements) {
      term.kind = TermKind::kReshape;
      term.inputs.resize(1);
      return true;
    }
    if (node.op() == Op::kTranspose && same_elements) return describe_transpose(node, first, term);
    return node.op() == Op::kPad && describe_pad(node, inputs, first, term);
  }

  bool describe_transpose(const Node& node, const Term& first, Term& term) {
    term.kind = TermKind::kTranspose;
    term.numbers = node.get(attributes::Transpose::perm);
    const size_t rank = term.dims.size();
    for (size_t i = 0; !node.has(attributes::Transpose::perm) && i < rank; ++i)
      term.numbers.push_back(static_cast<int64_t>(rank - 1 - i));
    std::vector<int64_t> sorted = term.numbers;
    std::sort(sorted.begin(), sorted.end());
    bool fits = sorted.size() == rank && first.dims.size() == rank;
    for (size_t i = 0; fits && i < rank; ++i) fits = sorted[i] == static_cast<int64_t>(i);
    for (size_t i = 0; fits && i < rank; ++i)
      fits = first.dims[static_cast<size_t>(term.numbers[i])] == term.dims[i];
    return fits;
  }

  bool describe_pad(const Node& node, const std::vector<int32_t>& inputs, const Term& first,
                    Term& term) {
    const size_t rank = term.dims.size();
    const bool is_plain = node.get(attributes::Pad::mode) == "constant" &&
                          (inputs.size() < 4 || inputs[3] < 0) && inputs.size() > 1 &&
                          inputs[1] >= 0 && first.dims.size() == rank;
    if (!is_plain) return false;
    const Term& pads = terms[static_cast<size_t>(inputs[1])];
    if (pads.kind != TermKind::kBytes || pads.dtype != DType::kI64 ||
        pads.dims != std::vector<int64_t>{static_cast<int64_t>(2 * rank)})
      return false;
    std::vector<int64_t> amounts(2 * rank);
    if (rank > 0) std::memcpy(amounts.data(), pads.data, amounts.size() * sizeof(int64_t));
    for (size_t i = 0; i < rank; ++i) {
      int64_t sum = 0;
      const bool overflows = __builtin_add_overflow(first.dims[i], amounts[i], &sum) ||
                             __builtin_add_overflow(sum, amounts[rank + i], &sum);
      if (overflows || sum != term.dims[i]) return false;
    }
    term.kind = TermKind::kPad;
    term.numbers.assign(amounts.begin(), amounts.begin() + static_cast<ptrdiff_t>(rank));
    term.fill.assign(width_of(term.dtype), std::byte{0});
    if (inputs.size() > 2 && inputs[2] >= 0) {
      const Term& fill = terms[static_cast<size_t>(inputs[2])];
      const bool is_element = (fill.kind == TermKind::kBytes || fill.kind == TermKind::kSplat) &&
                              fill.dtype == term.dtype;
      if (!is_element) return false;
      term.fill.assign(fill.data, fill.data + width_of(term.dtype));
    }
    term.inputs.resize(1);
    return true;
  }

  Result<void> evaluate_here(const Node& node, const std::vector<int32_t>& inputs,
                             std::vector<int32_t>& values) {
    std::vector<Piece> pieces(inputs.size());
    std::vector<Operand> operands(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] < 0) continue;
      const Term& input = terms[static_cast<size_t>(inputs[i])];
      if (input.kind == TermKind::kBytes && is_aligned(input.data, input.dtype)) {
        operands[i].view = {input.dtype, input.dims, input.data};
        continue;
      }
      SLUICE_ASSIGN(pieces[i], whole(inputs[i]));
      operands[i].view = {input.dtype, pieces[i].view.dims, pieces[i].view.data};
    }
    const EvalOptions options;
    EvalCall call(node, operands, {}, options);
    SLUICE_TRY(run_kernel(call));
    const std::vector<EvalValue> outputs = call.take_outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].tensor == nullptr)
        return make_error(ErrorCode::kBadGraph, "{}: a constant is made that is no tensor",
                          node.label());
      values[static_cast<size_t>(node.output(i).id())] = add_tensor(outputs[i].tensor);
    }
    return {};
  }

  const Module& module_;
  std::map<SegmentId, int32_t> by_segment_;
  uint32_t nesting_ = 0;
};

}  // namespace
}  // namespace sluice::eval

namespace sluice {

struct TiledEvaluation::TilePlan {
  std::vector<eval::Term> terms;
  int32_t root = 0;
  // Tiles divide this axis; axes before it have extent 1 in a tile, those after it are whole.
  size_t axis = 0;
  int64_t rows = 1;    // of the axis in one tile
  int64_t pieces = 1;  // tiles for each index of the axes before
  size_t tiles = 1;

  eval::Box box(size_t tile) const {
    const std::vector<int64_t>& dims = terms[static_cast<size_t>(root)].dims;
    eval::Box box = eval::Box::whole(dims);
    if (dims.empty()) return box;
    auto left = static_cast<int64_t>(tile);
    box.begin[axis] = left % pieces * rows;
    box.extent[axis] = std::min(rows, dims[axis] - box.begin[axis]);
    left /= pieces;
    for (size_t i = axis; i-- > 0; left /= dims[i]) {
      box.begin[i] = left % dims[i];
      box.extent[i] = 1;
    }
    return box;
  }
};

TiledEvaluation::TiledEvaluation(std::unique_ptr<const TilePlan> plan) : plan_(std::move(plan)) {}
TiledEvaluation::TiledEvaluation(TiledEvaluation&&) noexcept = default;
TiledEvaluation& TiledEvaluation::operator=(TiledEvaluation&&) noexcept = default;
TiledEvaluation::~TiledEvaluation() = default;

Result<TiledEvaluation> TiledEvaluation::make(const Module& module, SegmentId segment,
                                              uint64_t tile_bytes) {
  eval::TermBuilder builder(module);
  SLUICE_ASSIGN(const int32_t root, builder.add_segment(segment));
  builder.drop_unreachable(root);
  auto plan = std::make_unique<TilePlan>();
  plan->root = root;
  plan->terms = std::move(builder.terms);
  const eval::Term& term = plan->terms[static_cast<size_t>(root)];
  const Type& type = module.type(module.segment(segment).type);
  if (term.dtype != type.dtype || term.dims != *type.extents()) {
    return make_error(ErrorCode::kBadGraph,
                      "a constant expression gives {}[{}], its type is {}[{}]",
                      dtype_name(term.dtype), dims_text(term.dims), dtype_name(type.dtype),
                      dims_text(*type.extents()));
  }
  const bool is_empty = std::find(term.dims.begin(), term.dims.end(), 0) != term.dims.end();
  if (is_empty) plan->tiles = 0;
  if (is_empty || term.dims.empty() || !eval::has_whole_bytes(term.dtype))
    return TiledEvaluation(std::move(plan));
  // Bytes of one index of the axis.
  uint64_t inner = eval::bytes_of(term) / static_cast<uint64_t>(term.dims[0]);
  while (inner > tile_bytes && plan->axis + 1 < term.dims.size())
    inner /= static_cast<uint64_t>(term.dims[++plan->axis]);
  const int64_t extent = term.dims[plan->axis];
  plan->rows = std::clamp<int64_t>(static_cast<int64_t>(tile_bytes / inner), 1, extent);
  plan->pieces = (extent + plan->rows - 1) / plan->rows;
  plan->tiles = static_cast<size_t>(plan->pieces);
  for (size_t i = 0; i < plan->axis; ++i) plan->tiles *= static_cast<size_t>(term.dims[i]);
  return TiledEvaluation(std::move(plan));
}

size_t TiledEvaluation::tiles() const { return plan_->tiles; }

Result<TensorBytes> TiledEvaluation::evaluate(size_t tile) const {
  const eval::Term& term = plan_->terms[static_cast<size_t>(plan_->root)];
  if (term.dtype == DType::kString) return TensorBytes(term.owner->bytes);
  if (!eval::has_whole_bytes(term.dtype))
    return TensorBytes(term.data, term.data + eval::packed_bytes(term));
  SLUICE_ASSIGN(const eval::Piece piece,
                eval::BoxEvaluation(plan_->terms).evaluate(plan_->root, plan_->box(tile)));
  TensorBytes bytes(eval::bytes_of({.dtype = term.dtype, .dims = piece.view.dims}));
  eval::copy_strided(piece.view, eval::width_of(term.dtype), bytes.data());
  return bytes;
}

}  // namespace sluice
