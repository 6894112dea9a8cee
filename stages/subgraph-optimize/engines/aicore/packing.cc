#include "stages/subgraph-optimize/engines/aicore/packing.h"

#include <functional>
#include <numeric>

#include "stages/subgraph-optimize/codegen/ceil_div.h"

namespace sluice {
namespace {

// Returns 0, 1, …, rank - 1 with the last two exchanged.
std::vector<int64_t> swap_last_two(size_t rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return permutation;
}

// Returns 0, 1, …, rank - 1 with the two axes before the last exchanged: panels and reduction.
std::vector<int64_t> swap_before_last(size_t rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 2], permutation[rank - 3]);
  return permutation;
}

// Returns 0, 1, …, rank - 1, then rank + each of `more`.
std::vector<int64_t> after(int64_t rank, std::initializer_list<int64_t> more) {
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  for (const int64_t axis : more) permutation.push_back(rank + axis);
  return permutation;
}

std::vector<int64_t> with(std::vector<int64_t> dims, std::initializer_list<int64_t> more) {
  dims.insert(dims.end(), more);
  return dims;
}

}  // namespace

// A missing row is 0.
void MatrixPacking::pack_pairs(Chain& chain) const {
  const int64_t columns = round_up(n, nr), rows = round_up(k, 2);
  const auto rank = static_cast<int64_t>(batch.size());
  if (!transposed)  // a vector is a matrix of one column
    chain.reshape(with(batch, {k, n})).transpose(swap_last_two(batch.size() + 2));
  chain.pad_last(rows).transpose(swap_last_two(batch.size() + 2)).pad_last(columns);
  chain.reshape(with(batch, {rows / 2, 2, columns / nr, nr})).transpose(after(rank, {2, 0, 3, 1}));
}

void MatrixPacking::unpack_pairs(Chain& chain) const {
  const int64_t columns = round_up(n, nr), rows = round_up(k, 2);
  const auto rank = static_cast<int64_t>(batch.size());
  chain.transpose(after(rank, {1, 3, 0, 2})).reshape(with(batch, {rows, columns})).slice_last(n);
  chain.transpose(swap_last_two(batch.size() + 2)).slice_last(k);
  if (!transposed) chain.transpose(swap_last_two(batch.size() + 2));
}

void MatrixPacking::pack(Chain& chain) const {
  if (in_pairs) return pack_pairs(chain);
  const int64_t columns = round_up(n, nr);
  if (transposed) chain.transpose(swap_last_two(batch.size() + 2));
  chain.reshape(with(batch, {k, n})).pad_last(columns).reshape(with(batch, {k, columns / nr, nr}));
  chain.transpose(swap_before_last(batch.size() + 3));
}

void MatrixPacking::unpack(Chain& chain) const {
  if (in_pairs) return unpack_pairs(chain);
  const int64_t columns = round_up(n, nr);
  chain.transpose(swap_before_last(batch.size() + 3))
      .reshape(with(batch, {k, columns}))
      .slice_last(n);
  if (transposed) chain.transpose(swap_last_two(batch.size() + 2));
}

loop::Packing MatrixPacking::loops() const {
  const int64_t matrices =
      std::accumulate(batch.begin(), batch.end(), int64_t{1}, std::multiplies<>());
  return {matrices, n, {k}, {0}, transposed, nr, in_pairs, dtype, dtype};
}

void ConvPacking::pack(Chain& chain) const {
  const int64_t columns = round_up(co / groups, nr);
  const int64_t reduction = rows() * kw * channels();
  if (is_direct) chain.cast(DType::kF32);
  chain.reshape({groups, co / groups, channels(), rows(), kw});
  chain
      .transpose(is_direct ? std::vector<int64_t>{0, 2, 4, 3, 1}
                           : std::vector<int64_t>{0, 3, 4, 2, 1})
      .pad_last(columns);
  if (in_pairs) {
    chain.reshape({groups, reduction / 2, 2, columns / nr, nr}).transpose({0, 3, 1, 4, 2});
  } else {
    chain.reshape({groups, reduction, columns / nr, nr}).transpose({0, 2, 1, 3});
  }
}

void ConvPacking::unpack(Chain& chain) const {
  const int64_t columns = round_up(co / groups, nr);
  chain.transpose(in_pairs ? std::vector<int64_t>{0, 2, 4, 1, 3}
                           : std::vector<int64_t>{0, 2, 1, 3});
  if (is_direct) {
    chain.reshape({groups, channels(), kw, kh, columns})
        .slice_last(co / groups)
        .transpose({0, 4, 1, 3, 2});
  } else {
    chain.reshape({groups, rows(), kw, ci_per_group, columns})
        .slice_last(co / groups)
        .transpose({0, 4, 3, 1, 2});
  }
  chain.reshape(kd == 0 ? std::vector<int64_t>{co, ci_per_group, kh, kw}
                        : std::vector<int64_t>{co, ci_per_group, kd, kh, kw});
  chain.cast(dtype);
}

loop::Packing ConvPacking::loops() const {
  const std::vector<size_t> order =
      is_direct ? std::vector<size_t>{0, 2, 1} : std::vector<size_t>{1, 2, 0};
  const DType packed = is_direct ? DType::kF32 : dtype;
  return {groups, co / groups, {channels(), rows(), kw}, order, true, nr, in_pairs, dtype, packed};
}

void DepthwisePacking::pack(Chain& chain) const {
  chain.reshape({channels, kh * kw}).transpose({1, 0}).pad_last(nr);
}

void DepthwisePacking::unpack(Chain& chain) const {
  chain.slice_last(channels).transpose({1, 0}).reshape({channels, 1, kh, kw});
}

loop::Packing DepthwisePacking::loops() const {
  return {1, channels, {kh * kw}, {0}, true, nr, false, dtype, dtype};
}

}  // namespace sluice
