/* Runs a compiled model on ones: run MODEL. Input and output are of f32. */
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int code) {
  if (code != 0) exit((fprintf(stderr, "%s\n", sluice_last_error()), 1));
}
int main(int argc, char** argv) {
  sluice_model* model; sluice_run* run; sluice_binding input;
  check(sluice_model_open(argc > 1 ? argv[1] : "model.om", 0, &model));
  check(sluice_model_input(model, 0, &input));
  float* ones = aligned_alloc(64, (input.bytes + 63) / 64 * 64);
  for (uint64_t i = 0; i < input.bytes / sizeof *ones; ++i) ones[i] = 1;
  check(sluice_run_create(model, 0, &run));
  check(sluice_run_bind_input(run, 0, ones, input.bytes));
  check(sluice_run_execute(run));
  const float* output = sluice_run_output(run, 0, &input.bytes);
  printf("%d bytes, the first number is %.6g\n", (int)input.bytes, output[0]);
}
