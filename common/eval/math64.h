// Transcendental functions of float64 with the same bits on every x86-64 processor. glibc chooses
// between versions with and without fused multiply-add when a program starts, and their last bits
// differ. These functions use only additions, multiplications and divisions of 80-bit floats, which
// IEEE 754 defines exactly, and round once at the end. Series and argument reductions are the
// textbook ones (Abramowitz and Stegun, chapters 4 and 7).
#pragma once

#include <cmath>

namespace sluice::eval::math {

double exp(double x);
double expm1(double x);
double log(double x);
double log1p(double x);
double pow(double x, double y);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double tanh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);
double erf(double x);

// Functions of float32 are those of libm.
inline float exp(float x) { return std::exp(x); }
inline float expm1(float x) { return std::expm1(x); }
inline float log(float x) { return std::log(x); }
inline float log1p(float x) { return std::log1p(x); }
inline float pow(float x, float y) { return std::pow(x, y); }
inline float sin(float x) { return std::sin(x); }
inline float cos(float x) { return std::cos(x); }
inline float tan(float x) { return std::tan(x); }
inline float asin(float x) { return std::asin(x); }
inline float acos(float x) { return std::acos(x); }
inline float atan(float x) { return std::atan(x); }
inline float sinh(float x) { return std::sinh(x); }
inline float cosh(float x) { return std::cosh(x); }
inline float tanh(float x) { return std::tanh(x); }
inline float asinh(float x) { return std::asinh(x); }
inline float acosh(float x) { return std::acosh(x); }
inline float atanh(float x) { return std::atanh(x); }
inline float erf(float x) { return std::erf(x); }

}  // namespace sluice::eval::math
