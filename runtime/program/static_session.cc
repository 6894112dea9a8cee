// A session of a model that is one fixed part.
#include "runtime/executor/run.h"
#include "runtime/program/dump_values.h"
#include "runtime/program/schedule_fuzzer.h"
#include "runtime/program/session.h"

namespace sluice {
namespace {

class StaticSession : public Session {
 public:
  StaticSession(std::shared_ptr<const StaticModel> model, std::shared_ptr<Device> device)
      : run_(std::move(model), std::move(device)), names_(run_.model().def()) {}

  Result<void> bind(std::vector<NamedValue> inputs) override {
    inputs_ = std::move(inputs);
    for (const pb::BindingDef& output : run_.model().outputs()) {
      const pb::TypeDef& type = def().types(static_cast<int>(output.type()));
      Tensor tensor = make_tensor(static_cast<DType>(type.dtype()),
                                  {type.dims().begin(), type.dims().end()}, output.name());
      outputs_.push_back({output.name(), {}});
      outputs_.back().value.tensors.push_back(std::move(tensor));
    }
    for (size_t i = 0; i < inputs_.size(); ++i)
      SLUICE_TRY(run_.bind_input(i, inputs_[i].value.tensors[0].bytes));
    for (size_t i = 0; i < outputs_.size(); ++i)
      SLUICE_TRY(run_.bind_output(i, outputs_[i].value.tensors[0].bytes));
    return {};
  }

  Result<void> run() override { return run_.execute(); }

  Result<void> run_drawn(uint64_t schedule_seed) override {
    ScheduleFuzzer fuzzer(schedule_seed);
    return run_.execute(fuzzer.observe(run_));
  }

  Result<void> run_dumping(ValueFolder& folder, const std::string& glob) override {
    ValueDump dump(run_, folder, glob);
    SLUICE_TRY(dump.check(inputs_));
    SLUICE_TRY(dump_inputs(inputs_, glob, folder));
    WalkObserver observer;
    observer.after_task = [&dump](uint32_t task) { return dump.after_task(task); };
    SLUICE_TRY(run_.execute(observer));
    mention_fused(def(), glob, folder);
    return {};
  }

  Result<std::vector<NodeTime>> run_timed(int runs) override {
    std::vector<std::vector<TaskTime>> times(static_cast<size_t>(runs));
    for (auto& one : times) SLUICE_TRY(run_once_timed(one));
    std::vector<NodeTime> nodes;
    add_node_times(def(), names_, part(), &run_.model(), times, nodes);
    return nodes;
  }

  Result<Json::Array> run_traced() override {
    std::vector<TaskTime> times;
    SLUICE_TRY(run_once_timed(times));
    Json::Array events;
    add_task_events(def(), names_, part(), 0, times, 0, first_begin(part(), times), "", events);
    return events;
  }

  std::vector<NamedValue> outputs() const override { return outputs_; }

 private:
  Result<void> run_once_timed(std::vector<TaskTime>& times) {
    times.resize(run_.model().queue().tasks.size());
    WalkObserver observer;
    observer.times = &times;
    return run_.execute(observer);
  }
  const pb::ModelDef& def() const { return run_.model().def(); }
  const pb::FixedPart& part() const { return run_.model().part(); }

  Run run_;
  NodeNames names_;
  std::vector<NamedValue> inputs_, outputs_;
};

}  // namespace

Result<std::unique_ptr<Session>> make_static_session(std::shared_ptr<const OpenedModel> model,
                                                     int threads) {
  SLUICE_ASSIGN(auto lowered, StaticModel::lower(std::move(model), 0));
  SLUICE_ASSIGN(auto device, shared_device(threads));
  return std::unique_ptr<Session>(
      std::make_unique<StaticSession>(std::move(lowered), std::move(device)));
}

}  // namespace sluice
