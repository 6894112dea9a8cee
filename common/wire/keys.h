// Keys of programs that talk over a network: a pair for each, as two text files. Who has the secret
// one can prove to be its owner to whoever has the public one (CURVE of ZeroMQ, docs/farm.md).
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

// Keys are text of 40 characters (Z85).
struct KeyPair {
  std::string public_key, secret_key;
};

// Names of keys are the names of their files: 1 to 100 letters, digits, '-', '_', '.', '@', not
// starting with '.' or '-'.
bool is_key_name(const std::string& name);

// Writes a new pair to FOLDER/NAME.key, which its owner alone can read, and FOLDER/NAME.pub.
// Errors: kBadOption for the name; kIo, also when one of the files exists.
Result<void> make_key_files(const std::string& folder, const std::string& name);

// Reads NAME.key. Errors: kNotFound, kIo; kBadFile when others can read it, or when it is no key.
Result<KeyPair> read_key_pair(const std::string& path);

// Reads NAME.pub. Errors: kNotFound, kIo, kBadFile.
Result<std::string> read_public_key(const std::string& path);

}  // namespace sluice
