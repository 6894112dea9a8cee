// Why two results of a store are two: by what their keys differ, followed from stage to stage up to
// the first that differs by itself.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "orchestrator/store/content.h"
#include "orchestrator/store/differences.h"

namespace sluice {

struct StageDifference {
  std::string kind;
  Digest keys[2];
  std::vector<FieldDifference> differences;
};

struct Explanation {
  enum class End {
    kEqual,     // it is one key
    kKinds,     // the keys are of different kinds, which is all that there is to say
    kItself,    // the last stage below has the same input
    kImported,  // the inputs of the last stage come from sluice-preprocess, which has no records
    kLost       // the record of an input has been deleted
  };
  End end = End::kEqual;
  std::vector<StageDifference> stages;  // from that of the keys towards the model
  std::string kinds[2];                 // of kKinds
  Digest inputs[2];                     // file digests of graphs, of kImported and kLost
  // Whether the graphs that the last stage made differ only in names; unknown without them.
  std::optional<bool> have_equal_structure;
};

// a, b: keys, the first digits of keys, or files (find_record.h). Errors: those of read_content and
// of find_key.
Result<Explanation> explain(const std::string& store, const std::string& a, const std::string& b);

std::string explanation_text(const Explanation& explanation);
std::string explanation_json(const Explanation& explanation);

}  // namespace sluice
