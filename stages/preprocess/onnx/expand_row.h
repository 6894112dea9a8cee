// Operators of other domains than ONNX's own are replaced by canonical nodes at import: one row of
// a domain's table and one file for each.
#pragma once

#include <span>
#include <string_view>

#include "common/ops/op_table.h"
#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

struct ExpandRow {
  std::string_view name;
  // Names in order; '?' after a name: may be absent; a name "...": any number of further ones.
  std::string_view inputs;
  std::string_view outputs;  // in the same form
  std::span<const AttributeRow> attributes;
  Result<void> (*expand)(ExpandCall& call);
  bool also_plain = false;  // exporters also write it without a domain
};

// Checks inputs, outputs and attributes against the row, then fills call.results. A form that a row
// cannot express is one error (kUnsupportedOp or kBadModel) that names node and form.
Result<void> expand_node(ExpandCall& call, const ExpandRow& row);

}  // namespace sluice
