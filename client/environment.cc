#include "client/environment.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

extern char** environ;

namespace longreach::client {
namespace {

// 0: it is no terminal, or one that does not say.
int ColumnsOf(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? static_cast<int>(size.ws_col) : 0;
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  environment.out = &std::cout;
  environment.err = &std::cerr;
  environment.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  environment.err_is_terminal = isatty(STDERR_FILENO) != 0;
  struct stat out {};
  if (fstat(STDOUT_FILENO, &out) == 0 && (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode))) environment.out_fd = STDOUT_FILENO;
  environment.width = [usual = environment.width] {
    const int columns = ColumnsOf(STDERR_FILENO) > 0 ? ColumnsOf(STDERR_FILENO) : ColumnsOf(STDOUT_FILENO);
    return columns > 0 ? columns : usual();
  };
  environment.out_width = [] { return ColumnsOf(STDOUT_FILENO); };
  environment.err_width = [] { return ColumnsOf(STDERR_FILENO); };
  environment.variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  environment.variable_names = [] {
    std::vector<std::string> names;
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
      const std::string_view line = *one;
      names.emplace_back(line.substr(0, line.find('=')));
    }
    return names;
  };
  std::error_code ignored;
  environment.binaries = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return environment;
}

}  // namespace longreach::client
