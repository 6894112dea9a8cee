// Writes the model that sluice_test.py runs: y = x, f32 2x3.
#include "common/omfile/testing/model_builder.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sluice::testing::ModelBuilder b;
  const uint32_t type = b.type(sluice::DType::kF32, {2, 3});
  const uint32_t x = b.input("x", type);
  const uint32_t y = b.output("y", type);
  b.copy("copy", b.stream("s"), y, x);
  return sluice::write_om(argv[1], b.model, {}) ? 0 : 3;
}
