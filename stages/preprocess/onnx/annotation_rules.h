// --annotate RULES.json: annotations for the nodes that globs select.
//
//   [{"node": "/encoder/*", "set": {"stream_label": "left"}},
//    {"op": "Softmax", "scope": "decoder.layers.?", "set": {"engine": "host_cpu", "keep": true}}]
//
// A rule applies to the nodes that match all its conditions: `node` the node's name, `op` its ONNX
// operator type, `scope` the exporter's scope: the metadata "namespace", otherwise the node's name
// without its last part. In a glob '*' stands for any text, '/' included, '?' for one character. Of
// two rules that set the same annotation the later one wins; rules win over the node's metadata.
// node's metadata.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/digest.h"
#include "common/base/json.h"
#include "common/base/result.h"
#include "common/ir/placement.h"
#include "onnx.pb.h"

namespace sluice {

class AnnotationRules {
 public:
  // Reads the rules of a file. Returns kNotFound or kBadJson, naming the rule. An empty path means
  // no rules.
  static Result<AnnotationRules> read(const std::string& path);
  // Parses the content of such a file.
  static Result<AnnotationRules> parse(std::string_view text);

  void apply(const onnx::NodeProto& node, Placement& placement);
  // Returns one line for each rule that matched no node; of very many, the first ones and their
  // number.
  std::vector<std::string> unmatched() const;
  const Digest& digest() const { return digest_; }  // of the file; zero without one

 private:
  struct Rule {
    std::string node, op, scope;  // globs; empty: any
    std::vector<std::pair<std::string, std::string>> set;
    bool matched = false;
  };
  static Result<Rule> parse_rule(const Json& row);
  std::vector<Rule> rules_;
  Digest digest_;
};

}  // namespace sluice
