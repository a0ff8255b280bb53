#include "tests/faults/storage/power_loss.h"

#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "tests/faults/storage/disk_model.h"
#include "tests/faults/storage/rig.h"
#include "tests/support/temporary_folder.h"

namespace longreach::faults {
namespace {

constexpr int kShown = 20;

struct Told {
  std::string about;
  std::optional<Fact> fact;  // Nothing: it need not hold any more.
};

// Everything that a store does for its users, with a log short enough to be taken over into the file several times.
absl::Status Live(Rig& rig) {
  using v1::AttemptReport;
  using v1::SteerSweepRequest;
  RETURN_IF_ERROR(rig.Open());
  RETURN_IF_ERROR(rig.Submit("one", 6));
  for (int round = 0; round < 3; ++round) {
    RETURN_IF_ERROR(rig.Synchronize(1));
    RETURN_IF_ERROR(rig.Synchronize(0, false, rig.Points(1, 40)));
    for (int step = 10; step <= 40; step += 10) RETURN_IF_ERROR(rig.Upload("checkpoint", 100 * round + step));
    if (round == 0) {
      rig.End(AttemptReport::OUTCOME_GIVEN_BACK);
    } else {
      RETURN_IF_ERROR(rig.UploadLinked("weights", 100 * round));
      rig.End(AttemptReport::OUTCOME_SUCCEEDED);
    }
    RETURN_IF_ERROR(rig.Synchronize(0));
    RETURN_IF_ERROR(rig.Steer("one", SteerSweepRequest::ACTION_SET_PRIORITY, round + 1));
  }
  RETURN_IF_ERROR(rig.Submit("two", 12, 1));
  RETURN_IF_ERROR(rig.Steer("two", SteerSweepRequest::ACTION_PAUSE));
  RETURN_IF_ERROR(rig.Drain(true));
  RETURN_IF_ERROR(rig.Drain(false));
  RETURN_IF_ERROR(rig.Backup("copy.db"));
  RETURN_IF_ERROR(rig.Open());  // The log is taken over and removed, and begins anew.
  RETURN_IF_ERROR(rig.Steer("two", SteerSweepRequest::ACTION_RESUME));
  RETURN_IF_ERROR(rig.Synchronize(1));
  RETURN_IF_ERROR(rig.Upload("weights", 900));
  RETURN_IF_ERROR(rig.WriteGroup());
  RETURN_IF_ERROR(rig.OpenLater());
  rig.End(AttemptReport::OUTCOME_SUCCEEDED);
  RETURN_IF_ERROR(rig.Synchronize(0));
  return rig.FinishAll();
}

class PowerLoss {
 public:
  explicit PowerLoss(const PowerOptions& options) : options_(options) {}

  PowerReport Run() {
    Record();
    if (report_.lost > 0) return report_;
    DiskModel disk;
    disk.AddFolder("");
    std::map<std::string, Fact> facts;
    size_t told = 0;
    int64_t moment = 0;
    for (const Step& step : steps_) {
      const bool answer = step.kind == Step::Kind::kSaid;
      if (answer) {
        for (; told < static_cast<size_t>(step.offset); ++told) {
          if (told_[told].fact) facts[told_[told].about] = *told_[told].fact;
          else facts.erase(told_[told].about);
        }
      }
      // Before a sync the most is in danger; after an answer nothing may be.
      if (answer || step.kind == Step::Kind::kSync || step.kind == Step::Kind::kSyncFolder) {
        ++moment;
        const bool chosen = options_.moment >= 0 ? moment == options_.moment : (moment - 1) % options_.every == 0;
        if (chosen) Lose(disk, facts, moment);
      }
      disk.Apply(step);
    }
    return report_;
  }

 private:
  void Record() {
    const std::filesystem::path folder = folder_ / "life";
    std::filesystem::create_directory(folder);
    Rig rig(folder, {.synchronous_off = options_.synchronous_off, .checkpoint_pages = 60});
    rig.OnFact([this](const std::string& about, const Fact* fact) {
      told_.push_back({.about = about, .fact = fact == nullptr ? std::nullopt : std::optional(*fact)});
      Note({.kind = Step::Kind::kSaid, .offset = static_cast<int64_t>(told_.size())});
    });
    StartTrace(folder.string());
    const absl::Status lived = Live(rig);
    steps_ = EndTrace();
    if (!lived.ok()) Broken("undisturbed: " + lived.ToString());
    for (const std::string& violation : rig.Violations()) Broken("undisturbed: " + violation);
    outside_ = rig.outside();
    report_.steps = std::ssize(steps_);
    for (const Step& step : steps_) {
      report_.syncs += step.kind == Step::Kind::kSync || step.kind == Step::Kind::kSyncFolder;
      report_.answers += step.kind == Step::Kind::kSaid;
    }
  }

  void Lose(const DiskModel& disk, const std::map<std::string, Fact>& facts, int64_t moment) {
    ++report_.moments;
    for (int pattern = 0; pattern < options_.patterns; ++pattern) {
      if (options_.pattern >= 0 && pattern != options_.pattern) continue;
      ++report_.points;
      const std::filesystem::path folder = folder_ / "after";
      std::filesystem::remove_all(folder);
      std::filesystem::create_directory(folder);
      std::mt19937_64 random(options_.seed * 1'000'003 + static_cast<uint64_t>(moment) * 101 + static_cast<uint64_t>(pattern));
      disk.LosePower(pattern, random, folder);
      if (const std::string wrong = WhatIsWrong(folder, facts); !wrong.empty()) {
        Broken(fmt::format("{}\n  repeat with: storage_faults power{} --seed {} --moment {} --pattern {}", wrong,
                           options_.synchronous_off ? " --synchronous-off" : "", options_.seed, moment, pattern));
      }
    }
  }

  // Opens what is left as the next start would, with the version that may have written last.
  std::string WhatIsWrong(const std::filesystem::path& folder, const std::map<std::string, Fact>& facts) const {
    Rig rig(folder);
    rig.outside().clock = outside_.clock;
    rig.outside().facts = facts;
    if (const absl::Status opened = rig.OpenLater(); !opened.ok()) return "does not open: " + opened.ToString();
    std::string wrong;
    for (const std::string& violation : rig.Violations()) wrong += (wrong.empty() ? "" : "; ") + violation;
    return wrong;
  }

  void Broken(const std::string& what) {
    ++report_.lost;
    if (report_.lost <= kShown) fmt::print("{}: {}\n", options_.synchronous_off ? "lost, as it must be" : "BROKEN", what);
  }

  const PowerOptions options_;
  testing::TemporaryFolder folder_{testing::InMemory()};
  std::vector<Step> steps_;
  std::vector<Told> told_;
  Outside outside_;
  PowerReport report_;
};

}  // namespace

PowerReport RunPowerLoss(const PowerOptions& options) { return PowerLoss(options).Run(); }

}  // namespace longreach::faults
