// Writes compiled models by hand, for tests of the runtime.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/storage_map.h"
#include "common/omfile/om_writer.h"
#include "model.pb.h"

namespace sluice::testing {

class ModelBuilder {
 public:
  ModelBuilder();

  uint32_t type(DType dtype, std::vector<int64_t> dims);
  uint32_t storage(const StorageMap& map);  // for FixedPart.value_storage
  uint32_t input(
      const std::string& name,
      uint32_t type);  // value that is the whole input; all inputs before the first output
  uint32_t output(const std::string& name, uint32_t type);       // value that is the whole output
  uint32_t arena_value(const std::string& name, uint32_t type);  // at a place of its own
  uint32_t value(const std::string& name, uint32_t type, uint32_t region, uint64_t offset);
  // Gives a value a storage (0: dense) and the distances of a wider type; its bytes become those up
  // to the end of its last row.
  void set_capacity(uint32_t value, uint32_t storage, uint32_t capacity_type);
  void piece(uint32_t value, uint32_t whole);
  uint32_t stream(const std::string& name);
  uint32_t event(const std::string& name);
  uint32_t test_kernel(const std::string& entry, uint32_t blocks, uint64_t scratch_bytes = 0);
  // Each of these makes a node of that name and returns the task's number.
  uint32_t launch(const std::string& node, uint32_t stream, uint32_t kernel,
                  const std::vector<uint32_t>& outputs, const std::vector<uint32_t>& inputs);
  uint32_t copy(const std::string& node, uint32_t stream, uint32_t to, uint32_t from);
  uint32_t record(uint32_t stream, uint32_t event);
  uint32_t wait(uint32_t stream, uint32_t event, uint32_t record = 1);
  uint32_t task(pb::TaskKind kind, const std::string& node, uint32_t stream, uint32_t target,
                const std::vector<uint32_t>& outputs, const std::vector<uint32_t>& inputs);
  void alias(uint32_t value, uint32_t after_task);

  pb::FixedPart& part() { return *model.mutable_parts(0)->mutable_fixed(); }
  pb::ModelDef model;
};

// Returns the bytes of a .om with these segments, as write_om writes them.
std::vector<std::byte> om_bytes(const pb::ModelDef& model,
                                const std::vector<OmSegment>& segments = {});

// Returns the model without event number `event`: its record and waits are removed, later events
// are renumbered.
pb::ModelDef without_event(pb::ModelDef model, uint32_t event);

}  // namespace sluice::testing
