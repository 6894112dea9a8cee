#include "common/sandbox/layers.h"

#include "fmt/format.h"

namespace sluice {
namespace {

void add(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

}  // namespace

std::string layers_text(const Layers& layers) {
  std::string text;
  if (layers.limits) add(text, "rlimits");
  if (layers.calls) add(text, "seccomp");
  if (layers.files > 0) add(text, fmt::format("landlock {}", layers.files));
  if (layers.network) add(text, "network namespace");
  if (layers.ipc) add(text, "IPC namespace");
  return text;
}

std::string missing_text(const Layers& layers) {
  std::string text;
  if (layers.files == 0) add(text, "this kernel has no Landlock: jobs read and write any file");
  if (!layers.calls)
    add(text, "seccomp cannot be used (is libseccomp2 installed?): jobs start processes");
  if (!layers.calls && !layers.network) add(text, "jobs reach the network");
  return text;
}

}  // namespace sluice
