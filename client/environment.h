// What the client sees of the world: streams, terminal and environment variables. Tests bring their own.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace longreach::client {

struct Environment {
  // stdout carries data, stderr talk.
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  // Columns of the terminal, which may be made wider or narrower while a command runs.
  std::function<int()> width = [] { return 80; };
  // Of the one that `out` is; 0: it is none, or does not say. Tables and prose keep to it: what goes into a file or a program is not broken.
  std::function<int()> out_width = [] { return 0; };
  // The same of the one that `err` is: what is said to people keeps to it.
  std::function<int()> err_width = [] { return 0; };
  // Empty when it is not set.
  std::function<std::string(const char* name)> variable;
  // The names of all that are set.
  std::function<std::vector<std::string>()> variable_names = [] { return std::vector<std::string>(); };
  // Where longreach-scheduler and longreach-worker lie.
  std::filesystem::path binaries;
  // The store whose scheduler is asked by its address: commands that are told name it, as the address is another one tomorrow. Empty: none.
  std::string store = {};
  // Of `out` where that is a pipe: who writes nothing for long asks whether somebody still reads it (interrupt.h).
  int out_fd = -1;
};

// The Python that draws figures (figure/vega_renderer.h).
inline constexpr const char* kPythonVariable = "LONGREACH_PYTHON";

// This process's.
Environment ProcessEnvironment();

}  // namespace longreach::client
