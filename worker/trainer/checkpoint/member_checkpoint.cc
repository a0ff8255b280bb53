#include "worker/trainer/checkpoint/member_checkpoint.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

// Of all members. Those of the end are always there, as many as there are; others, and what a problem does not score, are left out.
absl::StatusOr<TestScores> ScoresOf(const SafetensorsFile& file, std::string_view prefix) {
  TestScores scores;
  for (const auto& [name, values] : {std::pair<std::string_view, std::vector<double>*>{"accuracy", &scores.accuracy},
                                     {"loss", &scores.loss},
                                     {"exact_match", &scores.exact_match}}) {
    const std::string tensor = Text(prefix, name);
    const bool may_lack = prefix != "test/" || name == "exact_match";
    if (may_lack && file.Find(tensor) == nullptr) continue;
    ASSIGN_OR_RETURN(*values, file.Doubles(tensor));
  }
  return scores;
}

bool Fit(const TestScores& scores, size_t members) {
  return scores.accuracy.size() % members == 0 && scores.loss.size() == scores.accuracy.size() &&
         (scores.exact_match.empty() || scores.exact_match.size() == scores.accuracy.size());
}

}  // namespace

absl::StatusOr<MemberCheckpoint> ReadMemberCheckpoint(const SafetensorsFile& file, int member, const std::string& job,
                                                      const std::string& settings) {
  const auto refuse = [](std::string_view why) { return absl::InvalidArgumentError(std::string(why)); };
  if (file.Metadata("kind") != "checkpoint") return refuse("is not a checkpoint");
  if (file.Metadata("settings") != settings) return refuse("was made with other settings");
  const std::vector<std::string> jobs = Split(file.Metadata("jobs"), '\n');
  const size_t m = static_cast<size_t>(member);
  if (member < 0 || m >= jobs.size() || jobs[m] != job) {
    return refuse(Text("its member ", member, " is not job ", job));
  }
  const std::optional<int64_t> step = ParseInteger(file.Metadata("step"));
  const std::optional<int64_t> loss_updates = ParseInteger(file.Metadata("loss_updates"));
  constexpr int64_t kMax = std::numeric_limits<int>::max();
  if (!step || !loss_updates || *step < 0 || *step > kMax || *loss_updates < 0 || *loss_updates > kMax) {
    return refuse("its header has no step");
  }
  ASSIGN_OR_RETURN(const std::vector<int32_t> flags, file.Integers("member/flags"));
  ASSIGN_OR_RETURN(const std::vector<double> loss_sum, file.Doubles("member/loss_sum"));
  ASSIGN_OR_RETURN(const TestScores at_end, ScoresOf(file, "test/"));
  ASSIGN_OR_RETURN(const TestScores on_the_way, ScoresOf(file, "on_the_way/"));
  ASSIGN_OR_RETURN(const std::vector<double> curve, file.Doubles("member/curve"));
  std::vector<double> passkey, longbench;
  if (file.Find("test/passkey") != nullptr) {
    ASSIGN_OR_RETURN(passkey, file.Doubles("test/passkey"));
  }
  if (file.Find("test/longbench") != nullptr) {
    ASSIGN_OR_RETURN(longbench, file.Doubles("test/longbench"));
  }
  if (flags.size() != jobs.size() * kCheckpointFlags || loss_sum.size() != jobs.size() ||
      !Fit(at_end, jobs.size()) || !Fit(on_the_way, jobs.size()) || curve.size() % jobs.size() != 0 || passkey.size() % jobs.size() != 0 || longbench.size() % jobs.size() != 0) {
    return refuse("its tensors do not fit each other");
  }
  const auto flag = flags.begin() + static_cast<std::ptrdiff_t>(m * kCheckpointFlags);
  const size_t curve_row = curve.size() / jobs.size();
  if (flag[4] < 0 || static_cast<size_t>(flag[4]) > curve_row) {
    return refuse("its loss curve is shorter than it says");
  }
  if (flag[1] != 0) return refuse(Text("job ", job, " had been dropped from this pack"));
  const auto curve_begin = curve.begin() + static_cast<std::ptrdiff_t>(m * curve_row);
  const auto of_member = [m, all = jobs.size()](const std::vector<double>& values) {
    const size_t row = values.size() / all;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(m * row);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(row));
  };
  const auto scores_of_member = [&of_member](const TestScores& scores) {
    return TestScores{.accuracy = of_member(scores.accuracy), .loss = of_member(scores.loss), .exact_match = of_member(scores.exact_match)};
  };
  const auto each = [all = jobs.size()](const std::vector<double>& values) { return static_cast<int>(values.size() / all); };
  MemberCheckpoint found{.file = &file,
                         .member = member,
                         .point = {.step = static_cast<int>(*step),
                                   .curve_tests = each(on_the_way.accuracy),
                                   .lengths_done = each(at_end.accuracy),
                                   .cells_done = each(passkey),
                                   .samples_done = each(longbench)},
                         .loss_updates = static_cast<int>(*loss_updates),
                         .state = {}};
  found.state = {.live = flag[0] != 0,
                 .dropped = false,
                 .diverged = flag[2] != 0,
                 .diverged_at = flag[3],
                 .loss_sum = loss_sum[m],
                 .curve = {curve_begin, curve_begin + flag[4]},
                 .on_the_way = scores_of_member(on_the_way),
                 .at_end = scores_of_member(at_end),
                 .passkey = of_member(passkey),
                 .longbench = of_member(longbench)};
  return found;
}

}  // namespace longreach::trainer
