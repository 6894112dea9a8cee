// ZeroMQ is loaded by the programs that use it, when they use it: it brings seventeen libraries
// along, and opening them took each stage of a pipe ten milliseconds for nothing.
#pragma once

#include "common/base/result.h"

namespace sluice::wire {

// To be called before the first use of zmq.hpp. kIo when the library is not installed.
Result<void> load_zmq();

}  // namespace sluice::wire
