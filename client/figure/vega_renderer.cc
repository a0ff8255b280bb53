#include "client/figure/vega_renderer.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/private_folder.h"
#include "client/process.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr std::chrono::minutes kAtMost(5);
constexpr int kNoPackage = 3;

constexpr std::string_view kScriptFormat = "js";

// Arguments: the specification's file, that of what is made, the format.
constexpr const char* kScript = R"(
import sys
try:
    import vl_convert
except ImportError:
    sys.exit(3)
specification, picture, form = sys.argv[1:]
with open(specification, encoding="utf-8") as file:
    text = file.read()
made = {"svg": vl_convert.vegalite_to_svg, "png": lambda spec: vl_convert.vegalite_to_png(spec, scale=2),
        "pdf": vl_convert.vegalite_to_pdf, "js": lambda spec: vl_convert.javascript_bundle()}[form](text)
with open(picture, "wb") as file:
    file.write(made.encode() if isinstance(made, str) else made)
)";

// Where the package may be, in the order in which it is looked for.
std::vector<std::filesystem::path> Pythons(const Environment& environment) {
  const std::string named = environment.variable(kPythonVariable);
  if (!named.empty()) return {named};
  std::vector<std::filesystem::path> pythons;
  const auto add = [&pythons](const std::filesystem::path& python) {
    if (::access(python.c_str(), X_OK) == 0) pythons.push_back(python);
  };
  // In a checkout the programs are in build/PRESET/bin, and what the tests need is beside build.
  if (!environment.binaries.empty()) add((environment.binaries / "../../../.venv/bin/python").lexically_normal());
  for (const std::string& folder : Split(environment.variable("PATH"), ':')) {
    if (!folder.empty()) add(std::filesystem::path(folder) / "python3");
  }
  return pythons;
}

absl::Status NotThere(std::string_view what, std::string_view format) {
  if (format == kScriptFormat) {
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("figures are drawn by what the Python package vl-convert-python carries; {}", what),
                 "'pip install vl-convert-python' in a virtual environment, and start the dashboard with LONGREACH_PYTHON=VENV/bin/python");
  }
  return Error(absl::StatusCode::kFailedPrecondition, fmt::format("a figure as .{} is drawn by the Python package vl-convert-python; {}", format, what),
               "'pip install vl-convert-python' in a virtual environment, and name its Python: LONGREACH_PYTHON=VENV/bin/python\n"
               "or write FILE.vl.json: https://vega.github.io/editor and notebooks draw it");
}

absl::Status WaitFor(Process& process, const std::function<bool()>& given_up) {
  constexpr std::chrono::milliseconds kLook{50};
  for (std::chrono::milliseconds waited{0}; waited < kAtMost; waited += kLook) {
    if (process.WaitFor(kLook)) return absl::OkStatus();
    if (given_up && given_up()) {
      process.Kill();
      return absl::CancelledError("the figure was given up");
    }
  }
  return absl::DeadlineExceededError("drawing the figure took more than five minutes");
}

}  // namespace

absl::StatusOr<std::string> RenderVegaLite(std::string_view specification, std::string_view format, const Environment& environment,
                                           const std::function<bool()>& given_up) {
  const std::vector<std::filesystem::path> pythons = Pythons(environment);
  if (pythons.empty()) return NotThere("there is no python3 in PATH", format);
  ASSIGN_OR_RETURN(const PrivateFolder folder, PrivateFolder::Temporary());
  const std::filesystem::path input = folder / "figure.vl.json";
  const std::filesystem::path output = folder / "figure";
  std::ofstream(input, std::ios::binary) << specification;
  std::optional<Process> process;
  std::vector<std::string> without;
  for (const std::filesystem::path& python : pythons) {
    absl::StatusOr<Process> started = Process::Start(python, {"-c", kScript, input.string(), output.string(), std::string(format)});
    if (!started.ok()) return NotThere(SplitError(started.status()).message, format);
    process.emplace(*std::move(started));
    RETURN_IF_ERROR(WaitFor(*process, given_up));
    if (process->exit_code() != kNoPackage) break;
    without.push_back(fmt::format("'{}'", Printable(python.string())));
  }
  if (process->exit_code() == kNoPackage) return NotThere(fmt::format("{} {} not have it", Join(without, ", "), without.size() == 1 ? "does" : "do"), format);
  std::ifstream in(output, std::ios::binary);
  const std::string picture(std::istreambuf_iterator<char>(in), {});
  if (process->exit_code() != 0 || picture.empty()) {
    const std::vector<std::string> last = process->LogTail(1);
    return Error(absl::StatusCode::kInternal, fmt::format("vl-convert-python did not {} (exit code {})", format == kScriptFormat ? "write its script" : "draw the figure", process->exit_code()),
                 last.empty() ? "" : Printable(last.front()));
  }
  return picture;
}

absl::StatusOr<std::string> VegaScript(const Environment& environment) { return RenderVegaLite("", kScriptFormat, environment); }

}  // namespace longreach::client
