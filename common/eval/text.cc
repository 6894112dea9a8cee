// Ops on strings. Inputs are promoted to handles (see call.h).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/elementwise.h"
#include "common/eval/kernels.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

std::string lower_or_upper(std::string text, const std::string& action) {
  for (char& c : text) {
    if (action == "LOWER" && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (action == "UPPER" && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Returns the pieces between delimiters or, without a delimiter, between runs of white space.
// Splits at most `limit` times (negative: any number).
std::vector<std::string> split_text(const std::string& text, const std::string& delimiter,
                                    int64_t limit) {
  std::vector<std::string> pieces;
  size_t at = 0;
  if (delimiter.empty()) {
    for (;;) {
      while (at < text.size() && is_space(text[at])) ++at;
      if (at == text.size()) return pieces;
      size_t end = at;
      if (limit >= 0 && static_cast<int64_t>(pieces.size()) == limit) {
        end = text.size();
        while (end > at && is_space(text[end - 1])) --end;
        pieces.push_back(text.substr(at, end - at));
        return pieces;
      }
      while (end < text.size() && !is_space(text[end])) ++end;
      pieces.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  while (limit < 0 || static_cast<int64_t>(pieces.size()) < limit) {
    const size_t found = text.find(delimiter, at);
    if (found == std::string::npos) break;
    pieces.push_back(text.substr(at, found - at));
    at = found + delimiter.size();
  }
  pieces.push_back(text.substr(at));
  return pieces;
}

Result<void> need_strings(const EvalCall& call) {
  for (size_t i = 0; i < call.input_count(); ++i) {
    if (call.input(i).logical != DType::kString)
      return call.bad_value("input {} holds no strings", i);
  }
  return {};
}

}  // namespace

Result<void> eval_string_concat(EvalCall& call) {
  SLUICE_TRY(need_strings(call));
  SLUICE_ASSIGN(auto dims, broadcast_dims(call, 0, 2));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kString, std::move(dims)));
  const auto f = [&](int64_t a, int64_t b) {
    return call.handle(std::string(call.text(a)) + call.text(b));
  };
  const DType as = DType::kI64;
  apply_binary(call.input(0), call.input(1), y,
               {&f, binary_row<int64_t, int64_t, int64_t, decltype(f)>, as, as, as});
  return {};
}

Result<void> eval_string_split(EvalCall& call) {
  SLUICE_TRY(need_strings(call));
  const Input& x = call.input(0);
  const std::string delimiter = call.node.get(attributes::StringSplit::delimiter);
  const int64_t limit = call.node.get(attributes::StringSplit::maxsplit);
  std::vector<std::vector<std::string>> all;
  size_t widest = 0;
  for (int64_t i = 0; i < x.count; ++i) {
    all.push_back(split_text(call.text(x.as<int64_t>()[i]), delimiter, limit));
    widest = std::max(widest, all.back().size());
  }
  std::vector<int64_t> dims = to_vector(x.dims);
  dims.push_back(static_cast<int64_t>(widest));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kString, dims));
  SLUICE_ASSIGN(const Output counts, call.output(1, DType::kI64, to_vector(x.dims)));
  for (size_t i = 0; i < all.size(); ++i) {
    counts.as<int64_t>()[i] = static_cast<int64_t>(all[i].size());
    for (size_t k = 0; k < widest; ++k)
      y.as<int64_t>()[i * widest + k] = call.handle(k < all[i].size() ? all[i][k] : std::string());
  }
  return {};
}

Result<void> eval_string_normalizer(EvalCall& call) {
  SLUICE_TRY(need_strings(call));
  const Input& x = call.input(0);
  if (x.rank() < 1 || x.rank() > 2 || (x.rank() == 2 && x.dims[0] != 1))
    return call.bad_shape("the input {} is no list", dims_text(x.dims));
  const std::string action = call.node.get(attributes::StringNormalizer::case_change_action);
  const bool sensitive = call.node.get(attributes::StringNormalizer::is_case_sensitive) != 0;
  std::vector<std::string> stops = call.node.get(attributes::StringNormalizer::stopwords);
  const auto key = [&](const std::string& text) {
    return sensitive ? text : lower_or_upper(text, "LOWER");
  };
  for (std::string& stop : stops) stop = key(stop);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < x.count; ++i) {
    const std::string text = call.text(x.as<int64_t>()[i]);
    if (std::ranges::find(stops, key(text)) == stops.end())
      kept.push_back(call.handle(lower_or_upper(text, action)));
  }
  if (kept.empty()) kept.push_back(call.handle(""));
  std::vector<int64_t> dims = to_vector(x.dims);
  dims.back() = static_cast<int64_t>(kept.size());
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kString, dims));
  std::ranges::copy(kept, y.as<int64_t>());
  return {};
}

// Checks the size of a pattern, which comes with the model. Parsing it recurses at each
// parenthesis, and each repetition {n} copies the repeated part: both are bounded here, as they are
// in RE2, whose syntax ONNX refers to.
bool is_bounded(const std::string& pattern) {
  constexpr uint64_t kMaxPatternBytes = 1000, kMaxStates = 2000;
  uint64_t states = pattern.size();
  for (size_t at = pattern.find('{'); at != std::string::npos; at = pattern.find('{', at + 1)) {
    const std::string counts =
        pattern.substr(at + 1, std::min(pattern.find('}', at), pattern.size()) - at - 1);
    const size_t comma = counts.rfind(',');
    const std::string maximum = comma == std::string::npos || comma + 1 == counts.size()
                                    ? counts.substr(0, comma)
                                    : counts.substr(comma + 1);
    states *= maximum.size() > 4
                  ? kMaxStates + 1
                  : std::max<uint64_t>(1, std::strtoul(maximum.c_str(), nullptr, 10));
    if (states > kMaxStates) return false;
  }
  return pattern.size() <= kMaxPatternBytes && states <= kMaxStates;
}

Result<void> eval_regex_full_match(EvalCall& call) {
  SLUICE_TRY(need_strings(call));
  const Input& x = call.input(0);
  const std::string pattern = call.node.get(attributes::RegexFullMatch::pattern);
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kBool, to_vector(x.dims)));
  if (!is_bounded(pattern))
    return call.bad_value("the pattern of {} bytes is too long or repeats too much",
                          pattern.size());
  try {
    // Without back-references, which RE2 does not have either, all alternatives are tried in
    // parallel: linear in the text, and without recursion.
    const std::regex regex(pattern, std::regex::ECMAScript | std::regex_constants::__polynomial);
    for (int64_t i = 0; i < x.count; ++i)
      y.as<uint8_t>()[i] = std::regex_match(call.text(x.as<int64_t>()[i]), regex);
  } catch (const std::regex_error&) {
    return call.bad_value("the pattern '{}' cannot be read or matched", pattern);
  }
  return {};
}

Result<void> eval_tf_idf_vectorizer(EvalCall& call) {
  const Input& x = call.input(0);
  const auto& node = call.node;
  const auto numbers = node.get(attributes::TfIdfVectorizer::pool_int64s);
  const auto texts = node.get(attributes::TfIdfVectorizer::pool_strings);
  const auto starts = node.get(attributes::TfIdfVectorizer::ngram_counts);
  const auto places = node.get(attributes::TfIdfVectorizer::ngram_indexes);
  const auto weights = node.get(attributes::TfIdfVectorizer::weights);
  const std::string mode = node.get(attributes::TfIdfVectorizer::mode);
  const int64_t shortest =
      std::max<int64_t>(node.get(attributes::TfIdfVectorizer::min_gram_length), 1);
  std::vector<int64_t> pool = numbers;
  for (const std::string& text : texts) pool.push_back(call.handle(text));
  std::map<std::vector<int64_t>, size_t> known;  // number by n-gram
  for (size_t n = 0; n < starts.size(); ++n) {
    const int64_t length = static_cast<int64_t>(n) + 1;
    const int64_t end = n + 1 < starts.size() ? starts[n + 1] : static_cast<int64_t>(pool.size());
    if (starts[n] < 0 || end > static_cast<int64_t>(pool.size()))
      return call.bad_value("ngram_counts do not fit the pool");
    for (int64_t at = starts[n]; at + length <= end; at += length)
      known.emplace(std::vector<int64_t>(pool.begin() + at, pool.begin() + at + length),
                    known.size());
  }
  if (x.rank() < 1 || x.rank() > 2 || places.size() < known.size() || places.empty())
    return call.bad_shape("the input {} or ngram_indexes do not fit", dims_text(x.dims));
  const int64_t rows = x.rank() == 2 ? x.dims[0] : 1;
  const int64_t columns = x.dims.back();
  const int64_t last = *std::ranges::max_element(places);
  if (last < 0 || last == INT64_MAX) return call.bad_value("ngram_indexes reach to {}", last);
  const int64_t width = last + 1;
  // The attributes may ask for more, but no gram is longer than the pool's maximum, and none
  // extends beyond a row.
  const int64_t longest = std::min({node.get(attributes::TfIdfVectorizer::max_gram_length),
                                    static_cast<int64_t>(starts.size()), columns});
  const int64_t skips = std::min(node.get(attributes::TfIdfVectorizer::max_skip_count), columns);
  std::vector<int64_t> dims = {width};
  if (x.rank() == 2) dims.insert(dims.begin(), rows);
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kF32, dims));
  std::fill_n(y.as<float>(), y.count, 0.0f);
  const std::vector<int64_t> tokens = call.ints(0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t length = shortest; length <= longest; ++length) {
      for (int64_t distance = 1; distance <= (length == 1 ? 1 : skips + 1); ++distance) {
        for (int64_t first = 0; first + (length - 1) * distance < columns; ++first) {
          std::vector<int64_t> gram;
          for (int64_t k = 0; k < length; ++k)
            gram.push_back(tokens[static_cast<size_t>(row * columns + first + k * distance)]);
          const auto found = known.find(gram);
          if (found != known.end() && places[found->second] >= 0)
            y.as<float>()[row * width + places[found->second]] += 1;
        }
      }
    }
  }
  for (const auto& [gram, number] : known) {
    const float weight = number < weights.size() ? weights[number] : 1.0f;
    for (int64_t row = 0; row < rows && places[number] >= 0 && mode != "TF"; ++row) {
      float& count = y.as<float>()[row * width + places[number]];
      if (count > 0) count = mode == "IDF" ? weight : count * weight;
    }
  }
  return {};
}

}  // namespace sluice::eval
