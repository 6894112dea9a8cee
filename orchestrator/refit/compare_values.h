// Compares the values that the tasks of two equal parts read and write. Internal to
// compare_models.cc.
#pragma once

#include <string>
#include <vector>

#include "common/omfile/om_names.h"
#include "model.pb.h"

namespace sluice {

// Returns whether types are equal, with the names and bounds of open dims.
bool same_type(const pb::ModelDef& base_model, uint32_t base, const pb::ModelDef& made_model,
               uint32_t made);

// Pairs the values of two parts as tasks name them. A value that is no constant is always paired
// with the same one; a constant with any, since equal ones are one value.
class ValueComparison {
 public:
  ValueComparison(const pb::ModelDef& base_model, const pb::FixedPart& base,
                  const pb::ModelDef& made_model, const pb::FixedPart& made);

  // Returns the first difference of the operands of task t, of which both parts have equally many:
  // "'y' is f32 1x20, expected f32 1x10".
  std::string compare_operands(int t);
  // Returns whether values lie within others, or show them, otherwise. Must run after all operands.
  std::string compare_pieces();

 private:
  std::string compare(uint32_t base, uint32_t made);
  bool are_paired(uint32_t base, uint32_t made);
  bool is_same_storage(int base, int made) const;
  bool is_same_capacity(int base, int made) const;

  const pb::ModelDef& base_model_;
  const pb::FixedPart& base_;
  const pb::ModelDef& made_model_;
  const pb::FixedPart& made_;
  const ValueNames made_names_;
  std::vector<uint32_t> made_of_, base_of_;  // by value; kNoValue: not paired
};

}  // namespace sluice
