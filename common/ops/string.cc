// Ops on text.
#include <algorithm>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

constexpr uint32_t kStringSet = dtype_set({DType::kString});

Result<void> infer_string_concat(InferCall& call) {
  for (const size_t i : {0, 1}) SLUICE_TRY(call.expect_dtype(i, kStringSet));
  SLUICE_ASSIGN(Shape shape, call.broadcast_inputs(0, 2));
  return call.give(0, DType::kString, std::move(shape));
}

// Infers StringNormalizer of [C] or [1, C]. Stop words are removed, so with them the length becomes
// a symbol.
Result<void> infer_normalizer(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kStringSet));
  SLUICE_TRY(call.expect_rank(0, 1, 2));
  Shape shape = call.shape(0);
  if (shape && !call.node.get(attributes::StringNormalizer::stopwords).empty())
    shape->back() = call.result_dim(0, shape->size() - 1, Dim::unknown(), 1);
  return call.give(0, DType::kString, std::move(shape));
}

Result<void> infer_string_split(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kStringSet));
  Shape shape = call.shape(0);
  SLUICE_TRY(call.give(1, DType::kI64, shape));
  if (shape) shape->push_back(call.result_dim(0, shape->size()));
  return call.give(0, DType::kString, std::move(shape));
}

Result<void> infer_match(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kStringSet));
  return call.give(0, DType::kBool, call.shape(0));
}

// Infers one count per n-gram; the largest of ngram_indexes determines their number.
Result<void> infer_tf_idf(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kIndexSet | kStringSet));
  SLUICE_TRY(call.expect_rank(0, 1, 2));
  const std::vector<int64_t> indexes = call.node.get(attributes::TfIdfVectorizer::ngram_indexes);
  if (indexes.empty()) return call.bad_node("attribute 'ngram_indexes' is empty");
  const int64_t maximum = *std::max_element(indexes.begin(), indexes.end());
  if (maximum < 0 || maximum == INT64_MAX)
    return call.bad_node("attribute 'ngram_indexes' has the element {}", maximum);
  Shape shape = call.shape(0);
  if (shape) shape->back() = Dim::fixed(maximum + 1);
  return call.give(0, DType::kF32, std::move(shape));
}

constexpr OpRow kStringRows[] = {
    {Op::kRegexFullMatch, 1, 1, 1, 1, kElementwise, attribute_rows::RegexFullMatch, infer_match},
    {Op::kStringConcat, 2, 2, 1, 1, kElementwise, {}, infer_string_concat},
    {Op::kStringNormalizer, 1, 1, 1, 1, kDataDependent, attribute_rows::StringNormalizer,
     infer_normalizer},
    {Op::kStringSplit, 1, 1, 1, 2, kDataDependent, attribute_rows::StringSplit, infer_string_split},
    {Op::kTfIdfVectorizer, 1, 1, 1, 1, 0, attribute_rows::TfIdfVectorizer, infer_tf_idf},
};

}  // namespace

std::span<const OpRow> string_rows() { return kStringRows; }

}  // namespace sluice
