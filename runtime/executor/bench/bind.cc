// Measures the cost of a new size: the parts of a model are bound to 100 sizes each.
//
//   bind_bench model.om
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "runtime/executor/hybrid_model.h"

namespace sluice {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Result<void> run(const char* path) {
  SLUICE_ASSIGN(auto opened, OpenedModel::open(path));
  const pb::ModelDef& def = opened->def();
  SLUICE_ASSIGN(auto model, HybridModel::lower(std::move(opened)));
  for (int part = 0; part < def.parts_size(); ++part) {
    std::vector<double> times;
    for (int64_t size = 1; size <= 100; ++size) {
      const std::vector<int64_t> symbols(static_cast<size_t>(def.sizes().symbols_size()),
                                         32 * size);
      const double begin = now_ms();
      const auto bound = model->part(static_cast<size_t>(part), symbols);
      if (bound) times.push_back(now_ms() - begin);
    }
    if (times.empty()) continue;
    std::sort(times.begin(), times.end());
    std::printf("part %d, %d tasks: least %.3f ms, median %.3f ms, most %.3f ms\n", part,
                def.parts(part).fixed().task_kind_size(), times.front(), times[times.size() / 2],
                times.back());
  }
  return {};
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: bind_bench model.om\n"), 2;
  const auto done = sluice::run(argv[1]);
  if (!done)
    return std::fprintf(stderr, "bind_bench: %s\n", sluice::error_text(done.error()).c_str()), 1;
  return 0;
}
