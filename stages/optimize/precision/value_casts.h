// The dtypes in which the values of a graph exist while its nodes get other ones.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// A value is in the dtype in which its producer makes it; a Cast makes it in another, once for all
// readers. The tensor that the model has keeps its name: a value in another dtype beside it has the
// dtype in its name, "y:f16".
class ValueCasts {
 public:
  explicit ValueCasts(Graph& graph) : graph_(graph) {}

  // Returns the dtype that the value has in the model.
  DType original(const Value& value) const;
  // Makes it a value of another dtype, which its producer makes from now on.
  void retype(Value& value, DType dtype);
  // Returns the value in the dtype when that needs no conversion: as it is, or what a Cast of the
  // model widened to it. Otherwise null.
  Value* find(Value& value, DType dtype) const;
  // Returns the value in the dtype, through a Cast where it must. Errors: those of reading a
  // constant.
  Result<Value*> get(Value& value, DType dtype);

 private:
  Value& add_cast(Value& value, DType dtype);
  void give_names(Value& value, Value& cast);

  Graph& graph_;
  std::map<int32_t, DType> originals_;        // by id, of values with another dtype now
  std::map<int32_t, std::string> old_names_;  // by id, of those that gave it to a Cast
  std::map<std::pair<int32_t, DType>, Value*> made_;
};

}  // namespace sluice
