// Pools over windows and over all spatial dims:
//
//   for n, c, out…: for taps…: a = combine(a, x[n, c, out * stride + tap * dilation - pad …])
//                   y[n, c, out…] = finish(a)
//
// A tap in the padding gives the neutral element; memory is not read there. The largest of a window
// in long rows is that of its columns, each of which serves several windows:
//
//   for n, c, out of all dims but the last:
//     for i: row[padding + i] = max over the taps of these dims of x[n, c, …, i]
//     for o: y[n, c, …, o] = max over the taps of the last dim of row[o * stride + tap * dilation]
#include <algorithm>
#include <functional>

#include "common/loop/lower/families.h"
#include "common/loop/lower/row.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// How the window moves along one spatial dim.
struct Slide {
  ExpressionId in;
  ExpressionId begin;  // padding before and after
  ExpressionId end;
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
};

// As many positions as strides fit, with the padding divided between both ends.
void pad_to_same(Lowering& l, Slide& slide, bool is_upper) {
  ExpressionTable& table = l.table();
  const int64_t reach = (slide.kernel - 1) * slide.dilation + 1;
  const ExpressionId stride = l.number(slide.stride);
  const ExpressionId last =
      table.multiply(table.subtract(table.ceil_divide(slide.in, stride), l.number(1)), stride);
  const ExpressionId total =
      table.maximum(table.subtract(table.add(last, l.number(reach)), slide.in), l.number(0));
  const ExpressionId half = table.floor_divide(total, l.number(2));
  const ExpressionId remainder = table.subtract(total, half);
  slide.begin = is_upper ? half : remainder;
  slide.end = is_upper ? remainder : half;
}

std::vector<Slide> slides_of(Lowering& l, const Node& node) {
  const Index in = l.extents(*node.input(0));
  const size_t count = in.size() - 2;
  const std::vector<int64_t> kernel = node.get(attributes::Pool::kernel_shape);
  const std::vector<int64_t> strides = node.get(attributes::Strided::strides, count);
  const std::vector<int64_t> dilations = node.get(attributes::Dilated::dilations, count);
  const std::vector<int64_t> pads = node.get(attributes::Strided::pads, 2 * count);
  const std::string auto_pad = node.get(attributes::Window::auto_pad);
  std::vector<Slide> slides;
  for (size_t i = 0; i < count; ++i) {
    const bool is_given = auto_pad != "VALID";
    slides.push_back({in[i + 2], l.number(is_given ? pads[i] : 0),
                      l.number(is_given ? pads[i + count] : 0), kernel[i], strides[i],
                      dilations[i]});
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER")
      pad_to_same(l, slides.back(), auto_pad == "SAME_UPPER");
  }
  return slides;
}

struct Window {
  std::vector<Slide> slides;
  Index outer;                // the index of the result
  Index start;                // of the first tap, per spatial dim
  Index element;              // of the tap
  std::vector<Guard> guards;  // hold where the tap is no padding
};

// Starts the nest.
Window begin_window(Lowering& l, const Node& node) {
  Window window;
  window.slides = slides_of(l, node);
  window.outer = l.begin_nest(l.extents(node.output()));
  for (size_t i = 0; i < window.slides.size(); ++i) {
    const Slide& slide = window.slides[i];
    window.start.push_back(l.table().subtract(
        l.table().multiply(window.outer[i + 2], l.number(slide.stride)), slide.begin));
  }
  return window;
}

// Starts the sweep over the taps.
void begin_taps(Lowering& l, Window& window) {
  Index kernel;
  for (const Slide& slide : window.slides) kernel.push_back(l.number(slide.kernel));
  const Index tap = l.begin_sweep(kernel);
  window.element = {window.outer[0], window.outer[1]};
  for (size_t i = 0; i < tap.size(); ++i) {
    const Slide& slide = window.slides[i];
    const ExpressionId at =
        l.table().add(window.start[i], l.table().multiply(tap[i], l.number(slide.dilation)));
    window.element.push_back(at);
    window.guards.push_back({at, slide.in});
  }
}

// The taps before `limit` along one dim.
ExpressionId taps_before(Lowering& l, const Slide& slide, ExpressionId start, ExpressionId limit) {
  ExpressionTable& table = l.table();
  return table.ceil_divide(table.subtract(limit, start), l.number(slide.dilation));
}

// The number of taps inside the input or, with padding, of those before its end: ceil_mode lets
// windows extend beyond the padding.
ExpressionId count_taps(Lowering& l, const Window& window, bool with_padding) {
  ExpressionTable& table = l.table();
  const ExpressionId zero = l.number(0);
  ExpressionId count = l.number(1);
  for (size_t i = 0; i < window.slides.size(); ++i) {
    const Slide& slide = window.slides[i];
    const ExpressionId limit = with_padding ? table.add(slide.in, slide.end) : slide.in;
    const ExpressionId last =
        table.minimum(taps_before(l, slide, window.start[i], limit), l.number(slide.kernel));
    const ExpressionId first =
        with_padding ? zero : table.maximum(taps_before(l, slide, window.start[i], zero), zero);
    count = table.multiply(count, table.maximum(table.subtract(last, first), zero));
  }
  return count;
}

Result<void> average_pool(Lowering& l, const Node& node) {
  Window window = begin_window(l, node);
  begin_taps(l, window);
  const DType dtype = register_dtype(node.output().type().dtype);
  const Id zero = l.real(dtype, 0);
  SLUICE_ASSIGN(const Id x, l.element_if(*node.input(0), window.element, window.guards, zero));
  const AccumulatorId sum = l.accumulate(Combine::kSum, zero, x);
  l.begin_sweep({});
  const bool with_padding = node.get(attributes::AveragePool::count_include_pad) != 0;
  const ExpressionId count = count_taps(l, window, with_padding);
  return l.give(node, 0, window.outer, div(l, l.value_of(sum), number_of(l, dtype, count)));
}

// ---- MaxPool

constexpr int64_t kMinRow = 16;        // elements of a row that is worth its columns
constexpr int64_t kMaxColumnTaps = 8;  // of a column, and of a window of columns

bool is_dense(const Value* value) {
  return value == nullptr || value->storage() == nullptr ||
         value->storage()->map == dense_map(value->type().dims.size());
}

// Rows of the input, with the padding that windows reach.
struct ColumnForm {
  ExpressionId length;  // of the row
  ExpressionId begin;   // padding before
  ExpressionId end;     // where the input's elements end
};

std::optional<ColumnForm> column_form(Lowering& l, const Node& node,
                                      const std::vector<Slide>& slides) {
  const Slide& last = slides.back();
  int64_t taps = 1;
  for (size_t i = 0; i + 1 < slides.size(); ++i) taps *= slides[i].kernel;
  const auto is_few = [](int64_t count) { return count >= 2 && count <= kMaxColumnTaps; };
  const auto in = l.table().as_constant(last.in);
  if (!is_few(taps) || !is_few(last.kernel) || !in || *in < kMinRow) return std::nullopt;
  for (size_t i = 0; i < l.node().input_count(); ++i)
    if (!is_dense(l.node().input(i))) return std::nullopt;
  for (size_t i = 0; i < l.node().output_count(); ++i)
    if (!is_dense(&l.node().output(i))) return std::nullopt;

  ExpressionTable& table = l.table();
  const ExpressionId out = l.extent(node.output(), slides.size() + 1);
  const ExpressionId reach =
      table.add(table.multiply(table.subtract(out, l.number(1)), l.number(last.stride)),
                l.number((last.kernel - 1) * last.dilation + 1));
  ColumnForm form{reach, last.begin, table.add(last.begin, last.in)};
  form.length = table.maximum(reach, form.end);
  const auto begin = table.as_constant(form.begin);
  if (!begin || *begin < 0 || !table.as_constant(form.length)) return std::nullopt;
  return form;
}

// Gives `low` to the elements of the row from `begin` on.
void fill(Lowering& l, BufferId row, ExpressionId begin, ExpressionId end, Id low) {
  const ExpressionId count = l.table().subtract(end, begin);
  if (l.table().as_constant(count) == 0) return;
  const Index at = l.begin_sweep({count});
  l.store_local(row, {l.table().add(begin, at[0])}, low);
}

// Calls `visit` with the index of each tap of these dims.
void for_each_tap(const std::vector<Slide>& slides,
                  const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> tap(slides.size(), 0);
  for (size_t i = slides.size(); true; i = slides.size()) {
    visit(tap);
    while (i > 0 && ++tap[i - 1] == slides[i - 1].kernel) tap[--i] = 0;
    if (i == 0) return;
  }
}

// The largest over the taps of all dims but the last, at element `at` of the last.
Result<Id> largest_of_column(Lowering& l, const Node& node, const std::vector<Slide>& slides,
                             const Index& outer, ExpressionId at, Id low) {
  Id largest = -1;
  Result<void> done;
  for_each_tap({slides.begin(), slides.end() - 1}, [&](const std::vector<int64_t>& tap) {
    Index element = {outer[0], outer[1]};
    std::vector<Guard> guards;
    for (size_t i = 0; i < tap.size(); ++i) {
      const ExpressionId start = l.table().subtract(
          l.table().multiply(outer[i + 2], l.number(slides[i].stride)), slides[i].begin);
      element.push_back(l.table().add(start, l.number(tap[i] * slides[i].dilation)));
      guards.push_back({element.back(), slides[i].in});
    }
    element.push_back(at);
    auto x = l.element_if(*node.input(0), element, guards, low);
    if (!x) {
      done = x.error();
    } else {
      largest = largest < 0 ? *x : l.scalar(ScalarOp::kMax, *x, largest);
    }
  });
  SLUICE_TRY(done);
  return largest;
}

Result<void> max_of_columns(Lowering& l, const Node& node, const std::vector<Slide>& slides,
                            const ColumnForm& form, BufferId row) {
  const Index extents = l.extents(node.output());
  const Slide& last = slides.back();
  Index outer = l.begin_nest({extents.begin(), extents.end() - 1});
  const Id low = lowest(l, register_dtype(node.output().type().dtype));
  // In order: a sweep may write more than its elements, up to a whole vector of them.
  fill(l, row, l.number(0), form.begin, low);
  const Index at = l.begin_sweep({last.in});
  SLUICE_ASSIGN(const Id column, largest_of_column(l, node, slides, outer, at[0], low));
  l.store_local(row, {l.table().add(form.begin, at[0])}, column);
  fill(l, row, form.end, form.length, low);
  outer.push_back(l.begin_sweep({extents.back()})[0]);
  const ExpressionId start = l.table().multiply(outer.back(), l.number(last.stride));
  Id largest = -1;
  for (int64_t tap = 0; tap < last.kernel; ++tap) {
    const ExpressionId place = l.table().add(start, l.number(tap * last.dilation));
    const Id x = l.load_local(row, {place});
    largest = largest < 0 ? x : l.scalar(ScalarOp::kMax, x, largest);
  }
  return l.give(node, 0, outer, largest);
}

Result<void> max_of_windows(Lowering& l, const Node& node) {
  Window window = begin_window(l, node);
  begin_taps(l, window);
  const DType dtype = register_dtype(node.output().type().dtype);
  const Id low = lowest(l, dtype);
  SLUICE_ASSIGN(const Id x, l.element_if(*node.input(0), window.element, window.guards, low));
  const AccumulatorId largest = l.accumulate(Combine::kMax, low, x);
  l.begin_sweep({});
  return l.give(node, 0, window.outer, l.value_of(largest));
}

Result<void> max_values(Lowering& l, const Node& node) {
  const std::vector<Slide> slides = slides_of(l, node);
  const auto form = column_form(l, node, slides);
  const auto row = form ? l.local_buffer(register_dtype(node.output().type().dtype), {form->length})
                        : std::nullopt;
  return row ? max_of_columns(l, node, slides, *form, *row) : max_of_windows(l, node);
}

// The place of an element in its plane; by columns, it is that in the plane with its dims in
// reverse order.
ExpressionId place_in_plane(Lowering& l, const Window& window, bool by_columns) {
  Index index(window.element.begin() + 2, window.element.end()), extents;
  for (const Slide& slide : window.slides) extents.push_back(slide.in);
  if (by_columns) {
    std::reverse(index.begin(), index.end());
    std::reverse(extents.begin(), extents.end());
  }
  return l.flatten(index, extents);
}

// The value and its place are carried from tap to tap: the first of the largest, and the first NaN
// is larger than all others. An empty window has the place 0.
Result<void> max_places(Lowering& l, const Node& node) {
  Window window = begin_window(l, node);
  const DType dtype = register_dtype(node.output().type().dtype);
  const Id none = l.integer(DType::kI64, -1), low = lowest(l, dtype);
  begin_taps(l, window);
  const AccumulatorId largest = l.begin_carry(low), place = l.begin_carry(none);
  const Id best = l.value_of(largest), at = l.value_of(place);
  SLUICE_ASSIGN(const Id x, l.element_if(*node.input(0), window.element, window.guards, low));
  const auto negated = [&](Id id) { return l.scalar(ScalarOp::kNot, id); };
  const auto both = [&](Id a, Id b) { return l.scalar(ScalarOp::kAnd, a, b); };
  const Id is_first = l.scalar(ScalarOp::kLess, at, l.integer(DType::kI64, 0));
  const Id is_larger = both(negated(l.scalar(ScalarOp::kLessOrEqual, x, best)),
                            l.scalar(ScalarOp::kEqual, best, best));
  const Id is_better = both(l.test(window.guards), l.scalar(ScalarOp::kOr, is_first, is_larger));
  const bool by_columns = node.get(attributes::MaxPool::storage_order) != 0;
  const Id own = l.index_value(place_in_plane(l, window, by_columns));
  l.end_carry(largest, select(l, is_better, x, best));
  l.end_carry(place, select(l, is_better, own, at));

  l.begin_sweep({});
  SLUICE_TRY(l.give(node, 0, window.outer, l.value_of(largest)));
  const Index extents = l.extents(*node.input(0));
  ExpressionId plane =
      l.table().add(l.table().multiply(window.outer[0], extents[1]), window.outer[1]);
  for (const Slide& slide : window.slides) plane = l.table().multiply(plane, slide.in);
  const Id found = l.scalar(ScalarOp::kMax, l.value_of(place), l.integer(DType::kI64, 0));
  return l.give(node, 1, window.outer, add(l, found, l.index_value(plane)));
}

Result<void> max_pool(Lowering& l, const Node& node) {
  return l.is_wanted(node, 1) ? max_places(l, node) : max_values(l, node);
}

// ---- LpPool

// Larger powers are not worth products.
constexpr int64_t kMaxProducts = 8;

// |x|^p
Id power_term(Lowering& l, Id x, int64_t p) {
  if (p == 2) return square(l, x);
  x = l.scalar(ScalarOp::kAbs, x);
  if (p <= kMaxProducts) return whole_power(l, x, p);
  return l.scalar(ScalarOp::kPow, x, l.real(l.dtype_of(x), static_cast<double>(p)));
}

Id pth_root(Lowering& l, Id sum, int64_t p) {
  if (p == 1) return sum;
  if (p == 2) return l.scalar(ScalarOp::kSqrt, sum);
  return l.scalar(ScalarOp::kPow, sum, l.real(l.dtype_of(sum), 1.0 / static_cast<double>(p)));
}

std::string lp_reason(const Node& node) {
  return node.get(attributes::LpPool::p) < 1 ? "a power below 1" : std::string();
}

Result<void> lp_pool(Lowering& l, const Node& node) {
  const int64_t p = node.get(attributes::LpPool::p);
  Window window = begin_window(l, node);
  begin_taps(l, window);
  const Id zero = l.real(register_dtype(node.output().type().dtype), 0);
  SLUICE_ASSIGN(const Id x, l.element_if(*node.input(0), window.element, window.guards, zero));
  const AccumulatorId sum = l.accumulate(Combine::kSum, zero, power_term(l, x, p));
  l.begin_sweep({});
  return l.give(node, 0, window.outer, pth_root(l, l.value_of(sum), p));
}

// ---- pools over all spatial dims

Row begin_plane(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  return Row::begin_nest(l, x, axes_from(2, x.type().dims.size()), 1);
}

Result<void> global_average_pool(Lowering& l, const Node& node) {
  Row row = begin_plane(l, node);
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const DType dtype = l.dtype_of(x);
  const AccumulatorId sum = l.accumulate(Combine::kSum, l.real(dtype, 0), x);
  l.begin_sweep({});
  return l.give(node, 0, row.first(), div(l, l.value_of(sum), number_of(l, dtype, row.count())));
}

Result<void> global_max_pool(Lowering& l, const Node& node) {
  Row row = begin_plane(l, node);
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const AccumulatorId largest = l.accumulate(Combine::kMax, lowest(l, l.dtype_of(x)), x);
  l.begin_sweep({});
  return l.give(node, 0, row.first(), l.value_of(largest));
}

Result<void> global_lp_pool(Lowering& l, const Node& node) {
  const int64_t p = node.get(attributes::GlobalLpPool::p);
  Row row = begin_plane(l, node);
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const AccumulatorId sum =
      l.accumulate(Combine::kSum, l.real(l.dtype_of(x), 0), power_term(l, x, p));
  l.begin_sweep({});
  return l.give(node, 0, row.first(), pth_root(l, l.value_of(sum), p));
}

constexpr LoweringRow kPoolingRows[] = {
    {Op::kMaxPool, nullptr, nullptr, max_pool},
    {Op::kAveragePool, nullptr, nullptr, average_pool},
    {Op::kLpPool, lp_reason, nullptr, lp_pool},
    {Op::kGlobalAveragePool, nullptr, nullptr, global_average_pool},
    {Op::kGlobalMaxPool, nullptr, nullptr, global_max_pool},
    {Op::kGlobalLpPool, lp_reason, nullptr, global_lp_pool},
};

}  // namespace

std::span<const LoweringRow> pooling_rows() { return kPoolingRows; }

}  // namespace sluice::loop
