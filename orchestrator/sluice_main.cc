#include <cstdio>

#include "orchestrator/report.h"
#include "orchestrator/sluice.h"

int main(int argc, char** argv) { return sluice::exit_code_of("sluice", sluice::run_sluice(argc, argv)); }
