// By what two keys differ, in plain words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/store/record.h"

namespace sluice {

struct FieldDifference {
  std::string field;                    // as in the record: "option.math"
  std::optional<std::string> value[2];  // as in the records; none where the field is missing
  std::string text;                     // "option --math: default, high_precision"
};

// Returns the fields of two records of one kind that differ, in the order of the records.
std::vector<FieldDifference> differences_of(const Record& a, const Record& b);

}  // namespace sluice
