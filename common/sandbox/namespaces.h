// Namespaces without network and without the System V memory of others.
#pragma once

#include "common/sandbox/layers.h"

namespace sluice {

// Moves the calling process, which must have one thread, into new namespaces where the kernel
// allows it, and notes them in `layers`. A privileged process loses its privileges, apart from
// those over files. Is safe in a signal handler.
void enter_namespaces(Layers& layers) noexcept;

}  // namespace sluice
