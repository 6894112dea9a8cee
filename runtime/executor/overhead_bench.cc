// Measures the overhead of the executor: launches of kernels that do nothing or 2 µs of work a
// block, and opening a model of many tasks (time of this thread, so that other programs do not
// count). Only prints; it is no test.
//
//   overhead_bench [launches] [tasks]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "common/omfile/model_builder_testing.h"
#include "runtime/executor/run.h"

namespace sluice {
namespace {

void nothing(const KernelArgs*, uint32_t, uint32_t) {}

void some_work(const KernelArgs*, uint32_t, uint32_t) {
  volatile uint32_t x = 1;
  for (int i = 0; i < 1500; ++i) x = x * 3 + 1;
}

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double thread_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

pb::ModelDef chain(int tasks, uint32_t blocks) {
  testing::ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {16});
  uint32_t last = b.input("x", type);
  b.model.add_ops("Conv");
  b.model.add_engines("aicore");
  const uint32_t stream = b.stream("main");
  const uint32_t kernel = b.test_kernel("nothing", blocks);
  for (int t = 0; t < tasks; ++t) {
    const uint32_t next =
        b.arena_value("model/block" + std::to_string(t % 100) + "/value" + std::to_string(t), type);
    b.launch("model/block" + std::to_string(t % 100) + "/node" + std::to_string(t), stream, kernel,
             {next}, {last});
    pb::NodeNamesDef origin;
    origin.add_origins()->add_onnx_nodes("/model/block" + std::to_string(t % 100) + "/Conv_" +
                                         std::to_string(t));
    *b.model.mutable_node_names() += origin.SerializeAsString();
    b.model.add_node_op(0);
    b.model.add_node_engine(0);
    b.model.add_node_multiply_adds(1000);
    last = next;
  }
  return b.model;
}

void measure_launches(const char* what, KernelFunction kernel, int launches, uint32_t blocks,
                      int threads) {
  const TestKernels kernels{{"nothing", kernel}};
  const auto model =
      StaticModel::open(OmBytes::copy(testing::om_bytes(chain(launches, blocks))).value(),
                        {.test_kernels = &kernels})
          .value();
  Run run(model, shared_device(threads).value());
  std::vector<std::byte> x(64);
  if (!run.bind_input(0, x)) return;
  std::vector<double> us;
  for (int i = 0; i < 50; ++i) {
    const double begin = now_us();
    if (!run.execute()) return;
    us.push_back((now_us() - begin) / launches);
  }
  std::printf("%s: %d threads, %u blocks: %.3f us a launch (least %.3f)\n", what, threads, blocks,
              median(us), *std::min_element(us.begin(), us.end()));
}

void measure_open(int tasks) {
  const TestKernels kernels{{"nothing", nothing}};
  const auto bytes = testing::om_bytes(chain(tasks, 1));
  std::vector<double> read_ms;
  std::vector<double> open_ms;
  for (int i = 0; i < 11; ++i) {
    const OmBytes file = OmBytes::copy(bytes).value();
    double begin = thread_ms();
    const auto read = read_om(file, {.test_tasks = true});
    read_ms.push_back(thread_ms() - begin);
    begin = thread_ms();
    const auto model = StaticModel::open(file, {.test_kernels = &kernels});
    if (!read || !model) return;
    open_ms.push_back(thread_ms() - begin);
  }
  std::printf("open: %d tasks, %zu bytes: read and verify %.2f ms, ready %.2f ms\n", tasks,
              bytes.size(), median(read_ms), median(open_ms));
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int tasks = argc > 2 ? std::atoi(argv[2]) : 100'000;
  for (const int threads : {1, 2}) {
    for (const uint32_t blocks : {1u, 2u, 8u, 64u})
      sluice::measure_launches("nothing", sluice::nothing, launches, blocks, threads);
    for (const uint32_t blocks : {1u, 2u, 8u, 64u})
      sluice::measure_launches("work", sluice::some_work, launches, blocks, threads);
  }
  sluice::measure_open(tasks);
}
