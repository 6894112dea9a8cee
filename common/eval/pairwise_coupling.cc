// The probabilities of classes whose pairs were compared, as libsvm and ONNX Runtime compute them
// (Wu, Lin and Weng 2004, the second method): those p for which the sum over all pairs of
// (r[j, i] p[i] - r[i, j] p[j])^2 is least, r[i, j] being that of i when it is i or j.
//
//   Q[i, i] = sum over j of r[j, i]^2     Q[i, j] = -r[j, i] r[i, j]
//   repeat: for each i: the best p[i] while the others are kept, then all are scaled to the sum 1
//
// until no element of Q p is farther than 0.005 / C from p Q p. The numbers where it ends are the
// result, so they are computed in f32 in the same order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/eval/kernels.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

constexpr int kMaxRounds = 100;

class Coupling {
 public:
  explicit Coupling(size_t classes) : classes_(classes), q_(classes * classes), qp_(classes) {}

  // pairs: the probability of i for each i < j.
  void run(const float* pairs, float* p) {
    fill_matrix(pairs);
    std::fill_n(p, classes_, 1 / static_cast<float>(classes_));
    for (int round = 0; round < kMaxRounds && !is_done(p); ++round)
      for (size_t i = 0; i < classes_; ++i) improve(p, i);
  }

 private:
  float& q(size_t i, size_t j) { return q_[i * classes_ + j]; }

  void fill_matrix(const float* pairs) {
    std::ranges::fill(q_, 0.0F);
    for (size_t i = 0; i < classes_; ++i) {
      for (size_t j = i + 1; j < classes_; ++j) {
        const float first = *pairs++, second = 1 - first;
        q(i, i) += second * second;
        q(j, j) += first * first;
        q(i, j) = q(j, i) = -second * first;
      }
    }
  }

  bool is_done(const float* p) {
    pqp_ = 0;
    for (size_t i = 0; i < classes_; ++i) {
      qp_[i] = 0;
      for (size_t j = 0; j < classes_; ++j) qp_[i] += q(i, j) * p[j];
      pqp_ += p[i] * qp_[i];
    }
    float farthest = 0;
    for (const float each : qp_) farthest = std::max(farthest, std::abs(each - pqp_));
    return farthest < 0.005F / static_cast<float>(classes_);
  }

  void improve(float* p, size_t i) {
    const float step = (pqp_ - qp_[i]) / q(i, i), scale = 1 + step;
    p[i] += step;
    pqp_ = (pqp_ + step * (step * q(i, i) + 2 * qp_[i])) / scale / scale;
    for (size_t j = 0; j < classes_; ++j) {
      qp_[j] = (qp_[j] + step * q(i, j)) / scale;
      p[j] /= scale;
    }
  }

  size_t classes_;
  std::vector<float> q_, qp_;
  float pqp_ = 0;
};

}  // namespace

Result<void> eval_pairwise_coupling(EvalCall& call) {
  const Input& x = call.input(0);
  const int64_t classes = call.node.get(attributes::PairwiseCoupling::classes);
  if (x.dtype != DType::kF32) return call.unsupported(x.logical);
  if (x.rank() != 2 || classes < 2 || x.dims[1] != classes * (classes - 1) / 2)
    return call.bad_shape("{} holds no pairs of {} classes", dims_text(x.dims), classes);
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kF32, {x.dims[0], classes}));
  Coupling coupling(static_cast<size_t>(classes));
  for (int64_t row = 0; row < x.dims[0]; ++row)
    coupling.run(x.as<float>() + row * x.dims[1], y.as<float>() + row * classes);
  return {};
}

}  // namespace sluice::eval
