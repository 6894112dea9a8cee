#include "orchestrator/conformance/engines.h"

#include <climits>
#include <cstring>

#include "common/base/files.h"
#include "common/omfile/om_format.h"
#include "model.pb.h"

namespace sluice {
namespace {

Result<pb::ModelDef> read_model_def(const std::string& path) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  OmHeader header{};
  if (bytes.size() >= sizeof(header)) std::memcpy(&header, bytes.data(), sizeof(header));
  const bool fits =
      std::memcmp(header.magic, kOmMagic, sizeof(kOmMagic)) == 0 &&
      header.model_offset <= bytes.size() &&
      header.model_bytes <= std::min<uint64_t>(bytes.size() - header.model_offset, INT_MAX);
  pb::ModelDef model;
  if (!fits || !model.ParseFromArray(bytes.data() + header.model_offset,
                                     static_cast<int>(header.model_bytes))) {
    return Error{ErrorCode::kBadCompiledModel, "the file is no compiled model", {}, path};
  }
  return model;
}

void add(std::map<std::string, std::string>& map, const std::string& node,
         const std::string& text) {
  std::string& entry = map[node];
  if (("+" + entry + "+").find("+" + text + "+") != std::string::npos) return;
  entry += (entry.empty() ? "" : "+") + text;
}

}  // namespace

Result<void> read_engines(const std::string& path, CaseResult& result) {
  SLUICE_ASSIGN(const pb::ModelDef model, read_model_def(path));
  auto text_of = [](const auto& texts, uint32_t index) {
    return index < static_cast<uint32_t>(texts.size()) ? texts[static_cast<int>(index)] : "";
  };
  pb::NodeNamesDef nodes;
  if (!nodes.ParseFromString(model.node_names()))
    return Error{ErrorCode::kBadCompiledModel, "the names of its nodes are damaged", {}, path};
  for (int i = 0; i < nodes.name_size() && i < model.node_engine_size(); ++i) {
    std::vector<std::string> names = {nodes.name(i)};
    if (i < nodes.origins_size() && nodes.origins(i).onnx_nodes_size() > 0) {
      names.assign(nodes.origins(i).onnx_nodes().begin(), nodes.origins(i).onnx_nodes().end());
    }
    for (const std::string& name : names) {
      add(result.engines, name, text_of(model.engines(), model.node_engine(i)));
      if (i < model.node_op_size()) add(result.ops, name, text_of(model.ops(), model.node_op(i)));
    }
  }
  return {};
}

}  // namespace sluice
