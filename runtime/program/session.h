// A compiled model that this program runs, whatever parts it consists of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/tensorfile/value_folder.h"
#include "runtime/executor/bound_parts.h"
#include "runtime/executor/memory_pool.h"
#include "runtime/loader/opened_model.h"
#include "runtime/program/bindings.h"
#include "runtime/program/node_times.h"

namespace sluice {

class Session {
 public:
  virtual ~Session() = default;

  // Binds values of the model's inputs, which the session keeps.
  virtual Result<void> bind(std::vector<NamedValue> inputs) = 0;
  virtual Result<void> run() = 0;
  // Runs the model in an order that its streams allow (schedule_fuzzer.h).
  virtual Result<void> run_drawn(uint64_t schedule_seed) = 0;
  // Runs the model and writes the values with names that fit `glob` to the folder. kBadOption when
  // no name fits.
  virtual Result<void> run_dumping(ValueFolder& folder, const std::string& glob) = 0;
  // Returns the times of nodes over `runs` runs, as medians, in the order of their first tasks.
  virtual Result<std::vector<NodeTime>> run_timed(int runs) = 0;
  // Returns one run as events of a Chrome trace.
  virtual Result<Json::Array> run_traced() = 0;
  // Counters of the memory of values outside of parts; nullopt where there are none.
  virtual std::optional<MemoryCounters> memory() const { return std::nullopt; }
  // Counters of the model's symbolic parts; nullopt where there are none.
  virtual std::optional<BoundPartsCounters> bound_parts() const { return std::nullopt; }
  // The outputs of the last run.
  virtual std::vector<NamedValue> outputs() const = 0;
};

Result<std::unique_ptr<Session>> make_static_session(std::shared_ptr<const OpenedModel> model,
                                                     int threads);
Result<std::unique_ptr<Session>> make_hybrid_session(std::shared_ptr<const OpenedModel> model,
                                                     int threads, uint64_t bound_parts_bytes);

}  // namespace sluice
