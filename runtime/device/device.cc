#include "runtime/device/device.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace sluice {
namespace {

thread_local WorkerPool* acquired_from = nullptr;

}  // namespace

// Owns all devices of the process and the threads that they share.
class ProcessDevices {
 public:
  static ProcessDevices& get() {
    static ProcessDevices& devices =
        *new ProcessDevices();  // never destroyed: a run may end after main
    return devices;
  }

  Result<std::shared_ptr<Device>> find_or_make(int threads) {
    std::unique_lock lock(mutex_);
    std::weak_ptr<Device>& known = devices_[threads];
    if (auto device = known.lock()) return device;
    std::shared_ptr<WorkerPool> pool = pool_.lock();
    if (pool == nullptr) pool_ = pool = std::make_shared<WorkerPool>();
    const std::shared_ptr<Device> device(new Device(threads, pool));
    known = device;
    set_width(*pool);
    lock.unlock();  // the destructor of a device takes the lock too
    SLUICE_TRY(device->start_threads());
    return device;
  }

  void device_ends() {
    const std::lock_guard lock(mutex_);
    if (const auto pool = pool_.lock()) set_width(*pool);
  }

 private:
  ProcessDevices() {
    ::pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                     [] {
                       get().begin_anew();
                       get().mutex_.unlock();
                     });
  }

  void set_width(WorkerPool& pool) const {
    int maximum = 1;
    for (const auto& [threads, device] : devices_)
      maximum = device.expired() ? maximum : std::max(maximum, threads);
    pool.set_width(maximum);
  }

  // Starts anew in a forked child: the parent's threads do not exist here, and its pool must not be
  // destroyed, because that would wait for them.
  void begin_anew() {
    std::shared_ptr<WorkerPool> left = pool_.lock();
    if (left == nullptr) return;
    const auto pool = std::make_shared<WorkerPool>();
    for (const auto& [threads, known] : devices_) {
      if (const auto device = known.lock()) device->pool_ = pool;
    }
    set_width(*pool);
    pool_ = pool;
    left_.push_back(std::move(left));
  }

  std::mutex mutex_;
  std::weak_ptr<WorkerPool> pool_;
  std::map<int, std::weak_ptr<Device>> devices_;   // by threads
  std::vector<std::shared_ptr<WorkerPool>> left_;  // of processes that this one was forked from
};

Device::~Device() { ProcessDevices::get().device_ends(); }

Device::WalkerSlot::WalkerSlot(Device& device) {
  if (acquired_from == device.pool_.get()) return;
  pool_ = device.pool_.get();
  pool_->acquire_slot();
  before_ = std::exchange(acquired_from, pool_);
}

Device::WalkerSlot::~WalkerSlot() {
  if (pool_ == nullptr) return;
  acquired_from = before_;
  pool_->release_slot();
}

void Device::run(const Launch& launch, Scratch& scratch) {
  const int slot = launch.blocks > 1 && threads_ > 1 ? begin(launch) : -1;
  if (slot < 0) return run_inline(launch, scratch);
  help(slot, scratch);
  wait_any({&slot, 1});
  end(slot);
}

Result<std::shared_ptr<Device>> shared_device(int threads) {
  return ProcessDevices::get().find_or_make(std::max(threads, 1));
}

}  // namespace sluice
