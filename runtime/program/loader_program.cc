#include "runtime/program/loader_program.h"

#include <chrono>
#include <cstdio>
#include <cstring>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "fmt/format.h"
#include "runtime/program/bindings.h"
#include "runtime/program/dump_values.h"
#include "runtime/program/measure.h"

namespace sluice {
namespace {

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Result<void> print(std::string_view text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return whole ? Result<void>() : make_error(ErrorCode::kIo, "cannot write to standard output");
}

// A model being run by this program: its run, and the memory bound to it.
struct Session {
  Measurement measurement;
  std::unique_ptr<Run> run;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

Result<void> open_session(const LoaderOptions& options, Session& session) {
  const double begin = now_ms();
  SLUICE_ASSIGN(auto model, StaticModel::open(options.model, {.verify_weights = options.verify_weights}));
  SLUICE_ASSIGN(auto device, shared_device(options.threads));
  session.run = std::make_unique<Run>(std::move(model), std::move(device));
  session.measurement.load_ms = now_ms() - begin;
  session.measurement.threads = options.threads;
  return {};
}

Result<void> bind(const LoaderOptions& options, Session& session) {
  const pb::ModelDef& model = session.run->model().def();
  SLUICE_ASSIGN(session.inputs, read_inputs(model, options));
  for (const pb::BindingDef& output : model.outputs()) {
    SLUICE_ASSIGN(Tensor tensor, make_binding_tensor(model, output));
    session.outputs.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < session.inputs.size(); ++i) SLUICE_TRY(session.run->bind_input(i, session.inputs[i].bytes));
  for (size_t i = 0; i < session.outputs.size(); ++i) SLUICE_TRY(session.run->bind_output(i, session.outputs[i].bytes));
  return {};
}

Result<void> first_run(const LoaderOptions& options, Session& session) {
  WalkObserver observer;
  std::optional<ValueDump> dump;
  if (!options.dump_dir.empty()) {
    SLUICE_ASSIGN(ValueFolder folder, ValueFolder::create(options.dump_dir));
    dump.emplace(*session.run, std::move(folder), options.dump_glob);
    SLUICE_TRY(dump->check(session.inputs));
    SLUICE_TRY(dump->write_inputs(session.inputs));
    observer.after_task = [&dump](uint32_t task) { return dump->after_task(task); };
  }
  const double begin = now_ms();
  SLUICE_TRY(session.run->execute(observer));
  session.measurement.first_ms = now_ms() - begin;
  return dump ? dump->finish() : Result<void>();
}

}  // namespace

Result<void> run_loader(const LoaderOptions& options) {
  Session session;
  SLUICE_TRY(open_session(options, session));
  SLUICE_TRY(bind(options, session));
  SLUICE_TRY(first_run(options, session));
  if (!options.output_dir.empty()) SLUICE_TRY(write_outputs(session.outputs, options));
  if (!options.trace.empty()) {
    SLUICE_ASSIGN(const std::string trace, trace_json(*session.run));
    SLUICE_TRY(write_text(options.trace, trace));
  }
  if (options.bench) {
    SLUICE_TRY(measure(*session.run, options.runs, session.measurement));
    return print(options.json ? measurement_json(session.measurement) : measurement_table(session.measurement));
  }
  if (options.output_dir.empty()) return print(outputs_text(session.outputs));
  return {};
}

int loader_main(int argc, const char* const* argv) {
  auto options = program_within_memory([&] { return parse_loader_options(argc, argv); });
  const bool json = options && options->error_json;
  auto done = [&]() -> Result<void> {
    if (!options) return options.error();
    return options->print.empty() ? within_memory([&] { return run_loader(*options); }) : print(options->print);
  }();
  if (done) return 0;
  if (json) {
    log_text(error_json(done.error()) + "\n");
  } else {
    log_line("sluice-loader", "error", error_text(done.error()));
  }
  return static_cast<int>(exit_class(done.error().code));
}

}  // namespace sluice
