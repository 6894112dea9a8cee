// Tests the walks of recurrent cells at many sizes and numbers of blocks, against double precision.
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"
#include "stages/subgraph-optimize/codegen/testing/reference_recurrent.h"

namespace sluice {
namespace {

constexpr float kUntouched = 12345;

RecurrentCell make_cell(CellKind kind, int64_t hidden, int64_t directions = 1) {
  const CellActivation sigmoid{ActivationKind::kSigmoid}, tanh{ActivationKind::kTanh};
  RecurrentCell cell;
  cell.kind = kind;
  cell.hidden = hidden;
  cell.directions = directions;
  const std::vector<CellActivation> usual = kind == CellKind::kRnn ? std::vector{tanh}
                                            : kind == CellKind::kGru
                                                ? std::vector{sigmoid, tanh}
                                                : std::vector{sigmoid, tanh, tanh};
  cell.activations.assign(static_cast<size_t>(directions), usual);
  return cell;
}

class Recurrent : public KernelTest {
 protected:
  Recurrent() : KernelTest(29) {}

  static RecurrentSpec make_spec(const RecurrentCell& cell, const Extent& steps,
                                 const Extent& batch) {
    RecurrentSpec spec;
    spec.cell = cell;
    spec.steps = steps;
    spec.batch = batch;
    spec.has_y = spec.has_y_h = true;
    spec.has_y_c = cell.kind == CellKind::kLstm;
    return spec;
  }

  RecurrentOperands draw_operands(const RecurrentSpec& spec, int64_t steps, int64_t batch) {
    const RecurrentCell& cell = spec.cell;
    const auto floats = [&](bool exists, int64_t count) {
      return exists ? random_floats(static_cast<size_t>(count), random_, spec.dtype)
                    : std::vector<float>();
    };
    RecurrentOperands in;
    in.steps = steps;
    in.batch = batch;
    const int64_t states = cell.directions * batch * cell.hidden;
    in.products = floats(true, steps * batch * cell.columns());
    in.r = floats(true, cell.columns() * cell.hidden);
    for (float& number : in.r) number /= static_cast<float>(std::sqrt(cell.hidden));
    in.r = numbers_of(elements_of(in.r, spec.dtype), spec.dtype);
    in.bias = floats(spec.has_bias, 2 * cell.columns());
    in.h = floats(spec.has_h, states);
    in.c = floats(spec.has_c, states);
    in.peepholes = floats(spec.has_peepholes, cell.directions * 3 * cell.hidden);
    for (int64_t row = 0; spec.has_lengths && row < batch; ++row)
      in.lengths.push_back(static_cast<int32_t>(draw(-1, steps + 1)));
    return in;
  }

  std::vector<float> packed(const RecurrentSpec& spec, const std::vector<float>& r) const {
    const int64_t hidden = spec.cell.hidden;
    const auto plan = choose_recurrent_plan(spec, profile_);
    return reference_pack({{{spec.cell.directions * spec.cell.gates(), hidden * hidden}},
                           {{hidden, 1}},
                           {hidden, hidden},
                           plan->nr},
                          r.data());
  }

  // Generates the kernel and runs it at sizes (steps, batch).
  void check(const RecurrentSpec& spec, const std::vector<std::pair<int64_t, int64_t>>& sizes) {
    if (is_left_out()) return;
    SCOPED_TRACE(canonical_text(spec));
    const auto kernel = generate_recurrent(spec, profile_);
    ASSERT_TRUE(kernel.ok()) << error_text(kernel.error());
    EXPECT_LE(kernel->scratch_bytes, static_cast<uint64_t>(profile_.scratch_limit));
    auto runnable = RunnableKernel::load(*kernel);
    ASSERT_TRUE(runnable.ok()) << error_text(runnable.error());
    if (!is_runnable_) return;
    for (const auto& [steps, batch] : sizes) run(*runnable, spec, steps, batch);
  }

  void check_fixed(
      const RecurrentCell& cell, int64_t steps, int64_t batch,
      const std::function<void(RecurrentSpec&)>& change = [](RecurrentSpec&) {}) {
    RecurrentSpec spec = make_spec(cell, steps, batch);
    change(spec);
    check(spec, {{steps, batch}});
  }

  void run(RunnableKernel& kernel, const RecurrentSpec& spec, int64_t steps, int64_t batch) {
    SCOPED_TRACE(testing::PrintToString(std::pair(steps, batch)));
    RecurrentOperands in = draw_operands(spec, steps, batch);
    std::vector<std::byte> r = elements_of(packed(spec, in.r), spec.dtype);
    std::vector<std::vector<std::byte>> operands;  // bias, h, c and peepholes
    for (const std::vector<float>* operand : {&in.bias, &in.h, &in.c, &in.peepholes})
      operands.push_back(elements_of(*operand, spec.dtype));
    const RecurrentResults expected = reference_recurrent(spec, in);
    const bool is_fixed = spec.steps.is_fixed() && spec.batch.is_fixed();
    std::vector<std::vector<std::byte>> first;
    for (const uint32_t blocks :
         is_fixed ? std::vector<uint32_t>{0} : std::vector<uint32_t>{1, 2, 7, 0}) {
      std::vector<std::vector<std::byte>> results;
      for (const auto& [exists, wanted] :
           {std::pair(spec.has_y, &expected.y), std::pair(spec.has_y_h, &expected.y_h),
            std::pair(spec.has_y_c, &expected.y_c)})
        if (exists) results.push_back(untouched(wanted->size() + 2 * kGuardElements, spec.dtype));
      std::vector<void*> pointers;
      for (std::vector<std::byte>& result : results)
        pointers.push_back(result.data() + kGuardElements * (spec.dtype == DType::kF32 ? 4 : 2));
      pointers.insert(pointers.end(), {in.products.data(), r.data()});
      if (spec.has_bias) pointers.push_back(operands[0].data());
      if (spec.has_lengths) pointers.push_back(in.lengths.data());
      for (size_t i = 1; i < operands.size(); ++i)
        if (!operands[i].empty()) pointers.push_back(operands[i].data());
      is_fixed ? kernel.run(pointers) : kernel.run(pointers, {steps, batch}, blocks);
      if (first.empty()) compare(spec, results, expected);
      if (first.empty()) first = results;
      ASSERT_EQ(results, first) << blocks << " blocks";
    }
  }

  static std::vector<std::byte> untouched(size_t count, DType dtype) {
    return elements_of(std::vector<float>(count, kUntouched), dtype);
  }

  static void compare(const RecurrentSpec& spec, const std::vector<std::vector<std::byte>>& results,
                      const RecurrentResults& expected) {
    size_t next = 0;
    const auto compare_next = [&](const std::vector<double>& wanted) {
      compare(numbers_of(results[next++], spec.dtype), wanted, spec.dtype);
    };
    if (spec.has_y) compare_next(expected.y);
    if (spec.has_y_h) compare_next(expected.y_h);
    if (spec.has_y_c) compare_next(expected.y_c);
  }

  // Results in 16 bits are rounded once.
  static void compare(const std::vector<float>& found, const std::vector<double>& expected,
                      DType dtype) {
    const float outside = numbers_of(untouched(1, dtype), dtype)[0];
    for (size_t i = 0; i < found.size(); ++i) {
      if (i < kGuardElements || i >= kGuardElements + expected.size()) {
        ASSERT_EQ(found[i], outside) << "outside, " << i;
        continue;
      }
      const double wanted = expected[i - kGuardElements];
      const double bound = 3e-5 * std::max(1.0, std::fabs(wanted));
      ASSERT_NEAR(found[i], wanted, bound + rounding_error(dtype) * std::fabs(wanted))
          << "element " << i - kGuardElements;
    }
  }
};

TEST_P(Recurrent, CellsOfAllSizes) {
  for (const CellKind kind : {CellKind::kRnn, CellKind::kGru, CellKind::kLstm}) {
    for (const int64_t hidden : {1, 7, 16, 37, 96}) {
      check_fixed(make_cell(kind, hidden), 5, 1);
      check_fixed(make_cell(kind, hidden, 2), 4, 1 + hidden % 5);
    }
  }
}

TEST_P(Recurrent, LinearBeforeReset) {
  for (const int64_t hidden : {3, 40}) {
    RecurrentCell cell = make_cell(CellKind::kGru, hidden, 2);
    cell.linear_before_reset = true;
    for (const bool has_bias : {false, true})
      check_fixed(cell, 3, 2, [&](RecurrentSpec& spec) { spec.has_bias = has_bias; });
  }
}

TEST_P(Recurrent, LstmWithEverything) {
  for (const bool input_forget : {false, true}) {
    RecurrentCell cell = make_cell(CellKind::kLstm, 21, 2);
    cell.input_forget = input_forget;
    cell.clip = 0.5f;
    check_fixed(cell, 4, 3, [](RecurrentSpec& spec) {
      spec.has_bias = spec.has_lengths = spec.has_h = spec.has_c = spec.has_peepholes = true;
    });
  }
}

TEST_P(Recurrent, BatchFirstAndReverse) {
  for (const CellKind kind : {CellKind::kRnn, CellKind::kGru, CellKind::kLstm}) {
    RecurrentCell cell = make_cell(kind, 18);
    cell.is_batch_first = true;
    cell.is_reverse = true;
    check_fixed(cell, 6, 4, [](RecurrentSpec& spec) { spec.has_lengths = spec.has_h = true; });
    cell = make_cell(kind, 18, 2);
    cell.is_batch_first = true;
    check_fixed(cell, 3, 2, [](RecurrentSpec& spec) { spec.has_h = true; });
  }
}

TEST_P(Recurrent, ResultsThatAreAbsent) {
  for (const int only : {0, 1, 2}) {
    check_fixed(make_cell(CellKind::kLstm, 20), 4, 2, [&](RecurrentSpec& spec) {
      spec.has_lengths = true;
      spec.has_y = only == 0;
      spec.has_y_h = only == 1;
      spec.has_y_c = only == 2;
    });
  }
}

TEST_P(Recurrent, Activations) {
  const CellActivation all[] = {{ActivationKind::kAffine, 0.5f, 0.1f},
                                {ActivationKind::kElu, 0.7f},
                                {ActivationKind::kHardSigmoid, 0.3f, 0.4f},
                                {ActivationKind::kLeakyRelu, 0.2f},
                                {ActivationKind::kRelu},
                                {ActivationKind::kScaledTanh, 0.8f, 1.2f},
                                {ActivationKind::kSigmoid},
                                {ActivationKind::kSoftplus},
                                {ActivationKind::kSoftsign},
                                {ActivationKind::kTanh},
                                {ActivationKind::kThresholdedRelu, 0.1f}};
  for (const CellActivation& activation : all) {
    RecurrentCell cell = make_cell(CellKind::kRnn, 19, 2);
    cell.activations[1][0] = activation;
    check_fixed(cell, 3, 2);
  }
}

TEST_P(Recurrent, SymbolicSizes) {
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1}, {7, 1}, {3, 2},  {2, 3}, {3, 4},
                                                          {5, 5}, {4, 8}, {2, 29}, {0, 3}, {3, 0}};
  for (const CellKind kind : {CellKind::kRnn, CellKind::kGru, CellKind::kLstm}) {
    for (const bool has_lengths : {false, true}) {
      RecurrentSpec spec =
          make_spec(make_cell(kind, 27, 2), Extent::of_symbol(0, 16), Extent::of_symbol(1, 4));
      spec.has_lengths = has_lengths;
      spec.has_h = true;
      spec.cell.is_batch_first = has_lengths;
      check(spec, sizes);
    }
  }
}

TEST_P(Recurrent, Halves) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const CellKind kind : {CellKind::kRnn, CellKind::kGru, CellKind::kLstm}) {
      for (const int64_t hidden : {7, 40}) {
        check_fixed(make_cell(kind, hidden), 5, 1,
                    [&](RecurrentSpec& spec) { spec.dtype = dtype; });
        check_fixed(make_cell(kind, hidden, 2), 4, 1 + hidden % 5, [&](RecurrentSpec& spec) {
          spec.dtype = dtype;
          spec.has_bias = spec.has_h = true;
          spec.has_lengths = hidden > 7;
          spec.has_c = spec.has_peepholes = kind == CellKind::kLstm;
        });
      }
      RecurrentSpec spec =
          make_spec(make_cell(kind, 27, 2), Extent::of_symbol(0, 16), Extent::of_symbol(1, 4));
      spec.dtype = dtype;
      spec.has_lengths = true;
      check(spec, {{7, 1}, {3, 2}, {5, 5}, {0, 3}});
    }
  }
}

TEST_P(Recurrent, GroupsOfManySequences) {
  check_fixed(make_cell(CellKind::kLstm, 384), 2, 40);
  check_fixed(make_cell(CellKind::kGru, 24), 3, 100);
}

TEST_P(Recurrent, StatesBeyondScratchAreAnError) {
  profile_.scratch_limit = 1024;
  const auto kernel =
      generate_recurrent(make_spec(make_cell(CellKind::kLstm, 512), 2, 1), profile_);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kNotLowerable);
}

TEST(RecurrentPlan, GroupsFitTheScratch) {
  for (const std::string& name : cpu_profiles()) {
    const DeviceProfile profile = *get_profile(name);
    for (const int64_t hidden : {8, 512, 4096, 40000}) {
      RecurrentSpec spec;
      spec.cell = make_cell(CellKind::kLstm, hidden);
      spec.batch = 1000;
      const auto plan = choose_recurrent_plan(spec, profile);
      ASSERT_TRUE(plan.ok()) << name << ", " << hidden << " units";
      EXPECT_LE(plan->scratch.size * 4, profile.scratch_limit);
      EXPECT_GE(plan->group, plan->rows);
    }
  }
}

// Code for machines that this one is not is generated as well.
TEST(RecurrentPlan, EveryProfileHasCode) {
  for (const std::string& name : cpu_profiles()) {
    RecurrentSpec spec;
    spec.cell = make_cell(CellKind::kLstm, 50);
    spec.has_y = spec.has_lengths = true;
    spec.batch = 3;
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      spec.dtype = dtype;
      EXPECT_TRUE(generate_recurrent(spec, *get_profile(name)).ok()) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Recurrent, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
