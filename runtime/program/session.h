// A compiled model being run by this program, of whatever parts it consists.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/tensorfile/value_folder.h"
#include "runtime/executor/bound_parts.h"
#include "runtime/executor/memory_pool.h"
#include "runtime/executor/opened_model.h"
#include "runtime/program/bindings.h"
#include "runtime/program/node_times.h"

namespace sluice {

class Session {
 public:
  virtual ~Session() = default;

  // Values of the model's inputs, which stay here.
  virtual Result<void> bind(std::vector<NamedValue> inputs) = 0;
  virtual Result<void> run() = 0;
  // A run whose values with names that fit `glob` are written to the folder. kBadOption when none
  // does.
  virtual Result<void> run_dumping(ValueFolder& folder, const std::string& glob) = 0;
  // `runs` runs with the times of nodes, medians over them, in the order of their first tasks.
  virtual Result<std::vector<NodeTime>> run_timed(int runs) = 0;
  // One run as events of a Chrome trace.
  virtual Result<Json::Array> run_traced() = 0;
  // Of the memory of values outside of parts; nothing where there are none.
  virtual std::optional<MemoryCounters> memory() const { return std::nullopt; }
  // Of the model's symbolic parts; nothing where there are none.
  virtual std::optional<BoundPartsCounters> bound_parts() const { return std::nullopt; }
  // Of the last run.
  virtual std::vector<NamedValue> outputs() const = 0;
};

Result<std::unique_ptr<Session>> make_static_session(std::shared_ptr<const OpenedModel> model,
                                                     int threads);
Result<std::unique_ptr<Session>> make_hybrid_session(std::shared_ptr<const OpenedModel> model,
                                                     int threads, uint64_t bound_parts_bytes);

}  // namespace sluice
