#include <csignal>
#include <string>
#include <vector>

#include "client/app.h"
#include "client/environment.h"

int main(int argc, char** argv) {
  // A reader that goes away ends the command through its stream's state, so that what was started is
  // stopped in order.
  std::signal(SIGPIPE, SIG_IGN);
  return longreach::client::RunClient(std::vector<std::string>(argv + 1, argv + argc),
                                      longreach::client::ProcessEnvironment());
}
