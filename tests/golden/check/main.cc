// golden_check DIR: checks every golden vector in a folder with the code that training runs.
//
// The layout is recognised by what is in the folder. Exit codes: 0 all passed that is covered, 1 something failed, 2 usage.
#include <filesystem>
#include <iostream>

#include "tests/golden/check/encodings.h"
#include "tests/golden/check/init_stats.h"
#include "tests/golden/check/language.h"
#include "tests/golden/check/models.h"
#include "tests/golden/check/nope.h"
#include "tests/golden/check/report.h"
#include "tests/golden/check/tasks.h"
#include "worker/trainer/train.h"

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]).starts_with("-")) {
    std::cerr << "usage: golden_check DIR\n"
                 "  DIR is laid out as tests/golden/chomsky (tasks/, task_stats.json, encodings/, models/, "
                 "init_stats.json), as tests/golden/language (vectors/), or as tests/golden/nope (manifest.json, rope_tables.json, ...)\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    std::cerr << "error: '" << folder.string() << "' is not a folder\n";
    return 2;
  }
  bool recognised = false;
  for (const char* part : {"tasks", "task_stats.json", "encodings", "models", "init_stats.json", "vectors", "manifest.json", "rope_tables.json"}) {
    recognised = recognised || std::filesystem::exists(folder / part, error);
  }
  if (!recognised) {
    std::cerr << "error: '" << folder.string() << "' holds no golden vectors of a known layout\n"
              << "  expected at least one of tasks/, task_stats.json, encodings/, models/, init_stats.json, vectors/, manifest.json, rope_tables.json\n";
    return 2;
  }
  const bool on_gpu = longreach::trainer::LoadCudaPlugin(longreach::trainer::OwnCudaPlugin()).ok();  // Before LibTorch looks for one.
  longreach::golden::Report report(std::cout);
  if (longreach::golden::IsNopeSet(folder)) {
    longreach::golden::CheckNope(folder, on_gpu, report);
  } else if (std::filesystem::exists(folder / "vectors", error)) {
    longreach::golden::CheckLanguage(folder, report);
  } else {
    longreach::golden::CheckTasks(folder, report);
    longreach::golden::CheckEncodings(folder, report);
    longreach::golden::CheckModels(folder, on_gpu, report);
    longreach::golden::CheckInitStats(folder, report);
  }
  if (on_gpu && std::filesystem::exists(folder / "models", error)) std::cout << "models/ was computed on the GPU too\n";
  report.PrintSummary();
  return report.failed() == 0 ? 0 : 1;
}
