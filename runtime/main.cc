// The program sluice-loader: runs a compiled model.
#include "common/base/program.h"
#include "runtime/program/loader_program.h"

int main(int argc, char** argv) {
  sluice::begin_program();
  return sluice::loader_main(argc, argv);
}
