// DictVectorizer becomes the op with its vocabulary as an input.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using DictVectorizerAttributes = ml_attributes::DictVectorizer;

Result<void> expand_dict_vectorizer(ExpandCall& call) {
  const std::vector<std::string> texts = call.get(DictVectorizerAttributes::string_vocabulary);
  const std::vector<int64_t> numbers = call.get(DictVectorizerAttributes::int64_vocabulary);
  if (texts.empty() == numbers.empty()) {
    return call.bad(
        "it has {} of the attributes 'string_vocabulary' and 'int64_vocabulary', expected one",
        texts.empty() ? "none" : "both");
  }
  call.results[0] =
      call.add(Op::kDictVectorizer,
               {call.input(0), texts.empty() ? call.ints(numbers) : call.strings(texts)});
  return {};
}

}  // namespace sluice
