#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "client/absolute_path.h"
#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/output/json.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

using Stub = Connection::Stub;

constexpr std::chrono::hours kPatienceForStore{6};

class Store final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupMaintain,
        .summary = "Look after the store: backup, check and mend, migrate, merge",
        .details =
            "With --store FILE the file is opened for this one command; otherwise it is the scheduler's. Paths are taken on\n"
            "the scheduler's machine.",
        .examples =
            "longreach store check --store longreach.db\n"
            "longreach store backup /backup/longreach.db\n"
            "longreach store merge other.db --store longreach.db"};
  }
  void AddOptions(CLI::App& app) override {
    app.require_subcommand(1);
    const auto add = [this, &app](const char* name, const char* summary) {
      return app.add_subcommand(name, summary)->callback([this, name] { action_ = name; });
    };
    add("backup", "Write a consistent copy while work goes on")
        ->add_option("FILE", path_, "The copy; must not exist")
        ->check(WhyNoText)
        ->required();
    CLI::App* const check = add("check", "Look for anything that contradicts the store's promises");
    check->add_flag("--artifacts", artifacts_, "Also read every artifact and compare it with its hash, and name files that belong to nothing");
    check->add_flag("--repair", repair_,
                    "Mend what follows from the rest of the store, once a backup is made beside it, and put files that belong to nothing aside; reads every artifact. No scheduler may have the store");
    add("migrate", "Bring the file to this program's schema version");
    add("merge", "Take over sweeps, jobs, results, attempts and artifacts of another store; live sweeps that are not done go on here")
        ->add_option("OTHER", path_, "The other store's file")
        ->check(WhyNoText)
        ->required();
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (action_ == "backup" || action_ == "merge") {
      ASSIGN_OR_RETURN(const std::filesystem::path whole, AbsolutePath(action_ == "merge" ? "OTHER" : "FILE", path_));
      path_ = whole.string();
    }
    RETURN_IF_ERROR(CheckBeforeStore(session));
    if (action_ == "merge") session.OpenToMerge(path_);
    if (repair_) session.OpenToRepair();
    session.SayIfSlow(Doing(session.settings()));
    const bool only_reads = action_ == "backup" || (action_ == "check" && !repair_);
    ASSIGN_OR_RETURN(Connection * connection,
                     session.Connect(action_ == "merge" ? StoreUse::kCreate : only_reads ? StoreUse::kToRead : StoreUse::kExisting));
    if (action_ == "backup") return Backup(session, *connection);
    if (action_ == "check") return repair_ ? Repair(session, *connection) : Check(session, *connection);
    if (action_ == "migrate") return Migrate(session, *connection);
    return Merge(session, *connection);
  }

 private:
  // Of a large store all of it takes its time.
  std::string Doing(const Settings& settings) const {
    const bool is_here = !settings.store.empty();  // Else its size is that of another machine's file.
    const std::string store = is_here ? "the store " + FileInWords(settings.store) : fmt::format("the store of the scheduler at {}", Printable(settings.scheduler));
    if (action_ == "backup") return fmt::format("copying {} to '{}'", store, Printable(path_));
    if (repair_) return fmt::format("looking through {} and its files, to mend it", store);
    if (action_ == "check") return fmt::format("looking through {}{}", store, artifacts_ ? " and its files" : "");
    if (action_ == "migrate") return fmt::format("opening {}", store);
    return fmt::format("merging {} into {}", is_here ? FileInWords(path_) : fmt::format("'{}'", Printable(path_)), store);
  }
  // With its size, where it is there.
  static std::string FileInWords(const std::string& file) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    return fmt::format("'{}'{}", Printable(file), error ? "" : fmt::format(" ({})", HumanBytes(static_cast<double>(bytes))));
  }

  // No store is made for the sake of one that is not there, and none is mended under a scheduler.
  absl::Status CheckBeforeStore(const Session& session) const {
    if (repair_ && session.settings().store.empty()) {
      return UsageError("--repair takes --store FILE: a store is mended while no scheduler has it", "stop its scheduler, then 'longreach store check --repair --store FILE'");
    }
    std::error_code error;
    if (action_ != "merge" || !session.WouldMakeStore() || std::filesystem::is_regular_file(path_, error)) return absl::OkStatus();
    if (error == std::errc::permission_denied) {
      return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot look at '{}': {}", Printable(path_), error.message()), "merge it as a user who may look into its folder, or name a copy of it");
    }
    return Error(absl::StatusCode::kNotFound, fmt::format("there is no store '{}' to merge", Printable(path_)), "name the file of the store to take over");
  }

  absl::StatusOr<int> Backup(Session& session, Connection& connection) {
    v1::BackupStoreRequest request;
    request.set_path(path_);
    ASSIGN_OR_RETURN(const v1::BackupStoreResponse response,
                     session.Await(connection.Start(&Stub::BackupStore, request, kPatienceForStore)));
    if (session.json()) {
      session.out() << JsonDocument(response);
    } else {
      session.out() << fmt::format("{}: {}\n", Printable(path_), HumanBytes(response.bytes()));
      session.Say("results and tables are in it; logs, weights and checkpoints are files of the folder of artifacts, which is copied apart");
    }
    return kDone;
  }

  absl::StatusOr<int> Check(Session& session, Connection& connection) {
    v1::CheckStoreRequest request;
    request.set_artifacts(artifacts_);
    ASSIGN_OR_RETURN(const v1::CheckStoreResponse response,
                     session.Await(connection.Start(&Stub::CheckStore, request, kPatienceForStore)));
    if (session.json()) {
      session.out() << JsonDocument(response);
    } else {
      PrintCheck(session, response);
    }
    return CodeOf(response);
  }

  absl::StatusOr<int> Repair(Session& session, Connection& connection) {
    ASSIGN_OR_RETURN(const v1::RepairStoreResponse response,
                     session.Await(connection.Start(&Stub::RepairStore, v1::RepairStoreRequest(), kPatienceForStore)));
    if (session.json()) {
      session.out() << JsonDocument(response);
      return CodeOf(response.check());
    }
    for (const std::string& line : response.done()) session.out() << fmt::format("mended: {}\n", Printable(line));
    if (response.done().empty()) session.out() << "nothing to mend\n";
    if (!response.backup().empty()) session.out() << fmt::format("as it was before: '{}'\n", Printable(response.backup()));
    PrintCheck(session, response.check());
    return CodeOf(response.check());
  }

  static int CodeOf(const v1::CheckStoreResponse& response) { return response.violations().empty() ? kDone : kFailed; }

  static void PrintCheck(Session& session, const v1::CheckStoreResponse& response) {
    for (const std::string& violation : response.violations()) session.out() << Printable(violation) << "\n";
    for (const std::string& remark : response.remarks()) session.out() << fmt::format("remark: {}\n", WithFlags(Printable(remark), session));
    session.out() << fmt::format(
        "{}: looked at {}, {}, {}, {} and {}\n",
        response.violations().empty() ? "sound" : "not sound",
        Count(response.sweeps(), "sweep"), Count(response.jobs(), "job"),
        Count(response.attempts(), "attempt"),
        Count(static_cast<int64_t>(response.measurements()), "measurement"),
        Count(response.artifacts(), "artifact"));
  }

  // A scheduler migrates what it opens; this only says so.
  absl::StatusOr<int> Migrate(Session& session, Connection& connection) {
    ASSIGN_OR_RETURN(const v1::GetInfoResponse info, connection.Call(&Stub::GetInfo, v1::GetInfoRequest()));
    if (session.json()) {
      session.out() << JsonDocument(info);
    } else if (info.store_version_found() == 0) {
      session.out() << fmt::format("{} was made with version {}\n", Printable(info.store_path()), info.store_version());
    } else if (info.store_version() == info.store_version_found()) {
      session.out() << fmt::format("{} has version {} already\n", Printable(info.store_path()),
                                   info.store_version());
    } else {
      session.out() << fmt::format("{}: version {}, was {}\n", Printable(info.store_path()),
                                   info.store_version(), info.store_version_found());
    }
    return kDone;
  }

  absl::StatusOr<int> Merge(Session& session, Connection& connection) {
    v1::MergeStoreRequest request;
    request.set_path(path_);
    ASSIGN_OR_RETURN(const v1::ListSweepsResponse before, connection.Call(&Stub::ListSweeps, v1::ListSweepsRequest()));
    ASSIGN_OR_RETURN(const v1::MergeStoreResponse response,
                     session.Await(connection.Start(&Stub::MergeStore, request, kPatienceForStore)));
    SayWhatGoesOn(session, connection, before, response.jobs_added());
    if (session.json()) {
      session.out() << JsonDocument(response);
      return kDone;
    }
    for (const std::string& difference : response.differences()) {
      session.out() << Printable(difference) << "\n";
    }
    // Of very many only some are named.
    const bool differ = !response.differences().empty();
    // An older scheduler does not say how many sweeps.
    const std::string sweeps = response.sweeps_added() == 0 ? "" : Count(response.sweeps_added(), "sweep") + ", ";
    session.out() << fmt::format("added {}{}, {} and {}; {} in both{}\n", sweeps, Count(response.jobs_added(), "job"), Count(response.results_added(), "result"),
                                 Count(response.artifacts_added(), "artifact"), Count(response.results_in_both(), "result"),
                                 response.results_in_both() == 0 ? "" : differ ? ", ours kept where they differ" : ", none of which differs");
    return kDone;
  }

  // Workers here train what came along and is not done, though nobody submitted it here. Of jobs that were here before, or that several of these sweeps have, there
  // is one, and each sweep counts it: so nothing is added up, and where they count more than have come, that is said.
  static void SayWhatGoesOn(Session& session, Connection& connection, const v1::ListSweepsResponse& before, int64_t jobs_added) {
    const absl::StatusOr<v1::ListSweepsResponse> after = connection.Call(&Stub::ListSweeps, v1::ListSweepsRequest());
    if (!after.ok()) return;  // The merge is done all the same.
    std::set<std::string> known;
    for (const v1::Sweep& sweep : before.sweeps()) known.insert(sweep.id());
    std::vector<std::string> lines;
    int64_t jobs = 0;
    for (const v1::Sweep& sweep : after->sweeps()) {
      if (known.contains(sweep.id()) || sweep.state() != "live" || OpenJobs(sweep) == 0) continue;
      jobs += OpenJobs(sweep);
      lines.push_back(fmt::format("  {} of {}; 'longreach pause {}{}' holds {}", Count(OpenJobs(sweep), "open job"), Printable(sweep.name()), ShortId(sweep.id()),
                                  WhereFlags(session), OpenJobs(sweep) == 1 ? "it" : "them"));
    }
    if (lines.empty()) return;
    session.Say(lines.size() == 1 ? "1 sweep came along and is live here now: workers of this store train its open jobs"
                                  : fmt::format("{} came along and are live here now: workers of this store train their open jobs", Count(static_cast<int64_t>(lines.size()), "sweep")));
    constexpr size_t kMostLines = 10;
    for (size_t i = 0; i < lines.size() && i < kMostLines; ++i) session.Say(lines[i]);
    if (lines.size() > kMostLines) session.Say("  ...; 'longreach sweeps' shows all of them");
    if (jobs > jobs_added) session.Say(fmt::format("  some of these jobs were here before, or are of more than one sweep: {} came along, and each is trained once", Count(jobs_added, "job")));
  }

  std::string action_;
  std::string path_;
  bool artifacts_ = false;
  bool repair_ = false;
};

}  // namespace

std::unique_ptr<Command> Make_store() { return std::make_unique<Store>(); }

}  // namespace longreach::client
