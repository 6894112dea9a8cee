// ZeroMQ is loaded by the programs that use it, when they use it: it depends on seventeen
// libraries, and opening them cost each stage of a pipe ten milliseconds.
#pragma once

#include "common/base/result.h"

namespace sluice::wire {

// Must be called before the first use of zmq.hpp. Returns kIo when the library is not installed.
Result<void> load_zmq();

}  // namespace sluice::wire
