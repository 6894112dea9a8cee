// Graph <-> .sg bytes (schemas/graph.fbs). The only folder that includes graph_generated.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Reads a .sg file ("-": standard input). Constants inside stay in the mapped file or read buffer.
// Every index, size and digest name in the file is checked: damaged or hostile bytes are kBadFile,
// never a crash. The result's made_from starts with the file's own digest.
Result<Module> read_graph_file(const std::string& path);
Result<Module> read_graph(std::shared_ptr<const std::vector<std::byte>> bytes,
                          const std::string& name);
// Does the same on bytes that `owner` keeps alive (a segment of a mapped .om).
Result<Module> read_graph(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name);

struct WriteGraphOptions {
  // --segments=inline: copies constants that are in other files into this one.
  bool inline_segments = false;
  // The module was compacted and has not changed since, so that it need not be compacted again.
  bool is_compact = false;
  // --store: the folder for constants that would be copied into this file. Empty: none.
  std::string store;
};

// Compacts the module and writes it. Tables are written in order of first mention, so equal modules
// produce equal bytes.
Result<void> write_graph(Module& module, FileWriter& writer, const WriteGraphOptions& options = {});
Result<void> write_graph_file(Module& module, const std::string& path,
                              const WriteGraphOptions& options = {});
Result<std::vector<std::byte>> graph_bytes(Module& module, const WriteGraphOptions& options = {});

// Computes the SHA-256 of the graph buffer that write_graph would write.
Result<Digest> structure_digest(Module& module);

}  // namespace sluice
