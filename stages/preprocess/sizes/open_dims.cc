#include "stages/preprocess/sizes/open_dims.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "common/ir/dynamic_dims.h"

namespace sluice {
namespace {

constexpr int64_t kBatches[] = {1, 2, 4, 8};
constexpr int64_t kImages[] = {224, 256, 32,  64,  128, 512, 320, 640, 28, 299,
                               96,  416, 384, 160, 192, 112, 48,  16,  8,  1024};
constexpr int64_t kPasts[] = {128, 1, 8, 16, 64, 32, 256, 512, 2, 4};
constexpr int64_t kSequences[] = {128, 1, 8, 16, 64, 32, 256, 512, 2, 4, 77, 384};
constexpr int64_t kSteps[] = {1, 8, 16, 128, 64, 32, 256, 512, 2, 4};
constexpr int64_t kOthers[] = {1, 8, 16, 32, 64, 128, 2, 3, 4, 96, 256, 512, 768, 1024, 80, 100};

// Words in names of dims, in lower case; the first row that matches decides.
struct RoleWord {
  std::string_view word;
  bool is_whole;  // the name is nothing else
  SizeRole role;
};
constexpr RoleWord kRoleWords[] = {
    {"batch", false, SizeRole::kBatch},   {"n", true, SizeRole::kBatch},
    {"b", true, SizeRole::kBatch},        {"bs", true, SizeRole::kBatch},
    {"height", false, SizeRole::kImage},  {"width", false, SizeRole::kImage},
    {"image", false, SizeRole::kImage},   {"h", true, SizeRole::kImage},
    {"w", true, SizeRole::kImage},        {"past", false, SizeRole::kPast},
    {"cache", false, SizeRole::kPast},    {"seq", false, SizeRole::kSequence},
    {"len", false, SizeRole::kSequence},  {"token", false, SizeRole::kSequence},
    {"time", false, SizeRole::kSequence}, {"frame", false, SizeRole::kSequence},
    {"t", true, SizeRole::kSequence},     {"s", true, SizeRole::kSequence},
    {"l", true, SizeRole::kSequence},
};

std::string in_small_letters(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

SizeRole role_by_place(const Type& type, int32_t axis) {
  if (axis == 0) return SizeRole::kBatch;
  if (type.rank() == 4 && axis >= 2) return SizeRole::kImage;
  const bool is_indices = type.dtype == DType::kI64 || type.dtype == DType::kI32;
  if (axis == 1 && (type.rank() == 3 || (type.rank() == 2 && is_indices)))
    return SizeRole::kSequence;
  return SizeRole::kOther;
}

SizeRole role_of(const Module& module, const Symbol& symbol) {
  const std::string name = in_small_letters(symbol.name);
  for (const RoleWord& row : kRoleWords) {
    if (row.is_whole ? name == row.word : name.find(row.word) != std::string::npos) return row.role;
  }
  for (const Value* input : module.root().inputs()) {
    const Type& type = input->type();
    for (int32_t axis = 0; type.is_tensor() && axis < static_cast<int32_t>(type.dims.size());
         ++axis) {
      const Dim& dim = type.dims[static_cast<size_t>(axis)];
      if (!dim.is_expression()) continue;
      const Expression& expression = module.expressions[static_cast<ExpressionId>(dim.value)];
      const bool is_it =
          expression.op == ExpressionOp::kSymbol &&
          &module.expressions.symbol(static_cast<SymbolId>(expression.value)) == &symbol;
      if (is_it) return role_by_place(type, axis);
    }
  }
  return SizeRole::kOther;
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// Removes the blanks around the text.
std::string without_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? std::string()
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

bool is_total(const std::string& name) {
  return in_small_letters(name).find("total") != std::string::npos;
}

// Reads "total_sequence_length" as the sum of a past and the new sequence.
void read_total(const Module& module, std::vector<OpenDim>& dims, size_t i) {
  const auto name = [&](const OpenDim& dim) -> const std::string& {
    return module.expressions.symbol(dim.symbol).name;
  };
  if (!is_total(name(dims[i]))) return;
  std::vector<size_t> summands;
  for (const SizeRole role : {SizeRole::kPast, SizeRole::kSequence}) {
    const auto summand = std::find_if(dims.begin(), dims.end(), [&](const OpenDim& dim) {
      return dim.role == role && dim.summands.empty() && !is_total(name(dim));
    });
    if (summand == dims.end()) return;
    summands.push_back(static_cast<size_t>(summand - dims.begin()));
  }
  dims[i].summands = std::move(summands);
}

// Reads sums as exporters write them: "past_sequence_length + sequence_length",
// "sequence_length+1".
void read_sum(const Module& module, const std::map<std::string, int64_t>& sizes,
              std::vector<OpenDim>& dims, size_t i) {
  const std::string& name = module.expressions.symbol(dims[i].symbol).name;
  OpenDim sum = dims[i];
  for (size_t begin = 0, end = 0; begin <= name.size(); begin = end + 1) {
    end = std::min(name.find('+', begin), name.size());
    const std::string term = without_blanks(name.substr(begin, end - begin));
    const auto named = [&](const OpenDim& dim) {
      return module.expressions.symbol(dim.symbol).name == term;
    };
    const auto open = std::find_if(dims.begin(), dims.end(), named);
    const auto fixed = sizes.find(term);
    const auto number = fixed != sizes.end() ? std::optional(fixed->second) : whole_number(term);
    if (open == dims.end() && !number) return;
    if (open == dims.begin() + static_cast<ptrdiff_t>(i)) return;  // not a sum, but its whole name
    if (open != dims.end()) sum.summands.push_back(static_cast<size_t>(open - dims.begin()));
    if (open == dims.end()) sum.remainder += *number;
  }
  dims[i] = sum;
}

// Returns the names of dims that are longer in the state that a run keeps than in the one that it
// read.
std::vector<std::string> appended_dims(const Module& module, std::span<const State> states) {
  std::vector<std::string> names;
  std::vector<const Value*> inputs;  // in the order in which states count them
  for (const Value* input : module.root().inputs()) {
    if (!input->is_constant()) inputs.push_back(input);
  }
  for (const State& state : states) {
    const Type &taken = inputs[state.input]->type(),
               &given = module.root().outputs()[state.output]->type();
    if (!given.ranked || given.rank() != taken.rank()) continue;
    for (size_t i = 0; i < taken.dims.size(); ++i) {
      if (!taken.dims[i].is_expression() || taken.dims[i] == given.dims[i]) continue;
      const Expression& expression =
          module.expressions[static_cast<ExpressionId>(taken.dims[i].value)];
      if (expression.op == ExpressionOp::kSymbol)
        names.push_back(module.expressions.symbol(static_cast<SymbolId>(expression.value)).name);
    }
  }
  return names;
}

bool grows(const std::string& name, const std::vector<std::string>& appended) {
  if (appended.empty()) return false;
  if (is_total(name) || std::find(appended.begin(), appended.end(), name) != appended.end())
    return true;
  for (size_t begin = 0, end = 0; begin <= name.size(); begin = end + 1) {
    end = std::min(name.find('+', begin), name.size());
    if (std::find(appended.begin(), appended.end(),
                  without_blanks(name.substr(begin, end - begin))) != appended.end())
      return true;
  }
  return false;
}

// Sequences beside a past are the new ones.
void read_steps(std::vector<OpenDim>& dims, bool grows) {
  const bool has_past = grows || std::any_of(dims.begin(), dims.end(), [](const OpenDim& dim) {
                          return dim.role == SizeRole::kPast;
                        });
  if (!has_past) return;
  for (OpenDim& dim : dims) {
    if (dim.role == SizeRole::kSequence) dim.role = SizeRole::kStep;
  }
}

std::span<const int64_t> usual_sizes(SizeRole role) {
  switch (role) {
    case SizeRole::kBatch:
      return kBatches;
    case SizeRole::kImage:
      return kImages;
    case SizeRole::kPast:
      return kPasts;
    case SizeRole::kSequence:
      return kSequences;
    case SizeRole::kStep:
      return kSteps;
    case SizeRole::kOther:
      break;
  }
  return kOthers;
}

// Sets sums to the sums of their summands. Returns nothing when a dim cannot have a size of the
// kind.
std::optional<std::vector<int64_t>> fitting(const Module& module, std::span<const OpenDim> dims,
                                            std::vector<int64_t> sizes) {
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t wanted = dims[i].remainder;
    for (const size_t summand : dims[i].summands) wanted += sizes[summand];
    if (dims[i].summands.empty()) wanted = sizes[i];
    const auto size = fitting_size(module.expressions.symbol(dims[i].symbol), wanted);
    if (!size) return std::nullopt;
    sizes[i] = *size;
  }
  return sizes;
}

// Returns the numbers in a message: a size that a node needs is usually one of them.
std::vector<int64_t> numbers_in(std::string_view text) {
  constexpr size_t kMax = 8;
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size() && numbers.size() < kMax; ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
    int64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (fault == std::errc() && number > 0) numbers.push_back(number);
    i = static_cast<size_t>(end - text.data());
  }
  return numbers;
}

}  // namespace

std::vector<OpenDim> find_open_dims(const Module& module,
                                    const std::map<std::string, int64_t>& sizes,
                                    std::span<const State> states) {
  std::vector<OpenDim> dims;
  const std::vector<std::string> appended = appended_dims(module, states);
  for (const SymbolId symbol : open_symbols(module)) {
    if (grows(module.expressions.symbol(symbol).name, appended)) continue;
    dims.push_back({.symbol = symbol,
                    .role = role_of(module, module.expressions.symbol(symbol)),
                    .summands = {}});
  }
  for (size_t i = 0; i < dims.size(); ++i) read_sum(module, sizes, dims, i);
  for (size_t i = 0; i < dims.size(); ++i) read_total(module, dims, i);
  read_steps(dims, !appended.empty());
  std::vector<size_t> sums;  // a sum of sums would need an order
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].summands.empty()) sums.push_back(i);
  }
  for (OpenDim& dim : dims) {
    const auto is_sum = [&](size_t summand) {
      return std::find(sums.begin(), sums.end(), summand) != sums.end();
    };
    if (std::any_of(dim.summands.begin(), dim.summands.end(), is_sum)) dim.summands.clear();
  }
  return dims;
}

std::optional<int64_t> fitting_size(const Symbol& symbol, int64_t wanted) {
  constexpr int64_t kMax = int64_t{1} << 40;
  const int64_t low = std::max<int64_t>(symbol.low, 1),
                divisor = std::max<int64_t>(symbol.divisor, 1);
  if (low > kMax || divisor > kMax) return std::nullopt;
  const int64_t lowest = (low + divisor - 1) / divisor * divisor,
                highest = std::min(symbol.high, kMax) / divisor * divisor;
  if (lowest > highest) return std::nullopt;
  const int64_t up = (std::clamp(wanted, int64_t{1}, kMax) + divisor - 1) / divisor * divisor;
  return std::clamp(up, lowest, highest);
}

std::vector<std::vector<int64_t>> likely_sizes(const Module& module,
                                               std::span<const OpenDim> dims) {
  std::vector<std::vector<int64_t>> likely;
  for (size_t k = 0; k < std::size(kImages); ++k) {  // the longest list
    std::vector<int64_t> sizes;
    for (const OpenDim& dim : dims) {
      const std::span<const int64_t> usual = usual_sizes(dim.role);
      sizes.push_back(dim.role == SizeRole::kBatch ? 1 : usual[std::min(k, usual.size() - 1)]);
    }
    // This runs twice, since a sum may come first.
    const auto fits = fitting(module, dims, fitting(module, dims, sizes).value_or(sizes));
    if (fits && std::find(likely.begin(), likely.end(), *fits) == likely.end())
      likely.push_back(*fits);
  }
  return likely;
}

std::vector<int64_t> other_sizes(const Module& module, std::span<const OpenDim> dims,
                                 std::span<const int64_t> sizes, size_t varied,
                                 std::string_view failure) {
  constexpr size_t kMaxPairs = 8;  // of adjacent dims
  std::vector<int64_t> others;
  const auto add = [&](int64_t wanted) {
    const auto size = wanted > 0
                          ? fitting_size(module.expressions.symbol(dims[varied].symbol), wanted)
                          : std::nullopt;
    if (size && *size != sizes[varied] &&
        std::find(others.begin(), others.end(), *size) == others.end())
      others.push_back(*size);
  };
  std::vector<int64_t> remainder;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != varied) remainder.push_back(sizes[i]);
  }
  for (size_t i = 0; i < remainder.size() && i < kMaxPairs; ++i) {
    for (size_t k = i + 1; k < remainder.size() && k < kMaxPairs; ++k)
      add(remainder[i] + remainder[k]);
  }
  for (const int64_t size : remainder) add(size);
  for (const int64_t number : numbers_in(failure)) {
    add(number);
    for (const int64_t size : remainder) {
      add(number - size);
      if (number % size == 0) add(number / size);
    }
  }
  for (const int64_t size : usual_sizes(dims[varied].role)) add(size);
  return others;
}

}  // namespace sluice
