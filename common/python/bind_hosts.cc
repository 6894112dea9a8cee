// The helper of stages that runs passes of users (common/passes_host).
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <map>
#include <tuple>
#include <variant>

#include "common/passes_host/load_plugin.h"
#include "common/passes_host/pass_sandbox.h"
#include "common/passes_host/serve_passes.h"
#include "common/python/bindings.h"

namespace sluice::python {
namespace {

using Counts = std::vector<std::tuple<std::string, uint64_t, uint64_t, std::string>>;
using Sentence = std::pair<std::string, std::string>;  // of an error: message, hint
using RunFile =
    std::function<std::variant<Sentence, Counts>(Box, std::string file, std::string point)>;

// Python may keep handles, which are to what is erased once the module has gone.
Result<PassAnswer> run_python(Module& module, const PassRequest& request, const RunFile& run_file) {
  const auto box = std::make_shared<ModuleBox>(std::move(module));
  box->has_types = request.has_types;
  const auto answered = run_file(box, request.file, request.point);
  module = box->release();
  if (const auto* sentence = std::get_if<Sentence>(&answered))
    return Error(ErrorCode::kPassFailed, sentence->first, sentence->second);
  PassAnswer made{.changed = box->edits > 0, .counts = {}, .notes = {}};
  for (const auto& [name, matches, effects, obstacle] : std::get<Counts>(answered))
    made.counts.push_back({.rule = name,
                           .times = {.matches = matches, .effects = effects},
                           .patterns = {},
                           .obstacle = obstacle});
  return made;
}

void serve(int input, int output, const RunFile& run_file) {
  std::map<std::string, RunPass> plugins;
  const auto run = [&](Module& module, const PassRequest& request) -> Result<PassAnswer> {
    if (request.file.ends_with(".py")) return run_python(module, request, run_file);
    auto found = plugins.find(request.file);
    if (found == plugins.end()) {
      SLUICE_ASSIGN(RunPass plugin, load_plugin(request.file));
      found = plugins.emplace(request.file, std::move(plugin)).first;
    }
    return found->second(module, request);
  };
  check(serve_passes(input, output, run));
}

}  // namespace

void bind_hosts(py::module_& m) {
  m.def("enter_pass_sandbox",
        [](const std::vector<std::string>& files, const std::vector<std::string>& readable) {
          check(enter_pass_sandbox(files, readable));
        });
  m.def("serve_passes", &serve);
}

}  // namespace sluice::python
