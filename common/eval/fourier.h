// Discrete Fourier transforms of any length.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::eval {

struct Complex {
  double re = 0;
  double im = 0;
};

// The transform of one length: X[k] = sum of x[i] e^(-2 pi i k / n) over i. A power of two is
// computed by Cooley and Tukey's algorithm (Math. Comp. 19, 1965), another length as a convolution
// with a chirp (Bluestein, 1970): both take n log n steps.
class FourierTransform {
 public:
  explicit FourierTransform(int64_t length);  // at least 1
  // Replaces `line`, of this length, by its transform; inverse: by that of the inverse, divided by
  // the length.
  void run(std::vector<Complex>& line, bool inverse) const;

 private:
  void forward(std::vector<Complex>& line) const;
  void convolve(std::vector<Complex>& line) const;

  int64_t length_;
  int64_t padded_;               // a power of two: the length, or at least that of the convolution
  std::vector<Complex> roots_;   // e^(-2 pi i k / padded), k below padded / 2
  std::vector<Complex> chirp_;   // e^(-pi i k^2 / length); empty for a power of two
  std::vector<Complex> filter_;  // the transform of the chirp's conjugate
};

}  // namespace sluice::eval
