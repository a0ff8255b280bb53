#include "client/embedded.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/devices.h"

namespace longreach::client {
namespace {

// The path of a Unix socket may have 107 bytes.
constexpr size_t kMaxSocketPath = 107;
// Opening a store may migrate it and check its files; one that is to be merged is read as a whole first.
constexpr std::chrono::minutes kStartPatience{5};
constexpr std::chrono::hours kMergePatience{6};

absl::StatusOr<PrivateFolder> FolderForSocket(const std::string& runtime_folder) {
  for (const std::string& parent : {runtime_folder, FolderOfTemporaryFiles().string(), std::string("/tmp")}) {
    if (parent.empty()) continue;
    if (parent.size() + std::strlen("/longreach-XXXXXX/scheduler.sock") > kMaxSocketPath) continue;
    if (absl::StatusOr<PrivateFolder> folder = PrivateFolder::Named(parent + "/longreach"); folder.ok()) return folder;
  }
  return Error(absl::StatusCode::kFailedPrecondition,
               "no folder for a socket could be made in XDG_RUNTIME_DIR, TMPDIR or /tmp",
               "set TMPDIR to a folder that can be written to, with a short path");
}

// What it says first, but for what it does until then; nothing: it has ended, or takes too long.
std::optional<std::string> FirstWord(Process& process, const EmbeddedOptions& options) {
  using Clock = std::chrono::steady_clock;
  constexpr std::string_view kProgress = "progress: ";
  const auto slow = Clock::now() + kSaidBehind;
  const auto end = slow + (options.merges.empty() ? std::chrono::milliseconds(kStartPatience) : std::chrono::milliseconds(kMergePatience));
  bool is_slow = false;
  std::vector<std::string> far;  // Said only if it is slow.
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>((is_slow ? end : slow) - Clock::now());
    std::optional<std::string> line = process.ReadLine(std::max(left, std::chrono::milliseconds(0)));
    const bool is_progress = line.has_value() && line->starts_with(kProgress);
    if (is_progress) far.push_back(line->substr(kProgress.size()));
    else if (line.has_value() || is_slow || Clock::now() < slow) return line;
    if (Clock::now() < slow) continue;
    if (!std::exchange(is_slow, true)) options.when_slow();
    for (const std::string& one : far) options.when_far(one);
    far.clear();
  }
}

// "held at ADDRESS", "held for a moment", "held for a moment at ADDRESS", and the same behind "the other is "; nobody by any other line.
StoreHolder HolderOf(std::string_view line) {
  constexpr std::string_view kOther = "the other is ", kHeld = "held", kForAMoment = " for a moment", kAt = " at ";
  StoreHolder holder;
  holder.is_merged = line.starts_with(kOther);
  if (holder.is_merged) line.remove_prefix(kOther.size());
  if (!line.starts_with(kHeld)) return {};
  line.remove_prefix(kHeld.size());
  holder.for_a_moment = line.starts_with(kForAMoment);
  if (holder.for_a_moment) line.remove_prefix(kForAMoment.size());
  if (line.starts_with(kAt)) holder.address = Trim(line.substr(kAt.size()));
  return holder;
}

}  // namespace

std::string LastWords(const Process& process, std::string_view program) {
  std::vector<std::string> lines = process.LogTail(5);
  for (const std::string& line : lines) {
    if (line.starts_with("error: ")) return line.substr(std::strlen("error: "));
  }
  // What it wrote last says nothing of that.
  if (const int signal = process.exit_code() - 128; signal > 0) {
    return fmt::format("{} was killed by signal {}{}{}", program, signal, signal == SIGKILL ? ", as the kernel does when memory runs out" : "",
                       lines.empty() ? "" : "; the last that it said: " + lines.back());
  }
  if (lines.empty()) {
    return fmt::format("{} ended with exit code {} and said nothing", program, process.exit_code());
  }
  return lines.back();
}

absl::StatusOr<std::unique_ptr<EmbeddedScheduler>> EmbeddedScheduler::Start(
    const std::filesystem::path& binaries, const std::string& store, const std::string& runtime_folder, StoreHolder* holder, const EmbeddedOptions& options) {
  ASSIGN_OR_RETURN(PrivateFolder folder, FolderForSocket(runtime_folder));
  std::vector<std::string> arguments = {"--store", store, "--listen", "unix:" + (folder / "scheduler.sock").string(), "--until-stdin-closes"};
  if (options.holding != Holding::kKept) arguments.insert(arguments.end(), {"--held", options.holding == Holding::kSoonFree ? "soon-free" : "moment"});
  if (options.copy != CopyWhen::kNever) arguments.emplace_back("--copy-to-read");
  if (options.copy == CopyWhen::kAlways) arguments.emplace_back("--copy-always");
  if (!options.merges.empty()) arguments.insert(arguments.end(), {"--merges", options.merges});
  if (options.repairs) arguments.emplace_back("--repairs");
  absl::StatusOr<Process> process = Process::Start(binaries / "longreach-scheduler", arguments);
  if (!process.ok()) {
    return Error(absl::StatusCode::kFailedPrecondition, std::string(process.status().message()),
                 "it lies beside 'longreach'; or name a running scheduler with --scheduler HOST:PORT");
  }
  constexpr std::string_view kReady = "listening on ";
  const std::optional<std::string> line = FirstWord(*process, options);
  if (!line.has_value() || !line->starts_with(kReady)) {
    process->CloseInput();
    if (!process->WaitFor(std::chrono::seconds(5))) process->Kill();
    process->WaitFor(std::chrono::seconds(5));
    if (holder != nullptr && line.has_value()) *holder = HolderOf(*line);
    return Error(absl::StatusCode::kFailedPrecondition, LastWords(*process, "longreach-scheduler"));
  }
  return std::unique_ptr<EmbeddedScheduler>(
      new EmbeddedScheduler(*std::move(process), std::move(folder), std::string(Trim(line->substr(kReady.size())))));
}

EmbeddedScheduler::~EmbeddedScheduler() {
  process_.CloseInput();
  if (!process_.WaitFor(std::chrono::seconds(30))) process_.Terminate();
  process_.WaitFor(std::chrono::seconds(10));
}

std::vector<std::string> WorkerOptions::Arguments() const {
  std::vector<std::string> arguments;
  const auto add = [&arguments](const char* name, const std::string& value) { arguments.insert(arguments.end(), {name, value}); };
  if (!device.empty()) add("--device", device);
  if (!engine.empty()) add("--engine", engine);
  if (!data_folder.empty()) add("--data-folder", data_folder);
  if (threads > 0) add("--threads", fmt::format("{}", threads));
  if (packs > 0) add("--packs", fmt::format("{}", packs));
  if (!pack_limit.empty()) add("--pack-limit", pack_limit);
  if (checkpoint_every_s > 0) add("--checkpoint-every-s", ShortestNumber(checkpoint_every_s));
  return arguments;
}

std::vector<WorkerOptions> WorkerOptions::OfEach() const {
  std::vector<WorkerOptions> each;
  for (const catalog::Device& one : catalog::ParseDevices(device)) {
    each.push_back(*this);
    each.back().device = catalog::ToText(one);
  }
  return each.empty() ? std::vector{*this} : each;  // The worker's own choice of a device.
}

absl::StatusOr<Process> StartWorkerProgram(const std::filesystem::path& binaries, const std::vector<std::string>& arguments) {
  absl::StatusOr<Process> process = Process::Start(binaries / "longreach-worker", arguments);
  if (!process.ok()) {
    return Error(
        absl::StatusCode::kFailedPrecondition, std::string(process.status().message()),
        "it lies beside 'longreach' unless it was built with LONGREACH_TRAINER=OFF; 'longreach submit' leaves training to other workers");
  }
  return process;
}

namespace {

// Each worker has one of its own, whichever others run.
std::string StateBeside(const std::string& store, const WorkerOptions& options) {
  const std::optional<catalog::Device> device = catalog::ParseDevice(options.device);
  return store + ".worker" + (device.has_value() && device->gpu.has_value() ? fmt::format("-gpu-{}", *device->gpu) : "");
}

}  // namespace

absl::StatusOr<Process> StartWorker(const std::filesystem::path& binaries, const std::string& address,
                                    const std::string& store, const WorkerOptions& options) {
  std::vector<std::string> arguments = {"run", "--scheduler", address, "--state", StateBeside(store, options), "--until-stdin-closes"};
  const std::vector<std::string> said = options.Arguments();
  arguments.insert(arguments.end(), said.begin(), said.end());
  return StartWorkerProgram(binaries, arguments);
}

absl::StatusOr<Process> TryWorker(const std::filesystem::path& binaries, const std::string& store, const WorkerOptions& options) {
  // Of a socket too, as it will be: what the environment names is of another scheduler.
  std::vector<std::string> arguments = {"run", "--check", "--scheduler", "unix:scheduler.sock", "--state", StateBeside(store, options)};
  const std::vector<std::string> said = options.Arguments();
  arguments.insert(arguments.end(), said.begin(), said.end());
  return StartWorkerProgram(binaries, arguments);
}

}  // namespace longreach::client
