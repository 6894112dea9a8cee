// What a model does that ONNX does not allow and that is taken all the same: collected, so that it
// can be told in few lines, or refused.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class Leniency : uint8_t {
  kDefinedTwice,
  kFailingBranch,
  kFeatureRank,
  kMissingImport,
  kUnknownAttribute,
  kWideScale,
};

class Warnings {
 public:
  static constexpr size_t kMaxOfAKind = 10;  // that are kept; of the others there is a number

  void add(Leniency leniency, std::string text);
  bool empty() const;
  // Kind by kind in the order of their coming; "and 90 more unknown attributes" ends a kind of
  // which not all are kept.
  std::vector<std::string> lines() const;

 private:
  struct Kind {
    std::vector<std::string> kept;
    size_t count = 0;
  };
  std::array<Kind, 6> kinds_;
};

}  // namespace sluice
