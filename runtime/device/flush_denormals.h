// Makes the calling thread treat subnormal floats as zero, as operands and as results, while in
// scope (bits FTZ and DAZ of MXCSR; Intel SDM volume 1, 11.6.3). Generated kernels run so; host
// code never does.
#pragma once

#include <xmmintrin.h>

namespace sluice {

class FlushDenormals {
 public:
  explicit FlushDenormals(bool on) : saved_(_mm_getcsr()), on_(on) {
    if (on_) _mm_setcsr(saved_ | 0x8040u);
  }
  ~FlushDenormals() {
    if (on_) _mm_setcsr(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
  bool on_;
};

}  // namespace sluice
