#include "stages/subgraph-optimize/codegen/attention/attention.h"

#include <cmath>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/attention/attention_rows.h"
#include "stages/subgraph-optimize/codegen/attention/attention_steps.h"
#include "stages/subgraph-optimize/codegen/dtype_text.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"

namespace sluice {
namespace {

using llvm::Value;

Result<void> check(const AttentionSpec& spec) {
  if (spec.kv_heads < 1 || spec.heads < 1 || spec.heads % spec.kv_heads != 0 || spec.key_size < 1 ||
      spec.value_size < 1)
    return make_error(ErrorCode::kCodegen, "attention of {} heads of {} and {}, {} of keys",
                      spec.heads, spec.key_size, spec.value_size, spec.kv_heads);
  for (const DType dtype :
       {spec.q.dtype, spec.k.dtype, spec.v.dtype, spec.y.dtype, spec.mask.dtype}) {
    if (!is_operand_dtype(dtype))
      return make_error(ErrorCode::kCodegen, "attention of {}", dtype_name(dtype));
  }
  return {};
}

// The functions for tasks of many rows, or of few.
struct StepFunctions {
  llvm::Function *scores = nullptr, *mask = nullptr, *softmax = nullptr, *values = nullptr;
};

class AttentionEmitter {
 public:
  AttentionEmitter(const AttentionSpec& spec, const DeviceProfile& profile)
      : spec_(spec), b_(profile), plan_(choose_attention_plan(spec, profile)) {}

  Result<GeneratedKernel> emit() {
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    emit_steps();
    b_.begin_kernel(entry);
    b_.set_symbols(b_.symbols_argument());
    scratch_ = b_.scratch();
    emit_tasks();
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = true}));
    kernel.cycles = plan_.cycles;
    kernel.blocks = plan_.blocks;
    kernel.scratch_bytes = static_cast<uint64_t>(plan_.scratch_floats * 4);
    kernel.multiply_adds = multiply_adds(spec_);
    kernel.multiply_adds_per_block = plan_.multiply_adds_per_block;
    return kernel;
  }

 private:
  void emit_steps() {
    if (may_have_few_rows(spec_, plan_)) {
      few_ = {emit_dot_score_step(b_, spec_, plan_), nullptr,
              emit_row_softmax_step(b_, spec_, plan_), emit_value_step(b_, spec_, plan_, true)};
    }
    if (!may_have_many_rows(spec_, plan_)) return;
    many_ = {emit_score_step(b_, spec_, plan_, plan_.scores), nullptr,
             emit_softmax_step(b_, spec_, plan_), emit_value_step(b_, spec_, plan_, false)};
    if (has_row_mask(spec_)) many_.mask = emit_mask_step(b_, spec_, plan_);
    if (plan_.scores.vectors == 1) return;
    RegisterTile narrow = plan_.scores;
    narrow.vectors = 1;
    narrow_scores_ = emit_score_step(b_, spec_, plan_, narrow);
  }

  void emit_tasks() {
    Value* groups = b_.ceil_div(b_.value(spec_.rows()), b_.index(plan_.rows));
    Value* tasks = b_.mul(b_.mul(b_.value(spec_.batch), spec_.kv_heads), groups);
    const auto [first, last] = b_.partition(tasks, b_.block(), b_.blocks());
    b_.loop(first, last, 1, [&](Value* task) {
      Value* entry = b_.div(task, groups);
      task_.first_row = b_.mul(b_.mod(task, groups), plan_.rows);
      task_.rows = b_.min(b_.sub(b_.value(spec_.rows()), task_.first_row), b_.index(plan_.rows));
      find_operands(b_.div(entry, spec_.kv_heads), b_.mod(entry, spec_.kv_heads));
      emit_task();
    });
  }

  void find_operands(Value* batch, Value* kv_head) {
    Value* head = b_.mul(kv_head, spec_.group());
    const auto at = [&](int pointer, const AttentionOperand& operand, Value* own_head) {
      return Elements(b_, operand.dtype)
          .at(b_.pointer_argument(pointer),
              b_.add(b_.mul(batch, operand.batch_stride), b_.mul(own_head, operand.head_stride)));
    };
    task_.y = at(0, spec_.y, head);
    task_.q = at(1, spec_.q, head);
    task_.k = at(2, spec_.k, kv_head);
    task_.v = at(3, spec_.v, kv_head);
    const AttentionMask& mask = spec_.mask;
    int next = 4;
    if (mask.kind != AttentionMaskKind::kNone) {
      Value* element = b_.add(b_.mul(batch, mask.batch_stride), b_.mul(head, mask.head_stride));
      task_.mask = mask_address(b_, spec_, b_.pointer_argument(next++), element);
    }
    visible_keys_ = b_.value(spec_.keys);
    task_.keys_before = b_.index(0);
    if (spec_.has_lengths) read_length(b_.pointer_argument(next), batch);
  }

  void read_length(Value* lengths, Value* batch) {
    Value* length = b_.ir().CreateAlignedLoad(
        b_.index_type(), b_.ir().CreateInBoundsGEP(b_.index_type(), lengths, batch),
        llvm::Align(4));
    visible_keys_ = b_.min(visible_keys_, length);
    task_.keys_before = b_.sub(length, b_.value(spec_.queries));
  }

  void emit_task() {
    AttentionRows rows(b_, spec_, plan_, scratch_, task_);
    if (spec_.is_causal) {
      Value* last = b_.add(rows.last_query(), task_.keys_before);
      visible_keys_ = b_.min(visible_keys_, b_.add(last, b_.index(1)));
    }
    rows.begin();
    if (many_.scores == nullptr) {
      attend_by_few(rows);
    } else if (few_.scores == nullptr) {
      attend_by_many(rows);
    } else {
      b_.if_else(
          b_.ir().CreateICmpSLE(task_.rows, b_.index(plan_.few_rows)), [&] { attend_by_few(rows); },
          [&] { attend_by_many(rows); });
    }
    rows.store();
  }

  void attend_by_few(AttentionRows& rows) {
    rows.copy();
    emit_key_tiles(few_, [&](const AttentionStep& step) { call_step(b_, few_.scores, step); });
  }

  void attend_by_many(AttentionRows& rows) {
    Value* width = b_.index(width_of(plan_.scores));
    if (narrow_scores_ == nullptr) {
      rows.pack(width);
      emit_key_tiles(many_, [&](const AttentionStep& step) { call_step(b_, many_.scores, step); });
      return;
    }
    Value* lanes = b_.index(plan_.scores.lanes);
    Value* is_narrow = b_.ir().CreateICmpSLE(task_.rows, lanes);
    rows.pack(b_.ir().CreateSelect(is_narrow, lanes, width));
    emit_key_tiles(many_, [&](const AttentionStep& step) {
      b_.if_else(
          is_narrow, [&] { call_step(b_, narrow_scores_, step); },
          [&] { call_step(b_, many_.scores, step); });
    });
  }

  void emit_key_tiles(const StepFunctions& functions,
                      const std::function<void(const AttentionStep& step)>& compute_scores) {
    b_.loop(b_.index(0), visible_keys_, plan_.keys, [&](Value* first_key) {
      Value* keys = b_.min(b_.sub(visible_keys_, first_key), b_.index(plan_.keys));
      const auto step = [&](Value* operand) {
        return AttentionStep{scratch_, operand, first_key, task_.rows, keys};
      };
      const auto row = [&](const AttentionOperand& operand, Value* first) {
        return Elements(b_, operand.dtype).at(first, b_.mul(first_key, operand.row_stride));
      };
      compute_scores(step(row(spec_.k, task_.k)));
      Value* mask = task_.mask == nullptr ? scratch_
                                          : mask_address(b_, spec_, task_.mask,
                                                         b_.mul(first_key, spec_.mask.key_stride));
      if (functions.mask != nullptr) call_step(b_, functions.mask, step(mask));
      call_step(b_, functions.softmax, step(mask));
      call_step(b_, functions.values, step(row(spec_.v, task_.v)));
    });
  }

  const AttentionSpec& spec_;
  KernelBuilder b_;
  AttentionPlan plan_;
  StepFunctions many_, few_;
  llvm::Function* narrow_scores_ = nullptr;  // for rows of one vector
  Value* scratch_ = nullptr;
  AttentionTask task_;
  Value* visible_keys_ = nullptr;  // those that some row of the task may see
};

std::string text_of(const AttentionOperand& operand) {
  return fmt::format("{} {} {}{}", canonical_text(operand.batch_stride),
                     canonical_text(operand.head_stride), operand.row_stride,
                     dtype_text(operand.dtype));
}

std::string text_of(const AttentionMask& mask) {
  const std::string hidden =
      std::isinf(mask.hidden_score) ? "" : fmt::format(" hidden {}", mask.hidden_score);
  return fmt::format("{} {} {} {} {}{}{}", static_cast<int>(mask.kind),
                     canonical_text(mask.batch_stride), canonical_text(mask.head_stride),
                     canonical_text(mask.row_stride), mask.key_stride, dtype_text(mask.dtype),
                     hidden);
}

}  // namespace

std::string canonical_text(const AttentionSpec& s) {
  return fmt::format(
      "attention {} heads {} {} rows {} {} sizes {} {} q {} k {} v {} y {} mask {} "
      "causal {} lengths {} scale {} softcap {}{} math {}",
      canonical_text(s.batch), s.heads, s.kv_heads, canonical_text(s.queries),
      canonical_text(s.keys), s.key_size, s.value_size, text_of(s.q), text_of(s.k), text_of(s.v),
      text_of(s.y), text_of(s.mask), s.is_causal, s.has_lengths, s.scale, s.softcap,
      s.keeps_nan ? " nan" : "", static_cast<int>(s.math));
}

Result<GeneratedKernel> generate_attention(const AttentionSpec& spec,
                                           const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  return AttentionEmitter(spec, profile).emit();
}

}  // namespace sluice
