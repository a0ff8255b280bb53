#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/measurement_pages.h"
#include "client/commands/step_slice.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/interrupt.h"
#include "client/new_file.h"
#include "client/output/event_file.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/private_folder.h"
#include "proto/base/names.h"
#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

// A folder's name: what comes from a store never leads out of the folder that is made.
std::string FolderName(std::string_view text) {
  std::string name;
  for (const char c : text) name += IsNameCharacter(c) || c == ':' ? c : '_';
  return name.empty() || name[0] == '.' ? "_" + name : name;
}

// By which TensorBoard tells runs apart, and which it filters by.
std::filesystem::path RunOf(const v1::Job& job) {
  std::filesystem::path run;
  if (!job.systems().empty()) run /= FolderName(job.systems(0));
  run /= FolderName(job.task());
  run /= FolderName(job.encoding());
  return run / FolderName(fmt::format("rate-{}_seed-{}", ShortestNumber(job.learning_rate()), job.seed()));
}

struct TagAtStep {
  std::string tag;
  int64_t step = 0;
};

struct Scalar {
  TagAtStep place;
  double value = 0;
};

// Losses, and scores while the job was trained, by step; scores at its end by length, and those over all lengths where the training ended.
TagAtStep PlaceOfValue(const v1::Job& job, const v1::Measurement& one) {
  const std::optional<int64_t> step = StepOfSlice(one.slice());
  if (one.metric() == kTrainingLoss) return {one.metric(), step.value_or(0)};
  if (step.has_value()) return {one.metric() + "/by_step/" + (one.length() > 0 ? fmt::format("length={}", one.length()) : "over_all_lengths"), *step};
  const std::string slice = one.slice().empty() ? "" : "/" + one.slice();
  if (one.length() > 0) return {one.metric() + "/by_length" + slice, one.length()};
  return {one.metric() + "/over_all_lengths" + slice, job.steps()};
}

class TensorBoard final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Write what a sweep measured as event files, which TensorBoard shows",
            .details =
                "DIR gets a run for each job, in folders by system, task, encoding, and learning rate and seed. 'training_loss' is against the step.\n"
                "Of each metric, 'accuracy/by_length' has the test length in the place of the step, and 'accuracy/over_all_lengths' one value, at\n"
                "the last step of training. What was tested while jobs were trained (evaluation.curve_every) is against the step as well, in\n"
                "'accuracy/by_step'. Values are as they are stored (accuracy from 0 to 1). Losses of jobs that run are written as\n"
                "far as they are; of one that diverged those that are finite. '--only length=100' leaves losses out, which have no test length.\n"
                "Times are those of writing: choose steps for the horizontal axis.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach tensorboard last runs && tensorboard --logdir runs\n"
                        "longreach tensorboard table-b1 runs --only task=even_pairs --only seed=0"};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    AddNewFolderArgument(app, folder_);
    AddOnlyOption(app, only_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(const std::filesystem::path target, CheckedNewFolder("DIR", folder_));
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
    ASSIGN_OR_RETURN(const v1::GetInfoResponse info, connection->Call(&Connection::Stub::GetInfo, v1::GetInfoRequest()));
    time_s_ = info.now().seconds();

    InterruptScope interrupt;  // What is half written goes away with us.
    ASSIGN_OR_RETURN(const PrivateFolder beside, PrivateFolder::Beside(target));
    tree_ = beside / "runs";
    for (const std::string_view metric : {std::string_view(), kTrainingLoss}) {
      const absl::Status written = WriteValues(*connection, sweep, metric, interrupt);
      if (interrupt.count() > 0) return interrupt.exit_code();
      RETURN_IF_ERROR(written);
    }
    if (values_ == 0) {
      return Error(absl::StatusCode::kFailedPrecondition, fmt::format("no job of sweep '{}' that is asked for has a value yet", Printable(sweep.name())),
                   fmt::format("'longreach status {}{}' says how it gets on", ShortId(sweep.id()), WhereFlags(session)));
    }
    std::error_code error;
    std::filesystem::rename(tree_, target, error);  // Takes no place of what has come there meanwhile.
    if (error) return NotWritten(target, error.message());
    if (session.json()) {
      session.out() << JsonDocument({{"folder", JsonText(target.string())}, {"values", JsonNumber(static_cast<double>(values_))}});
    } else {
      session.out() << fmt::format("{}: {}\n", Printable(folder_), Count(values_, "value"));
      session.Say(fmt::format("'tensorboard --logdir {}' shows them", ShellWord(folder_)));
    }
    if (const int64_t open = OpenJobs(sweep); open > 0) {
      session.Say(fmt::format("note: {} of the sweep {} not finished; what {} yet to measure is for another folder", Count(open, "job"), open == 1 ? "is" : "are",
                              open == 1 ? "it has" : "they have"));
    }
    return kDone;
  }

 private:
  static absl::Status NotWritten(const std::filesystem::path& path, std::string_view why) {
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot write {}: {}", Printable(path.string()), Printable(why)));
  }

  // Jobs come one after the other; one with many values may be in several pages. Files of losses and of other values lie side by side.
  absl::Status WriteValues(Connection& connection, const v1::Sweep& sweep, std::string_view metric, const InterruptScope& interrupt) {
    v1::ListMeasurementsRequest question;
    question.set_sweep(sweep.id());
    question.set_metric(std::string(metric));
    for (const std::string& one : only_) question.add_only(one);
    v1::Job job;
    std::optional<EventFile> file;
    std::vector<Scalar> by_step;  // They come by the slices' names: step=1000 before step=200.
    const auto finish = [&]() -> absl::Status {
      if (!file.has_value()) return absl::OkStatus();
      // TensorBoard takes a smaller step than the one before for a new begin, and forgets what it had of that tag.
      std::ranges::stable_sort(by_step, {}, [](const Scalar& one) { return one.place.step; });
      for (const Scalar& one : std::exchange(by_step, {})) file->Add(one.place.tag, one.place.step, one.value);
      const absl::Status written = WriteFile(job, metric.empty() ? "values" : metric, file->bytes());
      file.reset();
      return written;
    };
    const absl::Status read = ForEachMeasurementPage(connection, std::move(question), [&](const v1::ListMeasurementsResponse& page) -> absl::StatusOr<bool> {
      for (const v1::JobMeasurements& of_job : page.jobs()) {
        if (of_job.job().id() != job.id()) RETURN_IF_ERROR(finish());
        job = of_job.job();
        for (const v1::Measurement& one : of_job.measurements()) {
          const TagAtStep place = PlaceOfValue(job, one);
          if (!file.has_value()) file.emplace(static_cast<double>(time_s_));
          if (StepOfSlice(one.slice()).has_value()) by_step.push_back({.place = place, .value = one.value()});
          else file->Add(place.tag, place.step, one.value());
          ++values_;
        }
      }
      return interrupt.count() == 0;
    });
    RETURN_IF_ERROR(read);
    return finish();
  }

  // TensorBoard finds a file by the word in its name.
  absl::Status WriteFile(const v1::Job& job, std::string_view what, const std::string& bytes) const {
    const std::filesystem::path run = tree_ / RunOf(job);
    std::error_code error;
    std::filesystem::create_directories(run, error);
    if (error) return NotWritten(run, error.message());
    const std::filesystem::path path = run / fmt::format("events.out.tfevents.{}.{}.{}", time_s_, FolderName(ShortId(job.id())), what);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << bytes;
    out.close();
    return out ? absl::OkStatus() : NotWritten(path, std::strerror(errno));
  }

  std::string sweep_;
  std::string folder_;
  std::vector<std::string> only_;
  int64_t time_s_ = 0;
  std::filesystem::path tree_;
  int64_t values_ = 0;
};

}  // namespace

std::unique_ptr<Command> Make_tensorboard() { return std::make_unique<TensorBoard>(); }

}  // namespace longreach::client
