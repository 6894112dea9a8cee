// How long buffers keep others from having their bytes, where streams run side by side.
#pragma once

#include <vector>

#include "common/ir/memory.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {

class HeldTasks {
 public:
  // O(T + C * S), C tasks of T that wait for other streams, S streams.
  explicit HeldTasks(const HappensBefore& order);

  // Returns the range of tasks in which no other buffer may have the bytes of this one, whatever
  // its streams: from its first task to the last one before which some stream is not yet done with
  // it.
  TaskRange of(const MemoryBuffer& buffer) const;

 private:
  // By task: the last one before which some stream does not know that it is done; empty where there
  // is one stream.
  std::vector<uint32_t> until_;
};

}  // namespace sluice
