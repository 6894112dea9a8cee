// Measures the overhead of the executor: launches of kernels that do nothing or 1 µs of work a
// block, in first runs, in later runs, and beside processes that keep every core busy; and opening
// a model of many tasks (time of this thread, so that other programs do not count). Only prints; it
// is no test.
//
//   overhead_bench [launches] [tasks] [seconds beside busy processes]
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "common/base/cores.h"
#include "common/omfile/testing/model_builder.h"
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

std::shared_ptr<const StaticModel> open_chain(KernelFunction kernel, int launches,
                                              uint32_t blocks) {
  const TestKernels kernels{{"nothing", kernel}};
  return StaticModel::open(OmBytes::copy(testing::om_bytes(chain(launches, blocks))).value(),
                           {.test_kernels = &kernels})
      .value();
}

void demand(const Result<void>& done) {
  if (!done) std::abort();
}

// Runs of one model on a number of threads.
class ChainRuns {
 public:
  ChainRuns(std::shared_ptr<const StaticModel> model, int threads)
      : model_(std::move(model)), device_(shared_device(threads).value()) {
    begin_anew();
  }

  // Makes the next run a first one, which knows of no launch how long it takes.
  void begin_anew() {
    run_ = std::make_unique<Run>(model_, device_);
    demand(run_->bind_input(0, x_));
  }

  // Returns the time of a launch in µs, the mean of one run.
  double measure() {
    const double begin = now_us();
    demand(run_->execute());
    return (now_us() - begin) / static_cast<double>(model_->queue().tasks.size());
  }

 private:
  std::shared_ptr<const StaticModel> model_;
  std::shared_ptr<Device> device_;
  std::vector<std::byte> x_ = std::vector<std::byte>(64);
  std::unique_ptr<Run> run_;
};

void measure_launches(const char* what, KernelFunction kernel, int launches, uint32_t blocks,
                      int threads) {
  ChainRuns runs(open_chain(kernel, launches, blocks), threads);
  std::vector<double> first, later;
  for (int i = 0; i < 20; ++i) {
    runs.begin_anew();
    first.push_back(runs.measure());
    for (int k = 0; k < 3; ++k) later.push_back(runs.measure());
  }
  std::printf("%s: %d threads, %u blocks: %.3f us a launch (least %.3f, first run %.3f)\n", what,
              threads, blocks, median(later), *std::min_element(later.begin(), later.end()),
              median(first));
}

// Processes that compute without end, one for each core; they end with this object.
class BusyProcesses {
 public:
  BusyProcesses() {
    for (int64_t i = 0; i < usable_cores(); ++i) {
      if (const pid_t child = ::fork(); child != 0) {
        children_.push_back(child);
        continue;
      }
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) some_work(nullptr, 0, 1);
    }
  }
  ~BusyProcesses() {
    for (const pid_t child : children_) ::kill(child, SIGKILL);
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  std::vector<pid_t> children_;
};

// Compares one thread and two, in turn, while other processes want every core.
void measure_busy(int launches, uint32_t blocks, double seconds) {
  const BusyProcesses busy;
  const auto model = open_chain(some_work, launches, blocks);
  ChainRuns one(model, 1), two(model, 2);
  double one_us = 0, two_us = 0;
  int rounds = 0;
  for (const double end = now_us() + seconds * 1e6; now_us() < end; ++rounds) {
    if (rounds % 2 == 0) one_us += one.measure();
    two_us += two.measure();
    if (rounds % 2 == 1) one_us += one.measure();
  }
  std::printf("busy cores: %u blocks: 1 thread %.3f us a launch, 2 threads %.3f us, ratio %.2f\n",
              blocks, one_us / rounds, two_us / rounds, two_us / one_us);
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
  const double seconds = argc > 3 ? std::atof(argv[3]) : 16;
  for (const int threads : {1, 2}) {
    for (const uint32_t blocks : {1u, 2u, 8u, 64u})
      sluice::measure_launches("nothing", sluice::nothing, launches, blocks, threads);
    for (const uint32_t blocks : {1u, 2u, 8u, 64u})
      sluice::measure_launches("work", sluice::some_work, launches, blocks, threads);
  }
  for (const uint32_t blocks : {2u, 8u, 64u, 1000u}) {
    if (seconds <= 0) break;
    sluice::measure_busy(std::max(launches * 8 / static_cast<int>(blocks), 1), blocks, seconds / 4);
  }
  sluice::measure_open(tasks);
}
