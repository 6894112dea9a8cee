#include <algorithm>
#include <cstring>

#include "common/eval/call.h"
#include "common/eval/tile_terms.h"

namespace sluice::eval {
namespace {

// Returns the part of a dense or repeated tensor that is in the box.
StridedView part_of(const std::byte* data, size_t width, const std::vector<int64_t>& strides,
                    const Box& box) {
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) offset += box.begin[i] * strides[i];
  return {data + static_cast<size_t>(offset) * width, box.extent, strides};
}

// Returns the box that an operand of `dims` contributes to a box of the result it is broadcast to.
Box broadcast_box(const Box& box, const std::vector<int64_t>& dims) {
  Box part = Box::whole(dims);
  const size_t skipped = box.extent.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    part.begin[i] = box.begin[i + skipped];
    part.extent[i] = box.extent[i + skipped];
  }
  return part;
}

}  // namespace

size_t width_of(DType dtype) { return static_cast<size_t>(dtype_bits(dtype)) / 8; }

Piece dense(Piece piece, DType dtype) {
  if (piece.view.is_dense()) return piece;
  auto tensor = std::make_shared<Tensor>(make_tensor(dtype, piece.view.dims));
  copy_strided(piece.view, width_of(dtype), tensor->bytes.data());
  return {{tensor->bytes.data(), tensor->dims, dense_strides(tensor->dims)}, tensor};
}

Piece readable(Piece piece, DType dtype) {
  piece = dense(std::move(piece), dtype);
  if (is_aligned(piece.view.data, dtype)) return piece;
  auto tensor = std::make_shared<Tensor>(make_tensor(dtype, piece.view.dims));
  std::copy_n(piece.view.data, tensor->bytes.size(), tensor->bytes.begin());
  piece.view.data = tensor->bytes.data();
  piece.owner = std::move(tensor);
  return piece;
}

Result<Piece> BoxEvaluation::evaluate(int32_t id, const Box& box) {
  const Term& term = terms_[static_cast<size_t>(id)];
  const bool is_kept =
      term.uses > 1 && term.kind != TermKind::kBytes && term.kind != TermKind::kSplat;
  if (!is_kept) return compute(term, box);
  const auto found = kept_.find(id);
  if (found != kept_.end() && found->second.first == box) return found->second.second;
  SLUICE_ASSIGN(Piece piece, compute(term, box));
  kept_.insert_or_assign(id, std::pair(box, piece));
  return piece;
}

Result<Piece> BoxEvaluation::compute(const Term& term, const Box& box) {
  switch (term.kind) {
    case TermKind::kBytes:
      return Piece{part_of(term.data, width_of(term.dtype), dense_strides(term.dims), box),
                   term.owner};
    case TermKind::kSplat:
      return Piece{{term.data, box.extent, std::vector<int64_t>(box.extent.size(), 0)}, term.owner};
    case TermKind::kElementwise:
      return compute_elementwise(term, box);
    case TermKind::kTranspose:
      return transpose(term, box);
    case TermKind::kReshape:
      return reshape(term, box);
    case TermKind::kPad:
      return compute_pad(term, box);
  }
  return make_error(ErrorCode::kInternal, "a term of unknown kind");
}

Result<Piece> BoxEvaluation::compute_elementwise(const Term& term, const Box& box) {
  std::vector<Piece> pieces(term.inputs.size());
  std::vector<Operand> operands(term.inputs.size());
  for (size_t i = 0; i < term.inputs.size(); ++i) {
    if (term.inputs[i] < 0) continue;
    const Term& input = terms_[static_cast<size_t>(term.inputs[i])];
    SLUICE_ASSIGN(Piece piece, evaluate(term.inputs[i], broadcast_box(box, input.dims)));
    pieces[i] = readable(std::move(piece), input.dtype);
    operands[i].view = {input.dtype, pieces[i].view.dims, pieces[i].view.data};
  }
  const EvalOptions options;
  EvalCall call(*term.node, operands, {}, options);
  SLUICE_TRY(run_kernel(call));
  const std::vector<EvalValue> outputs = call.take_outputs();
  if (outputs.size() != 1 || outputs[0].tensor == nullptr ||
      outputs[0].tensor->dims != box.extent || outputs[0].tensor->dtype != term.dtype) {
    return make_error(ErrorCode::kBadGraph,
                      "{}: the result does not have the type that the graph says",
                      term.node->label());
  }
  const std::shared_ptr<const Tensor>& tensor = outputs[0].tensor;
  return Piece{{tensor->bytes.data(), tensor->dims, dense_strides(tensor->dims)}, tensor};
}

Result<Piece> BoxEvaluation::transpose(const Term& term, const Box& box) {
  const size_t rank = term.numbers.size();
  Box source{std::vector<int64_t>(rank), std::vector<int64_t>(rank)};
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<size_t>(term.numbers[i]);
    source.begin[axis] = box.begin[i];
    source.extent[axis] = box.extent[i];
  }
  SLUICE_ASSIGN(Piece piece, evaluate(term.inputs[0], source));
  std::vector<int64_t> strides(rank);
  for (size_t i = 0; i < rank; ++i)
    strides[i] = piece.view.strides[static_cast<size_t>(term.numbers[i])];
  piece.view.dims = box.extent;
  piece.view.strides = std::move(strides);
  return piece;
}

Result<Piece> BoxEvaluation::reshape(const Term& term, const Box& box) {
  const Term& input = terms_[static_cast<size_t>(term.inputs[0])];
  const ReshapedBox reshaped = reshape_box(box, term.dims, input.dims);
  SLUICE_ASSIGN(Piece piece, evaluate(term.inputs[0], reshaped.source));
  piece = dense(std::move(piece), input.dtype);
  piece.view.data += static_cast<size_t>(reshaped.offset) * width_of(term.dtype);
  piece.view.dims = box.extent;
  piece.view.strides = reshaped.strides;
  return piece;
}

Result<Piece> BoxEvaluation::compute_pad(const Term& term, const Box& box) {
  const Term& input = terms_[static_cast<size_t>(term.inputs[0])];
  const size_t width = width_of(term.dtype);
  auto tensor = std::make_shared<Tensor>(make_tensor(term.dtype, box.extent));
  const bool is_zero = std::all_of(term.fill.begin(), term.fill.end(),
                                   [](std::byte b) { return b == std::byte{0}; });
  for (size_t at = 0; !is_zero && at < tensor->bytes.size(); at += width)
    std::copy(term.fill.begin(), term.fill.end(), &tensor->bytes[at]);
  const std::vector<int64_t> strides = dense_strides(box.extent);
  Box source = box;
  int64_t offset = 0;
  for (size_t i = 0; i < box.extent.size(); ++i) {
    const int64_t begin = std::max<int64_t>(box.begin[i] - term.numbers[i], 0);
    const int64_t end = std::min(box.begin[i] + box.extent[i] - term.numbers[i], input.dims[i]);
    source.begin[i] = begin;
    source.extent[i] = std::max<int64_t>(end - begin, 0);
    offset += std::max<int64_t>(begin + term.numbers[i] - box.begin[i], 0) * strides[i];
  }
  if (std::find(source.extent.begin(), source.extent.end(), 0) == source.extent.end()) {
    SLUICE_ASSIGN(const Piece piece, evaluate(term.inputs[0], source));
    copy_strided(piece.view, width, tensor->bytes.data() + static_cast<size_t>(offset) * width,
                 strides);
  }
  return Piece{{tensor->bytes.data(), tensor->dims, strides}, tensor};
}

}  // namespace sluice::eval
