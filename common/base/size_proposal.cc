#include "common/base/size_proposal.h"

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/shell_word.h"

namespace sluice {
namespace {

bool read_dims(const Json* json, std::vector<std::string>& dims) {
  if (json == nullptr || json->as_array() == nullptr) return false;
  for (const Json& dim : *json->as_array()) {
    if (dim.as_string() == nullptr) return false;
    dims.push_back(*dim.as_string());
  }
  return true;
}

}  // namespace

Result<void> write_proposal(const SizeProposal& proposal, const std::string& path) {
  Json json;
  json.set("dims", Json::Array(proposal.dims.begin(), proposal.dims.end()));
  json.set("tries", static_cast<uint64_t>(proposal.tries));
  json.set("failure", proposal.failure);
  return write_text(path, json_dump(json) + "\n");
}

Result<SizeProposal> read_proposal(const std::string& path) {
  SLUICE_ASSIGN(const std::string text, read_text(path));
  SLUICE_ASSIGN(const Json json, json_parse(text));
  const Json *tries = json.find("tries"), *failure = json.find("failure");
  const bool has_both = tries != nullptr && tries->as_int() != nullptr && failure != nullptr &&
                        failure->as_string() != nullptr;
  SizeProposal proposal;
  if (!has_both || *tries->as_int() < 0 || !read_dims(json.find("dims"), proposal.dims)) {
    return make_error(ErrorCode::kBadFile,
                      "'{}' holds no sizes as sluice-preprocess --propose-sizes writes them", path);
  }
  proposal.tries = static_cast<size_t>(*tries->as_int());
  proposal.failure = *failure->as_string();
  return proposal;
}

std::string dim_options(const SizeProposal& proposal) {
  std::string options;
  for (const std::string& dim : proposal.dims)
    options += (options.empty() ? "--dim " : " --dim ") + shell_word(dim);
  return options;
}

}  // namespace sluice
