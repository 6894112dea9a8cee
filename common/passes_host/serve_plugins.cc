#include "common/passes_host/serve_plugins.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "common/passes_host/load_plugin.h"
#include "common/passes_host/pass_sandbox.h"
#include "common/passes_host/protocol.h"
#include "common/passes_host/serve_passes.h"

namespace sluice {
namespace {

Result<void> serve_plugins(int input, int output, const std::vector<std::string>& files) {
  SLUICE_TRY(enter_pass_sandbox(files, {}));
  std::map<std::string, RunPass> plugins;
  for (const std::string& file : files) {
    SLUICE_ASSIGN(plugins[file], load_plugin(file));
  }
  return serve_passes(
      input, output, [&](Module& module, const PassRequest& asked) -> Result<PassAnswer> {
        const auto plugin = plugins.find(asked.file);
        if (plugin != plugins.end()) {
          auto answer = plugin->second(module, asked);
          std::fflush(nullptr);  // what it printed
          return answer;
        }
        return make_error(ErrorCode::kBadReply, "'{}' is no plugin of this stage", asked.file);
      });
}

}  // namespace
}  // namespace sluice

int sluice_serve_plugins(int input, int output, const char* const* files, size_t count) {
  const auto served = sluice::serve_plugins(input, output, {files, files + count});
  if (!served) static_cast<void>(sluice::send_error(output, served.error()).ok());
  return 0;
}
