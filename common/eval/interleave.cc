// Interleave: every result element is one of a phase; common/ops/sluice_domain.cc has the formula.
#include <algorithm>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

struct Phases {
  std::vector<int64_t> in, strides, pads;  // by spatial axis
  int64_t count = 1;

  size_t rank() const { return in.size(); }
};

// The place of an element of a result's image: its phase, and the position there.
struct Place {
  int64_t phase = 0, position = 0;
};

Place place_of(const Phases& phases, const std::vector<int64_t>& index) {
  Place place;
  for (size_t i = 0; i < phases.rank(); ++i) {
    const int64_t along = index[i] + phases.pads[i];
    place.phase = place.phase * phases.strides[i] + along % phases.strides[i];
    place.position = place.position * phases.in[i] + along / phases.strides[i];
  }
  return place;
}

// Returns the places of all elements of an image, row by row.
std::vector<Place> image_places(const Phases& phases, const std::vector<int64_t>& out) {
  std::vector<Place> places(static_cast<size_t>(product(out)));
  std::vector<int64_t> index(out.size(), 0);
  for (Place& place : places) {
    place = place_of(phases, index);
    for (size_t i = out.size(); i-- > 0 && ++index[i] == out[i];) index[i] = 0;
  }
  return places;
}

Result<Phases> read_phases(const EvalCall& call, const Input& x) {
  if (x.rank() < 3) return call.bad_shape("phases of the shape {}", dims_text(x.dims));
  Phases phases{{x.dims.begin() + 2, x.dims.end()}, {}, {}};
  phases.strides = call.node.get(attributes::Strided::strides, phases.rank());
  phases.pads = call.node.get(attributes::Strided::pads, 2 * phases.rank());
  if (phases.strides.size() != phases.rank() || phases.pads.size() != 2 * phases.rank())
    return call.bad_value("attributes do not fit {} spatial axes", phases.rank());
  for (const int64_t stride : phases.strides) {
    if (stride < 1) return call.bad_value("a stride is not positive");
    phases.count = times(phases.count, stride);
  }
  const auto inputs = static_cast<int64_t>(call.input_count());
  const int64_t group = call.node.get(attributes::Interleave::group);
  if (group < 1 || (inputs != 1 && inputs != phases.count) ||
      (inputs == 1 && x.dims[1] % times(phases.count, group) != 0))
    return call.bad_shape("{} inputs like {} are not {} phases", inputs, dims_text(x.dims),
                          phases.count);
  for (size_t i = 0; i < call.input_count(); ++i) {
    if (call.has(i) &&
        (!std::ranges::equal(call.input(i).dims, x.dims) || call.input(i).dtype != x.dtype))
      return call.bad_shape("phases of different types");
  }
  return phases;
}

}  // namespace

Result<void> eval_interleave(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Phases phases, read_phases(call, x));
  const bool is_one = call.input_count() == 1;
  const int64_t channels = is_one ? x.dims[1] / phases.count : x.dims[1];
  const int64_t in_group = channels / call.node.get(attributes::Interleave::group);
  std::vector<int64_t> out;
  for (size_t i = 0; i < phases.rank(); ++i) {
    out.push_back(times(phases.in[i], phases.strides[i]) - phases.pads[i] -
                  phases.pads[phases.rank() + i]);
    if (out[i] < 0) return call.bad_shape("the output would have a negative extent");
  }
  std::vector<int64_t> dims = {x.dims[0], channels};
  dims.insert(dims.end(), out.begin(), out.end());
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  const std::vector<Place> places = image_places(phases, out);
  const int64_t image = product(phases.in);
  return visit_width(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    T* to = y.as<T>();
    for (int64_t plane = 0; plane < x.dims[0] * channels; ++plane) {
      const int64_t n = plane / channels, c = plane % channels;
      for (const Place& place : places) {
        const Input& from = call.input(is_one ? 0 : static_cast<size_t>(place.phase));
        const int64_t channel =
            is_one ? (c / in_group * phases.count + place.phase) * in_group + c % in_group : c;
        *to++ =
            from.present() ? from.as<T>()[(n * x.dims[1] + channel) * image + place.position] : T{};
      }
    }
    return {};
  });
}

}  // namespace sluice::eval
