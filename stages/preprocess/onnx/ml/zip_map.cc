// ZipMap becomes the op with its keys as an input. --zipmap=tensor removes it later
// (passes/normalize_zipmap.cc).
#include <algorithm>

#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

using ZipMapAttributes = ml_attributes::ZipMap;

// Returns whether a label occurs twice: a map has each key once.
template <typename Label>
bool has_twin(std::vector<Label> labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) != labels.end();
}

}  // namespace

Result<void> expand_zip_map(ExpandCall& call) {
  const std::vector<std::string> texts = call.get(ZipMapAttributes::classlabels_strings);
  const std::vector<int64_t> numbers = call.get(ZipMapAttributes::classlabels_int64s);
  if (texts.empty() == numbers.empty()) {
    return call.bad(
        "it has {} of the attributes 'classlabels_strings' and 'classlabels_int64s', expected one",
        texts.empty() ? "none" : "both");
  }
  if (has_twin(texts) || has_twin(numbers)) return call.bad("a class label is there twice");
  Value* keys = texts.empty() ? call.ints(numbers) : call.strings(texts);
  call.results[0] = call.add(Op::kZipMap, {call.input(0), keys});
  return {};
}

}  // namespace sluice
