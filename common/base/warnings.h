// The ways in which a model breaks ONNX's rules and is accepted all the same, collected so that
// they can be reported in few lines or rejected.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class Leniency : uint8_t {
  kAbsentPieces,
  kActivationCase,
  kCoefficients,
  kDeclaredType,
  kDefinedTwice,
  kFailingBranch,
  kFeatureRank,
  kImportedTwice,
  kMissingImport,
  kNoAxes,
  kNoLength,
  kUnknownAttribute,
  kWideScale,
};

class Warnings {
 public:
  static constexpr size_t kMaxOfAKind = 10;  // are stored; the others are only counted

  void add(Leniency leniency, std::string text);
  bool empty() const;
  // Returns the warnings kind by kind in the order of their first occurrence. A line like "and 90
  // more unknown attributes" ends a kind of which not all are stored.
  std::vector<std::string> lines() const;

 private:
  struct Kind {
    std::vector<std::string> kept;
    size_t count = 0;
  };
  std::array<Kind, 13> kinds_;
};

}  // namespace sluice
