// A cache of symbolic parts of a model, bound to sizes: each part and sizes once, until others were
// used more recently and all together would take more bytes than the limit. Shared by the runs of
// the model, from any threads.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "runtime/executor/static_model.h"
#include "runtime/loader/opened_model.h"

namespace sluice {

struct BoundPartsCounters {
  uint64_t hits = 0;       // requests for parts that were bound already
  uint64_t binds = 0;      // requests for parts that were not
  uint64_t evictions = 0;  // bound parts that were evicted for others, or for a lower limit
  uint64_t parts = 0;      // kept
  uint64_t bytes = 0;      // of the parts that are kept
  uint64_t limit_bytes = 0;
  bool operator==(const BoundPartsCounters&) const = default;
};

class BoundParts {
 public:
  static constexpr uint64_t kDefaultBytes = uint64_t{64} << 20;

  // host_graphs: by part; null without.
  BoundParts(std::shared_ptr<const OpenedModel> model,
             std::vector<std::shared_ptr<void>> host_graphs)
      : model_(std::move(model)), host_graphs_(std::move(host_graphs)) {}

  // symbols: the values of ModelDef.sizes.symbols. held: the part that the caller has bound for the
  // same symbols, or null; it is as good as an entry of the cache. Errors of StaticModel::bind.
  Result<std::shared_ptr<const StaticModel>> get(size_t part, std::span<const int64_t> symbols,
                                                 std::shared_ptr<const StaticModel> held = nullptr);

  // Limits the bytes of the parts that are kept from now on; a part that needs more by itself is
  // not kept.
  void limit(uint64_t bytes);
  BoundPartsCounters counters() const;

 private:
  using Key = std::vector<int64_t>;  // the part, then the symbols
  struct Entry {
    Key key;
    std::shared_ptr<const StaticModel> bound;
    uint64_t bytes = 0;
  };

  std::shared_ptr<const StaticModel> find(const Key& key, std::shared_ptr<const StaticModel> held);
  std::shared_ptr<const StaticModel> keep(const Key& key, std::shared_ptr<const StaticModel> bound);
  void give_up(uint64_t max_bytes);

  std::shared_ptr<const OpenedModel> model_;
  std::vector<std::shared_ptr<void>> host_graphs_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last first
  std::map<Key, std::list<Entry>::iterator> index_;
  BoundPartsCounters counters_{.limit_bytes = kDefaultBytes};
};

}  // namespace sluice
