// Functions of libraries that are opened when they are first used.
#pragma once

#include <dlfcn.h>

namespace sluice {

// Returns the library, which stays open, or null when it cannot be loaded.
inline void* open_library(const char* name) { return ::dlopen(name, RTLD_NOW | RTLD_LOCAL); }

// Returns the library's function of this name, or null. `like` only tells its type.
template <typename Function>
Function* library_symbol(void* library, const char* name, Function* /*like*/) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace sluice
