// sluice-loader: runs a compiled model.
#include <csignal>

#include "runtime/program/loader_program.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader is an error like any other
  return sluice::loader_main(argc, argv);
}
