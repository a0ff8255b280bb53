#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/sweep_calls.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/types/job.h"

namespace longreach::client {
namespace {

constexpr int kPage = 1000;

class Jobs final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "List the jobs of a sweep",
            .details = kSweepDetails,
            .examples = "longreach jobs last --state failed,diverged\nlongreach jobs last --only encoding=rope,alibi --only seed=0\nlongreach jobs table-b1 -o csv",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_, {.required = false});
    app.add_option("--state", state_, "Only jobs in one of these states: " + Join(JobFilterWords(), ", "))->type_name("STATE[,STATE...]");
    AddOnlyOption(app, only_);
    app.add_option("--limit", limit_, "At most this many; 0: all [0]")
        ->type_name("N")
        ->check(CheckCount);
  }

  absl::StatusOr<int> Run(Session& session) override {
    for (const std::string& state : Split(state_, ',')) {
      if (state == "running") return UsageError("--state: unknown state 'running'", "the state of jobs that run is 'leased'");
      RETURN_IF_ERROR(CheckChoice("--state", state, JobFilterWords()));
    }
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    // JSON is written page by page: ten million jobs do not fit into memory. The first page comes before
    // the first byte, so that a refusal leaves stdout empty.
    std::vector<v1::Job> all;
    int64_t count = 0;
    // What 'last' or a name stands for may change from one page to the next.
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
    v1::ListJobsRequest request;
    request.set_sweep(sweep.id());
    request.set_state(state_);
    for (const std::string& only : only_) request.add_only(only);
    const int64_t most = limit_ == 0 ? std::numeric_limits<int64_t>::max() : limit_;
    do {
      request.set_limit(static_cast<int>(std::min<int64_t>(kPage, most - count)));
      ASSIGN_OR_RETURN(const v1::ListJobsResponse page,
                       connection->Call(&Connection::Stub::ListJobs, request));
      if (session.json() && request.page_token().empty()) {
        session.out() << fmt::format("{{\"schema\":{},\"jobs\":[", JsonText(kJsonSchema));
      }
      for (const v1::Job& job : page.jobs()) {
        if (session.json()) {
          session.out() << (count > 0 ? "," : "") << JsonOf(job);
        } else if (session.settings().quiet) {
          session.out() << job.id() << "\n";
        } else {
          all.push_back(job);
        }
        ++count;
      }
      if (!session.out()) break;  // Nobody reads on.
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty() && count < most);
    if (session.json()) {
      session.out() << "]}\n";
    } else if (!session.settings().quiet) {
      session.Print(JobsGrid(all, session.settings().format == Format::kCsv), "jobs");
    }
    if (!request.page_token().empty() && session.out()) {
      session.Say(fmt::format("the first {}; --limit 0 shows all", Thousands(count)));
    }
    return kDone;
  }

 private:
  std::string sweep_ = "last";
  std::string state_;
  std::vector<std::string> only_;
  int limit_ = 0;
};

}  // namespace

std::unique_ptr<Command> Make_jobs() { return std::make_unique<Jobs>(); }

}  // namespace longreach::client
