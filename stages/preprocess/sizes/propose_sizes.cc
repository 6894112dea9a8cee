#include "stages/preprocess/sizes/propose_sizes.h"

#include <algorithm>
#include <optional>
#include <set>

#include "common/base/work.h"
#include "common/ir/clone.h"
#include "common/ir/fixed.h"
#include "stages/preprocess/onnx/shape_options.h"
#include "stages/preprocess/passes/passes.h"
#include "stages/preprocess/sizes/open_dims.h"

namespace sluice {
namespace {

constexpr size_t kMinTries = 3;

using Sizes = std::vector<int64_t>;

// The result of one trial.
struct Trial {
  Sizes sizes;
  std::string failure;      // empty: the sizes work
  bool is_partial = false;  // the sizes work except in branches of Ifs
  // Nodes inferred before the failure: sizes that fail later are nearer to right ones.
  uint64_t reached = 0;
};

class Proposer {
 public:
  Proposer(const Module& module, std::vector<OpenDim> dims, const Options& options)
      : module_(module), dims_(std::move(dims)), options_(options) {}

  SizeProposal run() {
    for (const Sizes& sizes : likely_sizes(module_, dims_)) {
      if (attempt(sizes)) return found(sizes);
    }
    while (best_ && !is_exhausted()) {
      const Sizes before = best_->sizes;
      if (const auto sizes = vary()) return found(*sizes);
      if (best_->sizes == before) break;
    }
    if (partial_) return found(*partial_);
    return {.dims = {}, .tries = tried_.size(), .failure = first_failure_};
  }

 private:
  SizeProposal found(const Sizes& sizes) const {
    SizeProposal proposal{.dims = {}, .tries = tried_.size(), .failure = {}};
    for (size_t i = 0; i < dims_.size(); ++i) {
      proposal.dims.push_back(
          fmt::format("{}={}", module_.expressions.symbol(dims_[i].symbol).name, sizes[i]));
    }
    return proposal;
  }

  bool is_exhausted() const {
    return tried_.size() >= kMaxTries || (tried_.size() >= kMinTries && work_ > kMaxWork);
  }

  // Returns whether these sizes work and were not tried before.
  bool attempt(const Sizes& sizes) {
    if (is_exhausted() || !tried_.insert(sizes).second) return false;
    Trial trial = try_sizes(sizes);
    if (trial.failure.empty()) return true;
    if (first_failure_.empty()) first_failure_ = trial.failure;
    if (trial.is_partial && !partial_) partial_ = sizes;
    if (!best_ || trial.reached > best_->reached) best_ = std::move(trial);
    return false;
  }

  // Tries variations; the first sizes that fail later are the next starting point.
  std::optional<Sizes> vary() {
    const Trial start = *best_;
    for (const Sizes& sizes : neighbours(start)) {
      if (attempt(sizes)) return sizes;
      if (best_->reached > start.reached) break;
    }
    return std::nullopt;
  }

  // Returns variations in which one dim after the other takes its next size; batches, which are
  // best left at 1, do so when all others have taken all.
  std::vector<Sizes> neighbours(const Trial& start) const {
    std::vector<std::pair<std::pair<bool, size_t>, Sizes>> ranked;
    for (size_t i = 0; i < dims_.size(); ++i) {
      const Sizes others = other_sizes(module_, dims_, start.sizes, i, start.failure);
      for (size_t k = 0; k < others.size(); ++k) {
        Sizes sizes = start.sizes;
        sizes[i] = others[k];
        ranked.push_back({{dims_[i].role == SizeRole::kBatch, k}, std::move(sizes)});
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Sizes> neighbours;
    for (auto& [rank, sizes] : ranked) neighbours.push_back(std::move(sizes));
    return neighbours;
  }

  // Checks that new elements fit in states that are appended to up to a bound.
  Result<void> check_fit(const Graph& root) const {
    SLUICE_TRY(check_sizes(root));
    const auto states = find_states(root, options_.text("state"));
    return states ? Result<void>() : Result<void>(states.error());
  }

  Trial try_sizes(const Sizes& sizes) {
    Module copy;
    ModuleMapper mapper(module_, copy);
    for (size_t i = 0; i < dims_.size(); ++i) mapper.fix_symbol(dims_[i].symbol, sizes[i]);
    const WorkCounts before = work_done();
    Graph& root = mapper.clone(module_.root());
    const Result<bool> inferred = infer_types(root, options_);
    const auto fits = inferred ? check_fit(root) : Result<void>(inferred.error());
    Trial trial{.sizes = sizes, .failure = fits ? std::string() : error_text(fits.error())};
    trial.reached = work_since(before)[static_cast<size_t>(Work::kInferences)];
    work_ += module_.root().node_count() + trial.reached;
    trial.is_partial = fits && !copy.warnings.empty();
    if (trial.is_partial) trial.failure = copy.warnings.lines()[0];
    return trial;
  }

  const Module& module_;
  const std::vector<OpenDim> dims_;
  const Options& options_;
  std::set<Sizes> tried_;
  uint64_t work_ = 0;
  std::optional<Trial> best_;
  std::optional<Sizes> partial_;
  std::string first_failure_;
};

}  // namespace

Result<SizeProposal> propose_sizes(const Module& module, const Options& options) {
  SLUICE_ASSIGN(const ShapeOptions given, parse_shape_options(options));
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, range] : given.dims) {
    if (range.is_fixed()) sizes.emplace(name, range.low);
  }
  SLUICE_ASSIGN(const std::vector<State> states, find_states(module.root(), options.text("state")));
  std::vector<OpenDim> dims = find_open_dims(module, sizes, states);
  if (dims.empty()) return SizeProposal{};
  return Proposer(module, std::move(dims), options).run();
}

}  // namespace sluice
