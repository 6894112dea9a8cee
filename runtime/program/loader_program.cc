#include "runtime/program/loader_program.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "fmt/format.h"
#include "runtime/program/inputs_text.h"
#include "runtime/program/measure.h"
#include "runtime/program/session.h"

namespace sluice {
namespace {

Result<void> print(std::string_view text) {
  auto written = write_descriptor(STDOUT_FILENO, std::as_bytes(std::span(text)));
  if (!written) written.error().file = "standard output";
  return written;
}

// Adds the model's name to an error of a run.
template <typename Body>
auto of_model(const LoaderOptions& options, Body&& body) -> decltype(body()) {
  auto done = within_memory(body);
  if (!done && done.error().file.empty()) done.error().file = options.model;
  return done;
}

Result<std::unique_ptr<Session>> open_session(const LoaderOptions& options,
                                              Measurement& measurement) {
  const double begin = now_ms();
  SLUICE_ASSIGN(auto model,
                OpenedModel::open(options.model, {.verify_weights = options.verify_weights,
                                                  .weights = options.weights}));
  const bool has_root = model->def().has_root();
  SLUICE_ASSIGN(auto session,
                has_root ? make_hybrid_session(model, options.threads, options.bound_parts_bytes)
                         : make_static_session(model, options.threads));
  measurement.load_ms = now_ms() - begin;
  measurement.threads = options.threads;
  const auto label = [&] { return fmt::format("the inputs of '{}'", options.model); };
  SLUICE_ASSIGN(std::vector<NamedValue> inputs,
                within_memory([&] { return read_inputs(model->def(), options); }, label));
  measurement.inputs = inputs_text(model->def(), inputs, options);
  SLUICE_TRY(of_model(options, [&] { return session->bind(std::move(inputs)); }));
  return session;
}

Result<void> first_run(const LoaderOptions& options, Session& session, Measurement& measurement) {
  const double begin = now_ms();
  if (options.dump_dir.empty()) {
    SLUICE_TRY(of_model(options, [&] {
      return options.schedule_seed ? session.run_drawn(*options.schedule_seed) : session.run();
    }));
    measurement.first_ms = now_ms() - begin;
    return {};
  }
  SLUICE_ASSIGN(ValueFolder folder, ValueFolder::create(options.dump_dir));
  SLUICE_TRY(of_model(options, [&] { return session.run_dumping(folder, options.dump_glob); }));
  measurement.first_ms = now_ms() - begin;
  return folder.finish();
}

}  // namespace

Result<void> run_loader(const LoaderOptions& options) {
  Measurement measurement;
  SLUICE_ASSIGN(const std::unique_ptr<Session> session, open_session(options, measurement));
  SLUICE_TRY(first_run(options, *session, measurement));
  if (!options.output_dir.empty()) SLUICE_TRY(write_outputs(session->outputs(), options));
  if (!options.trace.empty()) {
    SLUICE_ASSIGN(const std::string trace, of_model(options, [&] { return trace_json(*session); }));
    SLUICE_TRY(write_text(options.trace, trace));
  }
  if (options.bench) {
    SLUICE_TRY(of_model(options, [&] { return measure(*session, options.runs, measurement); }));
    return print(options.json ? measurement_json(measurement) : measurement_table(measurement));
  }
  if (options.output_dir.empty()) return print(outputs_text(session->outputs()));
  return {};
}

int loader_main(int argc, const char* const* argv) {
  auto options = program_within_memory([&] { return parse_loader_options(argc, argv); });
  const bool json = options && options->error_json;
  auto done = [&]() -> Result<void> {
    if (!options) return options.error();
    return options->print.empty() ? within_memory([&] { return run_loader(*options); })
                                  : print(options->print);
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
