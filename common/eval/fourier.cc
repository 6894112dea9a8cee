#include "common/eval/fourier.h"

#include <bit>
#include <numbers>
#include <utility>

#include "common/eval/math64.h"

namespace sluice::eval {
namespace {

Complex multiplied(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex conjugate(const Complex& a) { return {a.re, -a.im}; }

// Returns e^(-2 pi i k / n).
Complex root(int64_t k, int64_t n) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {math::cos(angle), -math::sin(angle)};
}

// Puts the elements in the order of their indices' reversed bits.
void reverse_bits(std::vector<Complex>& line) {
  for (size_t i = 1, j = 0; i < line.size(); ++i) {
    size_t bit = line.size() >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(line[i], line[j]);
  }
}

// Transforms a line whose length is a power of two.
void transform(std::vector<Complex>& line, const std::vector<Complex>& roots) {
  reverse_bits(line);
  const size_t n = line.size();
  for (size_t half = 1; half < n; half *= 2) {
    const size_t stride = n / (2 * half);
    for (size_t first = 0; first < n; first += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        Complex& low = line[first + k];
        Complex& high = line[first + k + half];
        const Complex turned = multiplied(high, roots[k * stride]);
        high = {low.re - turned.re, low.im - turned.im};
        low = {low.re + turned.re, low.im + turned.im};
      }
    }
  }
}

}  // namespace

FourierTransform::FourierTransform(int64_t length) : length_(length) {
  const auto n = static_cast<uint64_t>(length);
  const bool is_power = std::has_single_bit(n);
  padded_ = static_cast<int64_t>(std::bit_ceil(is_power ? n : 2 * n - 1));
  for (int64_t k = 0; k < (padded_ + 1) / 2; ++k) roots_.push_back(root(k, padded_));
  if (is_power) return;
  filter_.resize(static_cast<size_t>(padded_));
  for (int64_t k = 0; k < length; ++k) {
    // k^2 modulo 2 n keeps the angle exact for long lines.
    chirp_.push_back(root(static_cast<int64_t>(static_cast<unsigned __int128>(k) *
                                               static_cast<uint64_t>(k) % (2 * n)),
                          2 * length));
    filter_[static_cast<size_t>(k)] = conjugate(chirp_.back());
    if (k > 0) filter_[static_cast<size_t>(padded_ - k)] = conjugate(chirp_.back());
  }
  transform(filter_, roots_);
}

// X[k] = chirp[k] * sum of (x[i] chirp[i]) * conjugate(chirp[k - i]) over i.
void FourierTransform::convolve(std::vector<Complex>& line) const {
  std::vector<Complex> wide(static_cast<size_t>(padded_));
  for (size_t i = 0; i < line.size(); ++i) wide[i] = multiplied(line[i], chirp_[i]);
  transform(wide, roots_);
  // The inverse of a transform is the conjugate of the conjugate's, divided by the length.
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = conjugate(multiplied(wide[i], filter_[i]));
  transform(wide, roots_);
  const double scale = 1 / static_cast<double>(padded_);
  for (size_t k = 0; k < line.size(); ++k) {
    line[k] = multiplied(conjugate(wide[k]), chirp_[k]);
    line[k] = {line[k].re * scale, line[k].im * scale};
  }
}

void FourierTransform::forward(std::vector<Complex>& line) const {
  chirp_.empty() ? transform(line, roots_) : convolve(line);
}

void FourierTransform::run(std::vector<Complex>& line, bool inverse) const {
  if (!inverse) return forward(line);
  for (Complex& value : line) value.im = -value.im;
  forward(line);
  const double scale = 1 / static_cast<double>(length_);
  for (Complex& value : line) value = {value.re * scale, -value.im * scale};
}

}  // namespace sluice::eval
