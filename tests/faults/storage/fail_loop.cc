#include "tests/faults/storage/fail_loop.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "tests/faults/storage/scenarios.h"
#include "tests/support/temporary_folder.h"

namespace longreach::faults {
namespace {

// Tries of a client or worker, after a call has failed once.
constexpr int kTries = 5;
// Multiples of it, modulo 1, are spread evenly, however many there are.
constexpr double kGoldenRatio = 0.6180339887498949;

// What is being run, for the report of a crash.
char running[256];

void OnCrash(int signal) {
  (void)!write(STDERR_FILENO, running, std::strlen(running));
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Facts that a child process was told before it was killed: lines in memory that both see.
class SharedFacts {
 public:
  SharedFacts() : text_(static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (text_ == MAP_FAILED) std::abort();
  }
  ~SharedFacts() { munmap(text_, kBytes); }
  SharedFacts(const SharedFacts&) = delete;
  SharedFacts& operator=(const SharedFacts&) = delete;

  void Clear() { text_[0] = '\0'; }
  void Add(const std::string& about, const Fact* fact) {
    const std::string line = fmt::format("{}\t{}\t{}\n", about, fact == nullptr ? "" : fact->what, fact == nullptr ? "" : fact->query);
    if (std::strlen(text_) + line.size() < kBytes) std::strcat(text_, line.c_str());
  }
  void Apply(std::map<std::string, Fact>& facts) const {
    std::string_view text(text_);
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(line.size() + 1);
      const size_t first = line.find('\t');
      const size_t second = line.find('\t', first + 1);
      const std::string about(line.substr(0, first));
      if (second + 1 == line.size()) {
        facts.erase(about);
      } else {
        facts[about] = {.what = std::string(line.substr(first + 1, second - first - 1)), .query = std::string(line.substr(second + 1))};
      }
    }
  }

 private:
  static constexpr size_t kBytes = 1 << 16;
  char* text_;
};

// A scenario with the files that its runs begin with.
struct Prepared {
  const Scenario* scenario;
  std::filesystem::path files;
  Outside outside;
  std::string results;  // In the end, when nothing fails.
  int64_t calls = 0;    // That were counted then.
};

// A store as an older version of the schema wrote it.
absl::Status WriteStoreOf(int schema, const std::filesystem::path& file) {
  std::ifstream text(fmt::format("{}/{:03}.sql", LONGREACH_SCHEMAS, schema));
  if (!text) return absl::NotFoundError(fmt::format("there is no store of schema {} in {}", schema, LONGREACH_SCHEMAS));
  ASSIGN_OR_RETURN(sql::Connection db, sql::Connection::Open(file, sql::Mode::kReadWriteCreate));
  RETURN_IF_ERROR(db.Execute("PRAGMA foreign_keys = OFF"));  // Its tables come in the order of their names.
  return db.Execute(std::string(std::istreambuf_iterator<char>(text), {}));
}

class Loop {
 public:
  explicit Loop(const LoopOptions& options) : options_(options) {}

  LoopReport Run() {
    for (const Scenario& scenario : Scenarios()) {
      if (!options_.scenario.empty() && options_.scenario != scenario.name) continue;
      ++report_.scenarios;
      const int64_t before = report_.failures;
      Prepared prepared = Prepare(scenario);
      if (report_.failures > before) break;  // Nothing that follows would mean anything.
      for (const Harm harm : HarmsOf(options_.layer)) {
        if (!options_.harm.empty() && options_.harm != NameOf(harm)) continue;
        for (const bool on : {false, true}) {
          if (harm == Harm::kKill && on) continue;
          if (!options_.way.empty() && options_.way != (on ? "on" : "once")) continue;
          RunAll(prepared, harm, on);
        }
      }
      std::filesystem::remove_all(prepared.files);
    }
    return report_;
  }

 private:
  static std::vector<Harm> HarmsOf(Layer layer) {
    if (layer == Layer::kMemory) return {Harm::kNoMemory};
    if (layer == Layer::kNew) return {Harm::kKill};
    return {Harm::kIo, Harm::kFull, Harm::kNoMemory, Harm::kKill};
  }

  Prepared Prepare(const Scenario& scenario) {
    Prepared prepared{.scenario = &scenario, .files = folder_ / "prepared", .outside = {}, .results = {}, .calls = 0};
    now_ = fmt::format("scenario {}, undisturbed", scenario.name);
    std::filesystem::create_directory(prepared.files);
    {
      const std::filesystem::path folder = folder_ / "run";
      std::filesystem::remove_all(folder);
      std::filesystem::create_directory(folder);
      Rig rig(folder);
      if (scenario.schema > 0) Expect(WriteStoreOf(scenario.schema, rig.file()));
      if (scenario.prepare) {
        Expect(rig.Open());
        Expect(scenario.prepare(rig));
      }
      if (!scenario.killed) rig.Close();
      std::filesystem::copy(folder, prepared.files, std::filesystem::copy_options::recursive);
      prepared.outside = rig.outside();
      rig.Close();
      std::filesystem::remove_all(folder);
    }
    Plan plan{.layer = options_.layer};
    const auto [rig, seen, status] = Act(prepared, plan);
    report_.calls += seen.calls;
    prepared.calls = seen.calls;
    Expect(status);
    Verify(*rig);
    Expect(rig->FinishAll());
    prepared.results = rig->Results();
    return prepared;
  }

  struct Acted {
    std::unique_ptr<Rig> rig;
    Seen seen;
    absl::Status status;
  };

  std::unique_ptr<Rig> Copied(const Prepared& prepared) {
    const std::filesystem::path folder = folder_ / "run";
    std::filesystem::remove_all(folder);
    std::filesystem::copy(prepared.files, folder, std::filesystem::copy_options::recursive);
    auto rig = std::make_unique<Rig>(folder);
    rig->outside() = prepared.outside;
    return rig;
  }

  Acted Act(const Prepared& prepared, const Plan& plan) {
    Acted acted{.rig = Copied(prepared), .seen = {}, .status = {}};
    if (!prepared.scenario->opens) Expect(acted.rig->Open());
    Arm(plan);
    acted.status = prepared.scenario->act(*acted.rig);
    // What does not answer any more does not do so either while the process ends.
    if (plan.from_then_on) acted.rig->Close();
    acted.seen = Disarm();
    return acted;
  }

  // Where there are gaps between the calls that fail, each harm of a scenario begins at another one: together they come by more of them.
  int64_t First(const Prepared& prepared) {
    const double gap = static_cast<double>(std::clamp<int64_t>(prepared.calls, 1, options_.every));
    return options_.from + static_cast<int64_t>(std::fmod(kGoldenRatio * static_cast<double>(loops_++), 1.0) * gap);
  }

  void RunAll(const Prepared& prepared, Harm harm, bool on) {
    int64_t nth = options_.nth > 0 ? options_.nth : First(prepared);
    while (true) {
      now_ = fmt::format("--layer {} --scenario {} --harm {} --way {} --nth {}", NameOf(options_.layer),
                         prepared.scenario->name, NameOf(harm), on ? "on" : "once", nth);
      std::strncpy(running, ("crashed at " + now_ + "\n").c_str(), sizeof running - 1);
      const Plan plan{.layer = options_.layer, .harm = harm, .nth = nth, .from_then_on = on};
      const bool struck = harm == Harm::kKill ? RunKilled(prepared, plan) : RunFailing(prepared, plan);
      if (!struck || options_.nth > 0) return;
      ++report_.points;
      nth += options_.every;
    }
  }

  // False: the call was never reached.
  bool RunFailing(const Prepared& prepared, const Plan& plan) {
    Acted acted = Act(prepared, plan);
    if (acted.seen.struck == 0) {
      if (options_.nth == 0) Expect(acted.status);
      return false;
    }
    if (!acted.status.ok()) ++report_.refused;
    Rig& rig = *acted.rig;
    if (plan.from_then_on) {
      Expect(rig.Open());
      if (!rig.is_open()) return true;
      Verify(rig);
    }
    // Whoever was refused asks again.
    for (int i = 0; i < kTries; ++i) {
      acted.status = prepared.scenario->act(rig);
      if (acted.status.ok()) break;
      rig.outside().clock.Advance(std::chrono::seconds(1));
    }
    Expect(acted.status);
    Complete(prepared, rig);
    return true;
  }

  bool RunKilled(const Prepared& prepared, const Plan& plan) {
    std::unique_ptr<Rig> rig = Copied(prepared);
    facts_.Clear();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      rig->OnFact([this](const std::string& about, const Fact* fact) { facts_.Add(about, fact); });
      if (!prepared.scenario->opens && !rig->Open().ok()) _exit(2);
      Arm(plan);
      _exit(prepared.scenario->act(*rig).ok() ? 0 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
      Broken(fmt::format("signal {}", WTERMSIG(status)));
      return false;
    }
    if (!WIFSIGNALED(status)) {
      if (WEXITSTATUS(status) != 0) Broken(fmt::format("undisturbed, it ended with {}", WEXITSTATUS(status)));
      return false;
    }
    facts_.Apply(rig->outside().facts);
    // The worker was killed too, with what it held.
    Outside& outside = rig->outside();
    ++outside.incarnation;
    outside.sequence = 0;
    // A later version is started as such again.
    Expect(prepared.scenario->opens ? prepared.scenario->act(*rig) : rig->Open());
    if (!rig->is_open()) return true;
    Verify(*rig);
    if (prepared.scenario->after_kill) Expect(prepared.scenario->after_kill(*rig));
    Complete(prepared, *rig);
    return true;
  }

  // Ends what the scenario has begun, and compares with an undisturbed run.
  void Complete(const Prepared& prepared, Rig& rig) {
    Verify(rig);
    Expect(rig.Open());
    Verify(rig);
    if (!rig.is_open()) return;
    Expect(rig.FinishAll());
    Verify(rig);
    if (const std::string results = rig.Results(); results != prepared.results) {
      Broken(fmt::format("the results differ:\n{}\nundisturbed:\n{}", results, prepared.results));
    }
  }

  void Verify(Rig& rig) {
    if (!rig.is_open()) return Broken("the store is not open");
    for (const std::string& violation : rig.Violations()) Broken(violation);
  }

  void Expect(const absl::Status& status) {
    if (!status.ok()) Broken(status.ToString());
  }

  void Broken(const std::string& what) {
    ++report_.failures;
    if (report_.failures <= 50) fmt::print("BROKEN: {}\n  repeat with: storage_faults fail {}\n", what, now_);
  }

  const LoopOptions options_;
  testing::TemporaryFolder folder_{testing::InMemory()};
  SharedFacts facts_;
  LoopReport report_;
  int64_t loops_ = 0;
  std::string now_;
};

}  // namespace

LoopReport RunFailLoop(const LoopOptions& options) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(signal, OnCrash);
  return Loop(options).Run();
}

}  // namespace longreach::faults
