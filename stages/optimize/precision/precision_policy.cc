#include "stages/optimize/precision/precision_policy.h"

#include <fnmatch.h>

#include <algorithm>

#include "common/ir/module.h"
#include "common/stage/option_files.h"

namespace sluice {
namespace {

constexpr std::string_view kOpPrefix = "OpType::";

bool fits(const std::string& glob, const std::string& text) {
  return fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

// A node that passes made has the names of the user's nodes that it stands for.
bool fits_name(const std::string& glob, const Node& node) {
  return fits(glob, node.name()) || std::ranges::any_of(node.origins(), [&](uint32_t origin) {
           return fits(glob, node.graph().module().onnx_node(origin));
         });
}

DType dtype_of(Precision precision, DType kept) {
  switch (precision) {
    case Precision::kF32:
      return DType::kF32;
    case Precision::kF16:
      return DType::kF16;
    case Precision::kBF16:
      return DType::kBF16;
    default:
      return kept;
  }
}

Error bad_line(std::string_view option, const std::string& name, const std::string& word) {
  return make_error(ErrorCode::kBadOption, "--{} has '{} {}', which says nothing", option, name,
                    word);
}

}  // namespace

Result<PrecisionPolicy> PrecisionPolicy::from(const Options& options) {
  PrecisionPolicy policy;
  SLUICE_TRY(policy.take_mode(options.text("precision-mode")));
  SLUICE_TRY(policy.take_lists(options));
  SLUICE_TRY(policy.take_lines(options));
  return policy;
}

Result<void> PrecisionPolicy::take_mode(const std::string& name) {
  struct Row {
    std::string_view name;
    Mode mode;
    DType dtype;
  };
  constexpr Row kRows[] = {
      {"must_keep_origin_dtype", Mode::kKeep, DType::kUndefined},
      {"force_fp32", Mode::kForce, DType::kF32},
      {"force_fp16", Mode::kForce, DType::kF16},
      {"force_bf16", Mode::kForce, DType::kBF16},
      {"allow_mix_precision", Mode::kMix, DType::kF16},
      {"allow_mix_precision_bf16", Mode::kMix, DType::kBF16},
  };
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  if (row == std::end(kRows))
    return make_error(ErrorCode::kBadOption, "--precision-mode is '{}'", name);
  mode_ = row->mode;
  dtype_ = row->dtype;
  return {};
}

Result<void> PrecisionPolicy::take_lists(const Options& options) {
  const std::string lists = options.text("modify-mixlist");
  if (!lists.empty() && mode_ != Mode::kMix) {
    return make_error(ErrorCode::kBadOption,
                      "--modify-mixlist changes lists that --precision-mode={} does not use",
                      options.text("precision-mode"))
        .with_hint("--precision-mode=allow_mix_precision uses them");
  }
  for (const auto& [name, word] : named_words(lists)) {
    const auto op = op_from_name(name);
    const auto tolerance = half_tolerance_from_name(word);
    if (!op || !tolerance) return bad_line("modify-mixlist", name, word);
    lists_[*op] = *tolerance;
  }
  return {};
}

Result<void> PrecisionPolicy::take_lines(const Options& options) {
  for (const auto& [name, word] : named_words(options.text("customize-dtypes"))) {
    const auto precision = precision_from_name(word);
    if (!precision) return bad_line("customize-dtypes", name, word);
    const bool is_of_op = name.starts_with(kOpPrefix);
    lines_.push_back({is_of_op ? name.substr(kOpPrefix.size()) : name, is_of_op, *precision});
  }
  return {};
}

Precision PrecisionPolicy::precision_of(const Node& node) {
  Precision precision = node.placement.precision;
  for (Line& line : lines_) {
    const bool is_hit = line.is_of_op ? fits(line.glob, std::string(op_name(node.op())))
                                      : fits_name(line.glob, node);
    if (!is_hit) continue;
    line.matched = true;
    precision = line.precision;
  }
  return precision;
}

PrecisionPreference PrecisionPolicy::preference(const Node& node, DType dtype) {
  if (const Precision precision = precision_of(node); precision != Precision::kNone)
    return {dtype_of(precision, dtype)};
  if (mode_ == Mode::kForce && find_half_tolerance(node.op()) != nullptr) return {dtype_};
  if (mode_ == Mode::kMix && dtype == DType::kF32) return mixed(node, dtype);
  return {dtype};
}

// A mix changes f32 alone: nodes that the model has in 16 bits stay so.
PrecisionPreference PrecisionPolicy::mixed(const Node& node, DType dtype) const {
  const HalfToleranceRow* row = find_half_tolerance(node.op());
  HalfTolerance tolerance = row == nullptr ? HalfTolerance::kDeny : row->tolerance;
  if (const auto listed = lists_.find(node.op()); listed != lists_.end())
    tolerance = listed->second;
  if (tolerance == HalfTolerance::kAllow) return {dtype_};
  if (tolerance == HalfTolerance::kGray) return {dtype_, true};
  return {dtype};
}

std::vector<std::string> PrecisionPolicy::unmatched_lines() const {
  std::vector<std::string> lines;
  for (const Line& line : lines_) {
    if (line.matched) continue;
    lines.push_back(fmt::format("{}{} {}", line.is_of_op ? kOpPrefix : "", line.glob,
                                precision_name(line.precision)));
  }
  return lines;
}

}  // namespace sluice
