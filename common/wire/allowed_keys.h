// The public keys that may connect: the files NAME.pub of a folder, and of its folders `clients`
// and `workers`, whose keys may do only what those do.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "common/base/result.h"

namespace sluice {

enum class KeyRole : uint8_t { kAny, kClient, kWorker };

struct AllowedKey {
  std::string name;  // of its file, without ".pub"
  KeyRole role = KeyRole::kAny;
};

class AllowedKeys {
 public:
  // Errors: kNotFound, kIo for the folder; those of read_public_key for any file NAME.pub.
  static Result<AllowedKeys> open(const std::string& folder);

  // Reads the folder again. Files that are no keys allow nobody, like a folder that is gone.
  void refresh();
  // Does so when it was read a while ago.
  void refresh_if_old();
  const AllowedKey* find(const std::string& public_key) const;

 private:
  explicit AllowedKeys(std::string folder) : folder_(std::move(folder)) {}
  Result<void> read();
  Result<void> read_folder(const std::string& folder, KeyRole role, Result<void>& fault);
  std::string folder_;
  std::map<std::string, AllowedKey> keys_;  // by the public key
  std::chrono::steady_clock::time_point read_at_{};
};

}  // namespace sluice
