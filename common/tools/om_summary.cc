// A compiled model in a few lines.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "common/base/count_text.h"
#include "common/omfile/om_file.h"
#include "common/omfile/om_types.h"
#include "common/omfile/verify_model.h"
#include "common/tools/om_text.h"

namespace sluice {
namespace {

std::string kernels_text(uint64_t generated, uint64_t reference) {
  return count_text(generated, "generated kernel") + ", " +
         count_text(reference, "reference kernel");
}

std::string binding_text(const pb::ModelDef& model, const pb::BindingDef& binding) {
  return fmt::format("{} {}", binding.name(), type_text(model, binding.type()));
}

template <typename Bindings>
std::string bindings_text(const pb::ModelDef& model, const Bindings& bindings) {
  std::string text;
  for (const pb::BindingDef& binding : bindings)
    text += (text.empty() ? "" : "; ") + binding_text(model, binding);
  return text.empty() ? "none" : text;
}

std::string engines_text(const pb::ModelDef& model) {
  std::map<std::string, size_t> counts;
  for (const uint32_t engine : model.node_engine())
    ++counts[model.engines(static_cast<int>(engine))];
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? "unknown" : text;
}

// Returns what an arena consists of: " (hbm 314572800 in 2 sub-memories, p2p 512)".
std::string sub_memories_text(const pb::MemoryDef& memory) {
  std::string text;
  for (int i = 0; i < memory.sub_memories_size();) {
    const std::string& name = memory.sub_memories(i).memory_class();
    uint64_t bytes = 0, count = 0;
    for (; i < memory.sub_memories_size() && memory.sub_memories(i).memory_class() == name; ++i) {
      bytes += memory.sub_memories(i).bytes();
      ++count;
    }
    text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", name, bytes);
    if (count > 1) text += fmt::format(" in {} sub-memories", count);
  }
  return text.empty() ? "" : text + ")";
}

std::string memory_text(const pb::PartDef& part) {
  const pb::MemoryDef& memory = part.fixed().memory();
  const bool is_open = part.has_symbolic() && part.symbolic().buffer_offset_size() == 0 &&
                       part.symbolic().buffer_first_size() > 0;
  const std::string arena =
      is_open ? count_text(static_cast<uint64_t>(part.symbolic().buffer_first_size()), "buffer") +
                    ", placed for each size"
              : fmt::format("{} bytes{}", memory.arena_bytes(), sub_memories_text(memory));
  return fmt::format("arena: {}, scratch: {} bytes for each thread{}\n", arena,
                     memory.scratch_bytes(), part.has_symbolic() ? ", and more by size" : "");
}

std::string part_text(const pb::PartDef& def) {
  const pb::FixedPart& part = def.fixed();
  std::array<size_t, pb::TaskKind_ARRAYSIZE> tasks{};
  for (const int kind : part.task_kind()) ++tasks[static_cast<size_t>(kind)];
  return memory_text(def) +
         fmt::format(
             "tasks: {}: {}, {} {}{}, {}, {}\nstreams: {}, {}: {}\n", part.task_kind_size(),
             kernels_text(tasks[pb::TASK_LAUNCH] + tasks[pb::TASK_TEST], tasks[pb::TASK_HOST]),
             tasks[pb::TASK_COPY], tasks[pb::TASK_COPY] == 1 ? "copy" : "copies",
             tasks[pb::TASK_APPEND] > 0
                 ? fmt::format(", {} to states", count_text(tasks[pb::TASK_APPEND], "append"))
                 : "",
             count_text(tasks[pb::TASK_RECORD], "record"), count_text(tasks[pb::TASK_WAIT], "wait"),
             part.streams_size(), part.has_notifies() ? "notifies" : "events", part.events_size());
}

std::string root_text(const pb::ModelDef& model) {
  const auto& kernels = model.root().node_kernel();
  const auto parts = static_cast<uint32_t>(model.parts_size());
  const uint32_t nodes = model.nodes() - model.root().first_node() - parts;
  const auto launches =
      static_cast<uint32_t>(kernels.size() - std::count(kernels.begin(), kernels.end(), 0u));
  const std::string made = nodes == 0 ? "" : ": " + kernels_text(launches, nodes - launches);
  return fmt::format("root: {}, run one by one{}; {}\n", count_text(nodes, "node"), made,
                     count_text(parts, "part"));
}

// Returns the number of states, and the bounds of those written in place.
std::string states_text(const pb::ModelDef& model) {
  const auto in_place = std::count_if(model.states().begin(), model.states().end(),
                                      [](const auto& state) { return state.storage() != 0; });
  std::set<std::string> capacities;
  for (const pb::StateDef& state : model.states()) {
    if (state.storage() != 0) capacities.insert(type_text(model, state.storage() - 1));
  }
  std::string capacity;
  for (const std::string& one : capacities)
    capacity += (capacity.empty() ? ", with room for " : " or ") + one;
  return fmt::format("states: {}, {} written in place{}\n", model.states_size(), in_place,
                     capacity);
}

// Returns where the constants are: "13888 bytes", or "64 bytes here, 13824 bytes in 2 files
// weight_SHA256". A file that has several equal constants counts once.
std::string weights_text(const pb::ModelDef& model) {
  const uint64_t inside = segment_bytes(model, pb::SEGMENT_WEIGHTS);
  if (model.external_weights_size() == 0) return fmt::format("{} bytes", inside);
  std::set<std::string_view> files;
  uint64_t outside = 0;
  for (const pb::ExternalWeightDef& weight : model.external_weights()) {
    const bool is_new = files.insert(weight.digest()).second;
    if (is_new || model.combined_weights()) outside += weight.bytes();
  }
  return fmt::format("{} bytes here, {} bytes in {}", inside, outside,
                     model.combined_weights()
                         ? "1 file NAME_weight_combined"
                         : count_text(files.size(), "file") + " weight_SHA256");
}

}  // namespace

Result<std::string> om_summary(std::span<const std::byte> bytes) {
  SLUICE_ASSIGN(const OmFile om, read_om(OmBytes::borrow(bytes),
                                         {.weights = false, .machine = false, .test_tasks = true}));
  const pb::ModelDef& model = *om.model;
  std::string text = fmt::format("compiled model: profile {}, isa {}, version {}\n",
                                 model.profile(), model.isa(), model.version());
  text += fmt::format("inputs: {}\n", bindings_text(model, model.inputs()));
  text += fmt::format("outputs: {}\n", bindings_text(model, model.outputs()));
  text += fmt::format("nodes: {}\nengines: {}\n", model.nodes(), engines_text(model));
  text += fmt::format("weights: {}, kernels: {} with {} bytes\n", weights_text(model),
                      model.kernels_size(), om.segment(pb::SEGMENT_KERNELS).size());
  if (model.states_size() > 0) text += states_text(model);
  if (model.has_root()) {
    text += root_text(model);
  }
  for (int i = 0; i < model.parts_size(); ++i) {
    if (model.has_root())
      text +=
          fmt::format("part {}, {}:\n", i, model.parts(i).has_symbolic() ? "symbolic" : "fixed");
    text += part_text(model.parts(i));
  }
  return text;
}

}  // namespace sluice
