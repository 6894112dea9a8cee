// A session of a model with a root.
#include <algorithm>
#include <map>

#include "runtime/executor/hybrid_run.h"
#include "runtime/program/dump_values.h"
#include "runtime/program/schedule_fuzzer.h"
#include "runtime/program/session.h"
#include "runtime/program/value_kinds.h"

namespace sluice {
namespace {

Tensor copy_of(const HostTensor& tensor, const std::string& name) {
  return {name, tensor.dtype, tensor.dims, {tensor.bytes.begin(), tensor.bytes.end()}};
}

class HybridSession : public Session {
 public:
  HybridSession(std::shared_ptr<const HybridModel> model, std::shared_ptr<Device> device)
      : run_(std::move(model), std::move(device)), names_(def()) {}

  Result<void> bind(std::vector<NamedValue> inputs) override {
    inputs_ = std::move(inputs);
    return bind_inputs();
  }

  Result<void> run() override { return execute({}); }

  Result<void> run_drawn(uint64_t schedule_seed) override {
    ScheduleFuzzer fuzzer(schedule_seed);
    HybridObserver observer;
    observer.walk_part = [&fuzzer](const Run& part) { return fuzzer.observe(part); };
    return execute(observer);
  }

  Result<void> run_dumping(ValueFolder& folder, const std::string& glob) override {
    SLUICE_TRY(dump_inputs(inputs_, glob, folder));
    std::map<uint32_t, ValueDump> parts;
    Result<void> written;
    size_t found = 0;
    HybridObserver observer;
    observer.value_made = [&](const std::string& name, const HostValue& value) {
      if (value.kind == HostValue::Kind::kMap || value.kind == HostValue::Kind::kMaps) {
        const ValueKind kind =
            value.kind == HostValue::Kind::kMap ? ValueKind::kMap : ValueKind::kMaps;
        if (!is_dumped(glob, name, DType::kUndefined)) return;
        ++found;
        if (written) written = folder.write_maps(name, file_value(value, kind, name));
        return;
      }
      for (const HostTensor& tensor : value.tensors) {
        if (!is_dumped(glob, name, tensor.dtype)) continue;
        ++found;
        if (written) written = folder.write(name, copy_of(tensor, name));
      }
    };
    observer.after_task = [&](const Run& part, uint32_t index, uint32_t task) {
      return parts.try_emplace(index, part, folder, glob).first->second.after_task(task);
    };
    SLUICE_TRY(execute(observer));
    SLUICE_TRY(written);
    for (const auto& [index, dump] : parts) found += dump.written();
    mention_fused(def(), glob, folder);
    if (found > 0 || glob == "*") return {};
    return no_value_fits(
        def(), glob,
        "--dump-values DIR without a pattern writes all, and values.txt there lists them");
  }

  Result<std::vector<NodeTime>> run_timed(int runs) override {
    std::vector<std::vector<TaskTime>> root(static_cast<size_t>(runs));
    std::vector<std::vector<std::vector<TaskTime>>> parts(run_.model().part_count(),
                                                          decltype(root)(root.size()));
    std::vector<uint64_t> bytes(root_nodes());
    for (size_t i = 0; i < root.size(); ++i) {
      std::vector<std::vector<TaskTime>> times;
      SLUICE_TRY(run_once_timed(root[i], times, &bytes));
      for (size_t part = 0; part < times.size(); ++part) parts[part][i] = std::move(times[part]);
    }
    std::vector<NodeTime> nodes;
    int64_t next_part = 0;
    for (uint32_t i = 0; i < root_nodes(); ++i) {
      NodeTime node = describe_node(def(), names_, def().root().first_node() + i);
      if (node.op == "Call") {
        const auto part = static_cast<size_t>(next_part++);
        if (part >= parts.size()) continue;  // the description does not fit the graph
        const Run* bound = run_.part(part);  // null: the part was not called
        const pb::FixedPart& lowered =
            bound != nullptr ? bound->model().part() : def().parts(static_cast<int>(part)).fixed();
        add_node_times(def(), names_, lowered, bound != nullptr ? &bound->model() : nullptr,
                       parts[part], nodes);
        continue;
      }
      node.kernel = kernel_of(i);
      node.operand_bytes = bytes[i];
      if (node.kernel.empty()) node.cycles = line_cycles(def(), bytes[i]);
      node.ms = median_ms(root, i);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  Result<Json::Array> run_traced() override {
    std::vector<TaskTime> root;
    std::vector<std::vector<TaskTime>> parts;
    SLUICE_TRY(run_once_timed(root, parts));
    const int64_t start = root.empty() ? 0 : root[0].begin_ns;
    Json::Array events;
    events.push_back(track_event(0, "root"));
    for (uint32_t i = 0; i < root.size(); ++i) {
      const NodeTime node = describe_node(def(), names_, def().root().first_node() + i);
      Json about;
      about.set("op", node.op);
      about.set("kernel", kernel_of(i));
      events.push_back(time_event(0, node, root[i], start, std::move(about)));
    }
    int track = 1;
    for (size_t part = 0; part < parts.size(); ++part) {
      const pb::FixedPart& lowered = def().parts(static_cast<int>(part)).fixed();
      add_task_events(def(), names_, lowered, static_cast<int>(part), parts[part], track, start,
                      fmt::format("part {} ", part), events);
      track += lowered.streams_size();
    }
    return events;
  }

  std::optional<MemoryCounters> memory() const override { return run_.memory(); }

  std::optional<BoundPartsCounters> bound_parts() const override {
    const auto is_symbolic = [](const pb::PartDef& part) { return part.has_symbolic(); };
    if (std::none_of(def().parts().begin(), def().parts().end(), is_symbolic)) return std::nullopt;
    return run_.model().bound_parts().counters();
  }

  std::vector<NamedValue> outputs() const override {
    std::vector<NamedValue> values;
    for (int k = 0; k < def().outputs_size(); ++k) {
      const pb::BindingDef& output = def().outputs(k);
      const ValueKind kind = value_kind(def(), output.type());
      values.push_back(
          {output.name(), file_value(run_.output(static_cast<size_t>(k)), kind, output.name())});
    }
    return values;
  }

 private:
  // Binds the inputs. States that are not given begin empty.
  Result<void> bind_inputs() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const FileValue& value = inputs_[i].value;
      const bool is_first_state = value.kind == ValueKind::kTensor && value.tensors.empty();
      if (!is_first_state) SLUICE_TRY(run_.bind_input(i, host_value(value)));
    }
    return {};
  }

  // Executes the model once. Every run begins with the same states.
  Result<void> execute(const HybridObserver& observer) {
    if (def().states_size() > 0 && has_run_) run_.rewind_states();
    has_run_ = true;
    return run_.execute(observer);
  }

  Result<void> run_once_timed(std::vector<TaskTime>& root,
                              std::vector<std::vector<TaskTime>>& parts,
                              std::vector<uint64_t>* bytes = nullptr) {
    root.resize(root_nodes());
    for (const pb::PartDef& part : def().parts())
      parts.emplace_back(static_cast<size_t>(part.fixed().task_kind_size()));
    HybridObserver observer;
    observer.node_times = &root;
    observer.part_times = &parts;
    observer.node_bytes = bytes;
    return execute(observer);
  }
  // Returns the entry of the kernel that node i of the root launches; empty: none.
  std::string kernel_of(uint32_t i) const {
    const uint32_t kernel = static_cast<int>(i) < def().root().node_kernel_size()
                                ? def().root().node_kernel(static_cast<int>(i))
                                : 0;
    return kernel == 0 ? "" : def().kernels(static_cast<int>(kernel) - 1).entry();
  }
  const pb::ModelDef& def() const { return run_.model().def(); }
  uint32_t root_nodes() const {
    return def().nodes() - std::min(def().nodes(), def().root().first_node());
  }

  HybridRun run_;
  NodeNames names_;
  std::vector<NamedValue> inputs_;
  bool has_run_ = false;
};

}  // namespace

Result<std::unique_ptr<Session>> make_hybrid_session(std::shared_ptr<const OpenedModel> model,
                                                     int threads, uint64_t bound_parts_bytes) {
  SLUICE_ASSIGN(auto hybrid, HybridModel::lower(std::move(model)));
  hybrid->bound_parts().limit(bound_parts_bytes);
  SLUICE_ASSIGN(auto device, shared_device(threads));
  return std::unique_ptr<Session>(
      std::make_unique<HybridSession>(std::move(hybrid), std::move(device)));
}

}  // namespace sluice
