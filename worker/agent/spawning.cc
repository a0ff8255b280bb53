#include "worker/agent/spawning.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace longreach::agent {
namespace {

std::string_view NameOf(std::string_view variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& more) {
  std::vector<std::string> variables = more;
  for (char** own = environ; *own != nullptr; ++own) {
    if (std::ranges::find(more, NameOf(*own), NameOf) == more.end()) variables.emplace_back(*own);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string HowItEnded(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("killed by SIG{}", name != nullptr ? name : std::to_string(WTERMSIG(status)));
}

}  // namespace longreach::agent
