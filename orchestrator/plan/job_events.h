// What a provider of jobs reports to the program that waits for their products.
#pragma once

#include <functional>
#include <string>

#include "common/base/digest.h"

namespace sluice {

// They are called from any thread.
struct JobEvents {
  std::function<void(const Digest& key)> began;
  // Once for each job: its product, or its failure, is in the store, or it was lost. Returns
  // whether further jobs are to start.
  std::function<bool(const Digest& key)> ended;
  // A warning of a job that is not in the store, such as one about a remote store.
  std::function<void(const std::string& text)> warned;
  // Why jobs wait, to be reported at once; unless set it is reported nowhere.
  std::function<void(const std::string& text)> waiting = [](const std::string&) {};
};

}  // namespace sluice
