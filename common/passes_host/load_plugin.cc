#include "common/passes_host/load_plugin.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <string_view>

#include "common/passes_host/points.h"

namespace sluice {
namespace {

constexpr const char* kCompiler = "libsluice_compiler.so";

Error no_plugin(const std::string& path, const std::string& why) {
  Error error = make_error(ErrorCode::kBadPlugin, "{}", why);
  error.file = path;
  return error;
}

// A plugin names the compiler's library without saying where it is: that of this release is opened
// first, and the plugin finds it open.
void open_compiler() {
  std::error_code failed;
  const auto own = std::filesystem::canonical("/proc/self/exe", failed).parent_path();
  const std::string path = (own / "../lib" / kCompiler).string();
  if (std::filesystem::exists(path, failed)) ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

Result<void> check_release(const SluicePlugin& plugin, const std::string& path) {
  if (plugin.abi != kPluginAbi) {
    return no_plugin(
        path, fmt::format("the plugin has ABI {}, this release has {}", plugin.abi, kPluginAbi));
  }
  if (plugin.release == nullptr || std::string_view(plugin.release) != kRelease) {
    return no_plugin(path,
                     fmt::format("the plugin was compiled with release {}, this is {}",
                                 plugin.release == nullptr ? "none" : plugin.release, kRelease));
  }
  return {};
}

Result<void> check_passes(const SluicePlugin& plugin, const std::string& path) {
  static std::map<std::string, std::string> files;  // by the names of their passes
  for (uint32_t i = 0; i < plugin.pass_count; ++i) {
    const PluginPass& pass = plugin.passes[i];
    if (pass.name == nullptr || pass.point == nullptr || pass.run == nullptr)
      return no_plugin(path, fmt::format("pass {} of the plugin has no name, point or code", i));
    if (find_point(pass.point) == nullptr) {
      return no_plugin(path, fmt::format("pass '{}' names the point '{}', the points are {}",
                                         pass.name, pass.point, point_names()));
    }
    const auto [other, is_new] = files.emplace(pass.name, path);
    if (!is_new) {
      return no_plugin(path, fmt::format("'{}' has a pass '{}', too", other->second, pass.name));
    }
  }
  return {};
}

Result<bool> run_pass(const PluginPass& pass, Graph& graph) {
  try {
    auto ran = pass.run(graph);
    if (!ran) return std::move(ran).error().within(pass.name);
    return ran;
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kLimit, "{}: memory ran out", pass.name);
  } catch (const std::exception& error) {
    return make_error(ErrorCode::kPassFailed, "{}: {}", pass.name, error.what());
  } catch (...) {
    return make_error(ErrorCode::kPassFailed, "{}: threw something", pass.name);
  }
}

Result<PassAnswer> run_plugin(const SluicePlugin& plugin, Module& module,
                              const PassRequest& request) {
  PassAnswer answer;
  std::set<std::string> points;
  for (uint32_t i = 0; i < plugin.pass_count; ++i) {
    const PluginPass& pass = plugin.passes[i];
    points.insert(pass.point);
    if (request.point != pass.point) continue;
    SLUICE_ASSIGN(const bool changed, run_pass(pass, module.root()));
    for (GraphId id = 0; id < module.graph_limit(); ++id)
      if (module.has_graph(id)) SLUICE_TRY(module.graph(id).restore_order());
    RuleCount& count = answer.counts.emplace_back();
    count.rule = pass.name;
    count.times = {.matches = changed ? 1u : 0u, .effects = changed ? 1u : 0u};
    answer.changed = answer.changed || changed;
  }
  if (!answer.counts.empty()) return answer;
  std::string listed;
  for (const std::string& point : points) listed += (listed.empty() ? "" : ", ") + point;
  return make_error(ErrorCode::kBadPlugin, "has no pass for this point, but for: {}", listed);
}

}  // namespace

Result<RunPass> load_plugin(const std::string& path) {
  open_compiler();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return no_plugin(path, fmt::format("cannot be opened: {}", ::dlerror()));
  const auto* plugin = static_cast<const SluicePlugin*>(::dlsym(library, "sluice_plugin"));
  if (plugin == nullptr) return no_plugin(path, "the shared object has no record sluice_plugin");
  SLUICE_TRY(check_release(*plugin, path));
  SLUICE_TRY(check_passes(*plugin, path));
  return RunPass([plugin](Module& module, const PassRequest& request) {
    return run_plugin(*plugin, module, request);
  });
}

}  // namespace sluice
