// Symbolic parts of a model, bound to sizes: each distinct one once, until others were used more lately. Shared by the runs of the model,
// from any threads.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "runtime/executor/opened_model.h"
#include "runtime/executor/static_model.h"

namespace sluice {

class BoundParts {
 public:
  static constexpr size_t kMost = 1024;  // parts kept, bound

  BoundParts(std::shared_ptr<const OpenedModel> model, std::vector<std::shared_ptr<void>> host_graphs)
      : model_(std::move(model)), host_graphs_(std::move(host_graphs)) {}

  // symbols: the values of ModelDef.sizes.symbols. Errors of StaticModel::bind.
  Result<std::shared_ptr<const StaticModel>> get(size_t part, std::span<const int64_t> symbols);

 private:
  using Key = std::vector<int64_t>;  // the part, then the symbols
  using Entry = std::pair<Key, std::shared_ptr<const StaticModel>>;

  std::shared_ptr<const StaticModel> find(const Key& key);
  std::shared_ptr<const StaticModel> keep(const Key& key, std::shared_ptr<const StaticModel> bound);

  std::shared_ptr<const OpenedModel> model_;
  std::vector<std::shared_ptr<void>> host_graphs_;  // by part; null without
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last first
  std::map<Key, std::list<Entry>::iterator> index_;
};

}  // namespace sluice
