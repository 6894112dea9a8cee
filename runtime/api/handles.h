// The types behind the handles of sluice.h.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/memory.h"
#include "common/base/result.h"
#include "runtime/api/sluice.h"
#include "runtime/executor/hybrid_run.h"

struct sluice_model {
  std::shared_ptr<const sluice::OpenedModel> model;
  std::shared_ptr<const sluice::StaticModel> fixed;  // one of the two is set
  std::shared_ptr<const sluice::HybridModel> hybrid;
  std::vector<std::string> made_from;  // hex
  std::vector<std::string> input_types, output_types;
};

struct sluice_run {
  std::unique_ptr<sluice::Run> fixed;
  std::unique_ptr<sluice::HybridRun> hybrid;
  std::shared_ptr<const sluice::OpenedModel> model;
  bool executed = false;
};

namespace sluice::api {

inline thread_local std::string last_error;

// Runs body and turns its error, or an exception thrown below it (out of memory), into an error
// number and last_error.
template <typename Body>
int guarded(Body body) {
  try {
    const Result<void> done = within_memory(body);
    if (done) return 0;
    last_error = error_text(done.error());
    return static_cast<int>(done.error().code);
  } catch (const std::exception&) {
    last_error = "memory ran out";  // short enough to be stored without an allocation
    return static_cast<int>(ErrorCode::kLimit);
  }
}

inline const pb::TypeDef& type_at(const pb::ModelDef& def, uint32_t type) {
  return def.types(static_cast<int>(type));
}

}  // namespace sluice::api
