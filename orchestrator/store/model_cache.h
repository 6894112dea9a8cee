// --graph-compiler-cache-dir and --graph-key: compiled models under names that their users choose.
// The folder is a store (common/store/store.h) with these files beside it:
//
//   KEY.idx      JSON, what the key stands for: a list of {"graph_key", "cache_file_name", the
//   place
//                of the compiled model in the folder, and "compile_key", of its record}
//   KEY.lock     locked by whoever compiles under the key
//   cache.conf   optional JSON: "cache_manual_check": true, a key stands for its first model until
//                somebody deletes KEY.idx; "cache_debug_mode": true, names what the key stands for
//
// A model is found by the record of its compile, which names its graph, options and build: a key
// that was given to another graph never finds that graph's model.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/digest.h"
#include "common/base/result.h"

namespace sluice {

class ModelCache {
 public:
  // Returns nothing when the folder or the key is empty. Waits for others who compile under the
  // key, until `stop` says so. Errors: kBadOption for a key that is no name, or a broken
  // cache.conf; kNotFound for a folder that does not exist; kIo when the lock cannot be had.
  static Result<std::optional<ModelCache>> open(const std::string& folder, const std::string& key,
                                                const std::function<bool()>& stop);
  const std::string& folder() const { return folder_; }

  // Writes down that the key stands for this model. Returns what people should know about it;
  // empty: nothing.
  Result<std::string> note(const Digest& compile_key, const Digest& artifact) const;

 private:
  ModelCache(std::string folder, std::string key)
      : folder_(std::move(folder)), key_(std::move(key)) {}
  Result<void> read_settings();
  Result<void> take_lock(const std::function<bool()>& stop);
  std::string index_path() const { return folder_ + "/" + key_ + ".idx"; }

  std::string folder_, key_;
  Descriptor lock_;
  bool keeps_first_ = false;  // cache_manual_check
  bool names_all_ = false;    // cache_debug_mode
};

}  // namespace sluice
