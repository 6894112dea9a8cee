// A compiled model as JSON: each node, kernel, value and task on a separate line.
#include <algorithm>
#include <map>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/json.h"
#include "common/omfile/external_weights.h"
#include "common/omfile/om_events.h"
#include "common/omfile/om_file.h"
#include "common/omfile/om_names.h"
#include "common/omfile/om_types.h"
#include "common/omfile/type_sizes.h"
#include "common/tools/json_lines.h"
#include "common/tools/om_text.h"

namespace sluice {
namespace {

constexpr uint32_t kAbsent = 0xffffffff;
constexpr std::string_view kSegments[] = {"weights", "kernels", "graph"};

// The meaning of a task's target, by kind.
struct TaskRow {
  pb::TaskKind kind;
  std::string_view name;
  std::string_view target;
};
constexpr TaskRow kTasks[] = {
    {pb::TASK_LAUNCH, "launch", "kernel"}, {pb::TASK_HOST, "host", "host_node"},
    {pb::TASK_COPY, "copy", ""},           {pb::TASK_RECORD, "record", "event"},
    {pb::TASK_WAIT, "wait", "event"},      {pb::TASK_APPEND, "append", "axis"},
    {pb::TASK_TEST, "test", "kernel"},
};

const TaskRow& task_row(pb::TaskKind kind) {
  const auto* row = std::ranges::find(kTasks, kind, &TaskRow::kind);
  return row == std::end(kTasks) ? kTasks[0] : *row;  // read_om has checked the kinds
}

template <typename Names>
std::string_view name_at(const Names& names, int index) {
  return static_cast<size_t>(index) < std::size(names) ? names[index] : std::string_view("unknown");
}

// Returns dims as numbers, names, or null where neither is known.
Json dims_json(const pb::TypeDef& type) {
  Json dims{Json::Array{}};
  for (int i = 0; i < type.dims_size(); ++i) {
    const bool is_named = i < type.dim_names_size() && !type.dim_names(i).empty();
    if (type.dims(i) >= 0) {
      dims.push(type.dims(i));
    } else {
      dims.push(is_named ? Json(type.dim_names(i)) : Json());
    }
  }
  return dims;
}

Json type_json(const pb::ModelDef& model, uint32_t index) {
  constexpr std::string_view kKinds[] = {"tensor", "sequence", "optional", "map"};
  const pb::TypeDef& type = model.types(static_cast<int>(index));
  const bool has_dtype = type.kind() == pb::VALUE_TENSOR || type.kind() == pb::VALUE_MAP;
  Json json;
  json.set("kind", name_at(kKinds, type.kind()));
  if (has_dtype) json.set("dtype", dtype_name(static_cast<DType>(type.dtype())));
  if (type.kind() != pb::VALUE_TENSOR) {
    json.set("of", type_json(model, type.element()));
  } else if (!type.unranked()) {
    json.set("dims", dims_json(type));
  }
  return json;
}

class OmJson {
 public:
  explicit OmJson(const OmFile& om) : om_(om), model_(*om.model), names_(model_) {}

  std::string text() {
    JsonLines file(0);
    add_header(file);
    if (model_.external_weights_size() > 0) add_external_weights(file);
    add_bindings(file, model_.inputs(), model_.outputs());
    file.add_rows("states", model_.states_size(), [&](int i) { return state(model_.states(i)); });
    add_dims(file);
    find_kernels_of_nodes();
    file.add_rows("nodes", static_cast<int>(model_.nodes()),
                  [&](int i) { return node(static_cast<uint32_t>(i)); });
    file.add_rows("kernels", model_.kernels_size(), [&](int i) { return kernel(i); });
    std::vector<std::string> parts;
    for (int i = 0; i < model_.parts_size(); ++i) parts.push_back(part(i));
    file.add_lines("parts", parts);
    if (model_.has_root()) file.add("root", root());
    return file.text() + "\n";
  }

 private:
  void add_header(JsonLines& file) const {
    file.add("version", model_.version());
    file.add("profile", model_.profile());
    file.add("isa", model_.isa());
    Json options{Json::Object{}}, bytes;
    for (const pb::OptionDef& option : model_.options()) options.set(option.name(), option.value());
    file.add("options", options);
    bytes.set("file", uint64_t{om_.file.bytes().size()});
    for (int kind = 0; kind < static_cast<int>(std::size(kSegments)); ++kind) {
      bytes.set(std::string(kSegments[kind]),
                uint64_t{om_.segment(static_cast<pb::SegmentKind>(kind)).size()});
    }
    file.add("bytes", bytes);
  }

  void add_external_weights(JsonLines& file) const {
    uint64_t offset = external_offset(model_);
    file.add("combined_weights", model_.combined_weights());
    file.add_rows("external_weights", model_.external_weights_size(), [&](int i) {
      const pb::ExternalWeightDef& weight = model_.external_weights(i);
      Json json;
      json.set("name", weight.name());
      json.set("sha256", digest_hex(digest_of(weight)));
      json.set("offset", offset);
      json.set("bytes", weight.bytes());
      offset = next_external_offset(offset, weight.bytes());
      return json;
    });
  }

  template <typename Bindings>
  void add_bindings(JsonLines& members, const Bindings& inputs, const Bindings& outputs) const {
    members.add_rows("inputs", inputs.size(), [&](int i) { return binding(inputs.Get(i)); });
    members.add_rows("outputs", outputs.size(), [&](int i) { return binding(outputs.Get(i)); });
  }

  Json binding(const pb::BindingDef& def) const {
    Json json;
    json.set("name", def.name());
    json.set("type", type_json(model_, def.type()));
    if (def.state() > 0) json.set("state", uint64_t{def.state() - 1});
    return json;
  }

  Json state(const pb::StateDef& def) const {
    Json json;
    json.set("input", uint64_t{def.input()});
    json.set("output", uint64_t{def.output()});
    json.set("in_place", def.storage() > 0);
    if (def.storage() > 0) json.set("storage", type_json(model_, def.storage() - 1));
    return json;
  }

  // Adds the named dims of the inputs, each once, in the order of the inputs.
  void add_dims(JsonLines& file) const {
    std::map<std::string, bool> seen;
    std::vector<std::string> lines;
    for (const pb::BindingDef& input : model_.inputs()) {
      const pb::TypeDef& type = model_.types(static_cast<int>(input.type()));
      for (int i = 0; i < std::min(type.dim_names_size(), type.dim_low_size()); ++i) {
        if (type.dim_names(i).empty() || !seen.emplace(type.dim_names(i), true).second) continue;
        lines.push_back(json_dump(dim(type, i)));
      }
    }
    file.add_lines("dims", lines);
  }

  static Json dim(const pb::TypeDef& type, int i) {
    Json json;
    json.set("name", type.dim_names(i));
    json.set("low", type.dim_low(i));
    json.set("high", type.dim_high(i) == INT64_MAX ? Json() : Json(type.dim_high(i)));
    json.set("multiple_of", type.dim_divisor(i));
    return json;
  }

  void find_kernels_of_nodes() {
    kernels_.resize(model_.nodes());
    const auto add = [&](uint32_t node, uint32_t kernel) {
      std::vector<uint32_t>& kernels = kernels_[node];
      if (std::ranges::find(kernels, kernel) == kernels.end()) kernels.push_back(kernel);
    };
    for (const pb::PartDef& def : model_.parts()) {
      const pb::FixedPart& part = def.fixed();
      for (int t = 0; t < part.task_kind_size(); ++t) {
        if (task_row(part.task_kind(t)).target == "kernel")
          add(part.task_node(t), part.task_target(t));
      }
    }
    for (int i = 0; i < model_.root().node_kernel_size(); ++i) {
      const uint32_t kernel = model_.root().node_kernel(i);
      const uint32_t node = model_.root().first_node() + static_cast<uint32_t>(i);
      if (kernel > 0 && node < model_.nodes()) add(node, kernel - 1);
    }
  }

  Json node(uint32_t id) const {
    const auto index = static_cast<int>(id);
    Json json;
    json.set("name", names_[id]);
    if (index < model_.node_op_size())
      json.set("op", model_.ops(static_cast<int>(model_.node_op(index))));
    if (index < model_.node_engine_size())
      json.set("engine", model_.engines(static_cast<int>(model_.node_engine(index))));
    if (index < model_.node_multiply_adds_size())
      json.set("multiply_adds", model_.node_multiply_adds(index));
    Json kernels{Json::Array{}}, origins{Json::Array{}};
    for (const uint32_t kernel : kernels_[id]) kernels.push(uint64_t{kernel});
    for (const std::string& origin : names_.origins(id)) origins.push(origin);
    json.set("kernels", std::move(kernels));
    json.set("from", std::move(origins));
    return json;
  }

  Json kernel(int index) const {
    const pb::KernelDef& def = model_.kernels(index);
    Json json;
    json.set("entry", def.entry());
    json.set("bytes", def.object_bytes());
    json.set("blocks", uint64_t{def.blocks()});
    json.set("scratch_bytes", def.scratch_bytes());
    json.set("multiply_adds", def.multiply_adds());
    json.set("cycles", def.cycles());
    json.set("sizes", def.symbolic() ? "symbolic" : "fixed");
    return json;
  }

  // A part lists its inputs and outputs when the model has a root; otherwise these are the model's.
  std::string part(int index) const {
    const pb::PartDef& def = model_.parts(index);
    const pb::FixedPart& fixed = def.fixed();
    const auto& inputs = model_.has_root() ? fixed.inputs() : model_.inputs();
    const auto& outputs = model_.has_root() ? fixed.outputs() : model_.outputs();
    JsonLines part(4);
    part.add("sizes", def.has_symbolic() ? "symbolic" : "fixed");
    part.add("memory", memory(def));
    if (model_.has_root()) add_bindings(part, inputs, outputs);
    Json streams{Json::Array{}};
    for (const pb::StreamDef& stream : fixed.streams()) streams.push(stream.name());
    part.add("streams", streams);
    part.add("events", fixed.events_size());
    const ValueNames names(fixed);
    part.add_rows("values", fixed.value_type_size(), [&](int i) {
      return value(def, i, names[static_cast<uint32_t>(i)], static_cast<uint32_t>(inputs.size()));
    });
    part.add_rows("tasks", fixed.task_kind_size(), [&](int i) { return task(fixed, i); });
    return part.text();
  }

  // The bytes of an arena whose buffers are placed for each size are not known here.
  static Json memory(const pb::PartDef& def) {
    const bool is_open =
        def.symbolic().buffer_offset_size() == 0 && def.symbolic().buffer_first_size() > 0;
    Json json;
    json.set("arena_bytes", is_open ? Json() : Json(def.fixed().memory().arena_bytes()));
    Json sub_memories{Json::Array{}};
    for (const pb::SubMemoryDef& each : def.fixed().memory().sub_memories()) {
      Json row;
      row.set("memory_class", each.memory_class());
      row.set("bytes", each.bytes());
      sub_memories.push(std::move(row));
    }
    if (def.fixed().memory().sub_memories_size() > 0)
      json.set("sub_memories", std::move(sub_memories));
    json.set("scratch_bytes_per_worker", def.fixed().memory().scratch_bytes());
    if (def.has_symbolic()) json.set("buffers", def.symbolic().buffer_first_size());
    return json;
  }

  // The stored axes, in the notation of graphs.
  std::string storage_text(uint32_t storage) const {
    if (storage == 0) return "dense";
    return storage_map_name(storage_map_of(model_.storages(static_cast<int>(storage) - 1)));
  }

  Json value(const pb::PartDef& def, int index, const std::string& name, uint32_t inputs) const {
    const pb::FixedPart& part = def.fixed();
    const uint32_t region = part.value_region(index);
    const uint32_t binding = region - std::min<uint32_t>(region, pb::REGION_FIRST_BINDING);
    const bool is_input = binding < inputs;
    Json json;
    json.set("name", name);
    json.set("type", type_json(model_, part.value_type(index)));
    if (region < pb::REGION_FIRST_BINDING) {
      json.set("region", region == pb::REGION_ARENA ? "arena" : "weights");
    } else {
      json.set("region", is_input ? "input" : "output");
      json.set("binding", uint64_t{is_input ? binding : binding - inputs});
    }
    json.set("offset", part.value_offset(index));
    json.set("bytes", part.value_bytes(index));
    json.set("storage", storage_text(part.value_storage(index)));
    const auto& buffers = def.symbolic().value_buffer();
    if (index < buffers.size() && buffers[index] != kAbsent)
      json.set("buffer", uint64_t{buffers[index]});
    return json;
  }

  Json task(const pb::FixedPart& part, int index) const {
    const TaskRow& row = task_row(part.task_kind(index));
    const uint32_t begin = index == 0 ? 0 : part.task_operand_end(index - 1);
    const uint32_t inputs = begin + part.task_outputs(index);
    Json json, written{Json::Array{}}, read{Json::Array{}};
    json.set("kind", row.name);
    json.set("stream", uint64_t{part.task_stream(index)});
    json.set("node", uint64_t{part.task_node(index)});
    if (!row.target.empty()) json.set(std::string(row.target), uint64_t{part.task_target(index)});
    if (part.task_kind(index) == pb::TASK_WAIT)
      json.set("record", uint64_t{awaited_record(part, index)});
    for (uint32_t i = begin; i < part.task_operand_end(index); ++i) {
      const uint32_t operand = part.operand(static_cast<int>(i));
      (i < inputs ? written : read).push(operand == kAbsent ? Json() : Json(uint64_t{operand}));
    }
    json.set("writes", std::move(written));
    json.set("reads", std::move(read));
    return json;
  }

  Json root() const {
    Json json;
    json.set("first_node", uint64_t{model_.root().first_node()});
    json.set("nodes", uint64_t{model_.nodes() - model_.root().first_node()});
    return json;
  }

  const OmFile& om_;
  const pb::ModelDef& model_;
  NodeNames names_;
  std::vector<std::vector<uint32_t>> kernels_;  // by node
};

}  // namespace

Result<std::string> om_json(std::span<const std::byte> bytes) {
  SLUICE_ASSIGN(const OmFile om, read_om(OmBytes::borrow(bytes),
                                         {.weights = false, .machine = false, .test_tasks = true}));
  return OmJson(om).text();
}

}  // namespace sluice
