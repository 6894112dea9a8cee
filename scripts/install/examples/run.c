/* Runs a compiled model on ones: run MODEL [SIZE]. Its first input is of f32 and the only one; open
 * dims of it get SIZE, which is 1 unless given. */
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int code) {
  if (code != 0) exit((fprintf(stderr, "%s\n", sluice_last_error()), 1));
}
int main(int argc, char** argv) {
  sluice_model* model; sluice_run* run; sluice_binding input; sluice_tensor output;
  check(sluice_model_open(argc > 1 ? argv[1] : "model.om", 0, &model));
  check(sluice_model_input(model, 0, &input));
  int64_t dims[8];
  size_t count = 1;
  for (size_t i = 0; i < input.rank && i < 8; ++i) {
    dims[i] = input.dims[i] >= 0 ? input.dims[i] : argc > 2 ? atoll(argv[2]) : 1;
    count *= dims[i];
  }
  float* ones = aligned_alloc(64, (count * sizeof *ones + 63) / 64 * 64);
  for (size_t i = 0; i < count; ++i) ones[i] = 1;
  sluice_tensor x = {input.dtype, input.rank, dims, ones, count * sizeof *ones};
  check(sluice_run_create(model, 0, &run));
  check(sluice_run_bind_input_tensors(run, 0, &x, 1));
  check(sluice_run_execute(run));
  check(sluice_run_output_tensor(run, 0, 0, &output));
  printf("%d bytes, the first number is %.6g\n", (int)output.bytes, *(const float*)output.data);
}
