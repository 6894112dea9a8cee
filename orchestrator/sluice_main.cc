#include "common/base/program.h"
#include "orchestrator/report.h"
#include "orchestrator/sluice.h"

int main(int argc, char** argv) {
  sluice::begin_program();
  return sluice::exit_code_of("sluice", sluice::run_sluice(argc, argv));
}
