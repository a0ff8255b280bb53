#include <fmt/format.h>

#include <string>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/doctor/check.h"
#include "client/doctor/data.h"
#include "client/doctor/devices.h"
#include "client/doctor/disk.h"
#include "client/doctor/limits.h"
#include "client/doctor/look.h"
#include "client/doctor/variables.h"
#include "client/interrupt.h"
#include "client/output/grid.h"
#include "client/output/text.h"
#include "proto/base/build_info.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr std::string_view kMemoryStore = ":memory:";

class Doctor final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupMaintain,
            .summary = "Look whether this installation can do its work, and say what to do where it cannot",
            .details =
                "Looks at the programs beside this one, what the worker computes with, its data sets (without reading their bytes),\n"
                "the store of --store or the one that 'longreach run' would take here, whether its folder of artifacts is there, a\n"
                "scheduler that is named or answers at the default place, and its clock, certificates, limits, and the names of\n"
                "variables that begin with LONGREACH_. Changes nothing, and opens no store. Each check is ok, a warning, failed, or\n"
                "not asked, where it cannot apply. Exit code 1: something failed.",
            .examples = "longreach doctor\n"
                        "longreach doctor --scheduler scheduler.example.org -o json",
            .more_formats = kAllFormats};
  }

  void AddOptions(CLI::App& app) override {
    AddDataFolderOption(app, data_folder_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    const InterruptScope interrupt;
    std::vector<Check> checks;
    const auto add = [&checks](const std::vector<Check>& more) { checks.insert(checks.end(), more.begin(), more.end()); };
    add(LookAtPrograms(session, interrupt));
    if (interrupt.count() == 0) add(LookAtDisks(session.settings()));
    if (interrupt.count() == 0) add(LookAtSchedulerOf(session.settings()));
    if (interrupt.count() > 0) return interrupt.exit_code();
    checks.push_back(JudgeOpenFiles(LookAtOpenFiles()));
    checks.push_back(JudgeVariables(session.environment().variable_names()));
    Print(session, checks);
    return AnyFailed(checks) ? kFailed : kDone;
  }

 private:
  // The programs, and what the worker's knows of this machine.
  std::vector<Check> LookAtPrograms(const Session& session, const InterruptScope& interrupt) const {
    std::vector<Check> checks;
    ProgramSeen worker, trainer;
    for (const ProgramNeed& need : NeededPrograms(session.settings().scheduler_named ? session.settings().scheduler : "")) {
      const ProgramSeen seen = LookAtProgram(session.environment().binaries, need.program, interrupt);
      if (need.check == kWorkerProgram) worker = seen;
      if (need.check == kTrainerProgram) trainer = seen;
      // A build without LibTorch has neither of the two, and what to do about it is said once.
      const bool is_said = need.check == kTrainerProgram && !seen.there && !worker.there;
      checks.push_back(is_said ? NotAsked(need.check, "there is no longreach-worker either, which starts it") : JudgeProgram(need, seen, BuildDescription()));
      if (interrupt.count() > 0) return checks;
    }
    const std::vector<Check> devices = JudgeDevices(AskForDevices(worker, trainer, interrupt));
    checks.insert(checks.end(), devices.begin(), devices.end());
    const std::vector<Check> data = LookAtData(worker, interrupt);
    checks.insert(checks.end(), data.begin(), data.end());
    return checks;
  }

  std::vector<Check> LookAtData(const ProgramSeen& worker, const InterruptScope& interrupt) const {
    std::vector<std::string> arguments = {"data", "list", "-o", "json"};
    if (!data_folder_.empty()) arguments.push_back("--data-folder=" + data_folder_);
    const absl::StatusOr<std::string> answer = AskWorker(worker, arguments, interrupt);
    if (!answer.ok()) return JudgeData(answer.status(), {});
    const absl::StatusOr<DataSeen> seen = ParseDataList(*answer);
    return JudgeData(seen, seen.ok() ? LookAtFolder(seen->folder) : FolderSeen());
  }

  static std::vector<Check> LookAtDisks(const Settings& settings) {
    const auto neither = [](const std::string& why) { return std::vector<Check>{NotAsked("store", why), NotAsked("state_folder", why)}; };
    if (settings.scheduler_named) return neither(fmt::format("it is that of the scheduler at {}", settings.scheduler));
    if (settings.store == kMemoryStore) return neither("it lies in memory");
    const std::string file = settings.store.empty() ? kDefaultStore : settings.store;
    return {JudgeStore(LookAtStore(file, !settings.store.empty())), JudgeStateFolder(LookAtFolder(file + ".worker"))};
  }

  static std::vector<Check> LookAtSchedulerOf(const Settings& settings) {
    std::vector<Check> checks;
    if (settings.store.empty()) {
      checks = JudgeScheduler(LookAtScheduler(settings), BuildDescription(), kProtocolVersion);
    } else {
      const std::string why = "a store is named, for which each command starts a scheduler of its own";
      checks = {NotAsked("scheduler", why), NotAsked("scheduler_build", why), NotAsked("clock", why)};
    }
    const std::vector<Check> files = CheckCredentialFiles(settings.credentials);
    checks.insert(checks.end(), files.begin(), files.end());
    return checks;
  }

  // People read what to do below the table, as it is often longer than a line.
  static void Print(Session& session, const std::vector<Check>& checks) {
    const bool table = session.settings().format == Format::kTable;
    Grid grid;
    grid.columns = {{"name", "CHECK"}, {"state", "STATE"}, {"seen", "SEEN"}};
    if (!table) grid.columns.push_back({"advice", "ADVICE"});
    for (const Check& check : checks) {
      grid.rows.push_back({TextCell(check.name), {.value = std::string(WordOfCheck(check.state)), .shown = std::string(ShownCheck(check.state))}, TextCell(check.seen)});
      if (!table) grid.rows.back().push_back(TextCell(check.advice));
    }
    session.Print(grid, "checks");
    for (const Check& check : checks) {
      if (!table || check.advice.empty()) continue;
      session.out() << fmt::format("\n{} ({}):\n", check.name, ShownCheck(check.state));
      for (const std::string& line : Split(check.advice, '\n')) session.out() << fmt::format("  {}\n", Printable(line));
    }
  }

  std::string data_folder_;
};

}  // namespace

std::unique_ptr<Command> Make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace longreach::client
