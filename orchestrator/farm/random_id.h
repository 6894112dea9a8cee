// The ids by which a dispatcher finds workers and clients, whatever their connection.
#pragma once

#include <random>
#include <string>

namespace sluice {

// Returns 16 bytes that nobody can guess.
inline std::string random_id() {
  std::random_device device;
  std::string id;
  while (id.size() < 16) id += static_cast<char>(device());
  return id;
}

}  // namespace sluice
