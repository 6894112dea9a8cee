// Memory that runs out, as an error like any other.
#pragma once

#include <new>
#include <stdexcept>

#include "common/base/result.h"

namespace sluice {

// What body() gives; kLimit where an allocation below it failed, or was larger than any can be. Catches on the calling
// thread only.
template <typename Body>
auto within_memory(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kLimit, "memory ran out");
  } catch (const std::length_error&) {
    return make_error(ErrorCode::kLimit, "memory ran out: a size exceeds what can be allocated");
  }
}

}  // namespace sluice
