// Tables from labels and categories, which are numbers or strings, to values.
#include <map>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// Returns keys such that equal elements have equal keys, including NaN. Strings are promoted to
// handles.
std::vector<int64_t> keys_of(const Input& x) {
  std::vector<int64_t> keys(static_cast<size_t>(x.count));
  load_order_keys(x.dtype, x.data, 0, x.count, keys.data());
  return keys;
}

// Returns the position of each element of a list, the last position of a repeated one.
std::map<int64_t, size_t> places_of(const Input& list) {
  const std::vector<int64_t> keys = keys_of(list);
  std::map<int64_t, size_t> places;
  for (size_t i = 0; i < keys.size(); ++i) places[keys[i]] = i;
  return places;
}

}  // namespace

Result<void> eval_label_encoder(EvalCall& call) {
  const Input &x = call.input(0), &keys = call.input(1), &values = call.input(2),
              &other = call.input(3);
  if (keys.logical != x.logical || other.logical != values.logical || keys.count != values.count ||
      other.count != 1) {
    return call.bad_shape("{} keys of {}, {} values of {} and {} defaults do not fit", keys.count,
                          dtype_name(keys.logical), values.count, dtype_name(values.logical),
                          other.count);
  }
  const std::map<int64_t, size_t> places = places_of(keys);
  const std::vector<int64_t> wanted = keys_of(x);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 2, to_vector(x.dims)));
  return visit_width(call, values.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto found = places.find(wanted[i]);
      y.as<T>()[i] = found == places.end() ? *other.as<T>() : values.as<T>()[found->second];
    }
    return {};
  });
}

Result<void> eval_one_hot_encoder(EvalCall& call) {
  const Input &x = call.input(0), &categories = call.input(1);
  if (categories.logical != x.logical)
    return call.bad_value("the categories are of {}", dtype_name(categories.logical));
  const bool may_be_missing = call.node.get(attributes::OneHotEncoder::zeros) != 0;
  const std::map<int64_t, size_t> places = places_of(categories);
  const std::vector<int64_t> wanted = keys_of(x);
  std::vector<int64_t> dims = to_vector(x.dims);
  dims.push_back(categories.count);
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kF32, dims));
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto* row = y.as<float>() + i * static_cast<size_t>(categories.count);
    std::fill_n(row, categories.count, 0.0f);
    const auto found = places.find(wanted[i]);
    if (found == places.end() && !may_be_missing)
      return call.bad_value("element {} of the input is none of the categories", i);
    if (found != places.end()) row[found->second] = 1;
  }
  return {};
}

}  // namespace sluice::eval
