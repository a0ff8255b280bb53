#include "worker/trainer/checkpoint/member_checkpoint.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "proto/base/text.h"

namespace longreach::trainer {

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
  ASSIGN_OR_RETURN(const std::vector<double> accuracy, file.Doubles("test/accuracy"));
  ASSIGN_OR_RETURN(const std::vector<double> loss, file.Doubles("test/loss"));
  ASSIGN_OR_RETURN(const std::vector<double> curve, file.Doubles("member/curve"));
  std::vector<double> exact_match, passkey, longbench;
  if (file.Find("test/exact_match") != nullptr) {
    ASSIGN_OR_RETURN(exact_match, file.Doubles("test/exact_match"));
  }
  if (file.Find("test/passkey") != nullptr) {
    ASSIGN_OR_RETURN(passkey, file.Doubles("test/passkey"));
  }
  if (file.Find("test/longbench") != nullptr) {
    ASSIGN_OR_RETURN(longbench, file.Doubles("test/longbench"));
  }
  if (flags.size() != jobs.size() * kCheckpointFlags || loss_sum.size() != jobs.size() ||
      accuracy.size() % jobs.size() != 0 || loss.size() != accuracy.size() ||
      (!exact_match.empty() && exact_match.size() != accuracy.size()) ||
      curve.size() % jobs.size() != 0 || passkey.size() % jobs.size() != 0 || longbench.size() % jobs.size() != 0) {
    return refuse("its tensors do not fit each other");
  }
  const auto flag = flags.begin() + static_cast<std::ptrdiff_t>(m * kCheckpointFlags);
  const size_t curve_row = curve.size() / jobs.size();
  if (flag[4] < 0 || static_cast<size_t>(flag[4]) > curve_row) {
    return refuse("its loss curve is shorter than it says");
  }
  if (flag[1] != 0) return refuse(Text("job ", job, " had been dropped from this pack"));
  const auto curve_begin = curve.begin() + static_cast<std::ptrdiff_t>(m * curve_row);
  const size_t lengths = accuracy.size() / jobs.size(), scored = exact_match.size() / jobs.size(), cells = passkey.size() / jobs.size(),
               samples = longbench.size() / jobs.size();
  const auto of_member = [m](const std::vector<double>& values, size_t row) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(m * row);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(row));
  };
  MemberCheckpoint found{.file = &file,
                         .member = member,
                         .point = {.step = static_cast<int>(*step),
                                   .lengths_done = static_cast<int>(lengths),
                                   .cells_done = static_cast<int>(cells),
                                   .samples_done = static_cast<int>(samples)},
                         .loss_updates = static_cast<int>(*loss_updates),
                         .state = {}};
  found.state = {.live = flag[0] != 0,
                 .dropped = false,
                 .diverged = flag[2] != 0,
                 .diverged_at = flag[3],
                 .loss_sum = loss_sum[m],
                 .curve = {curve_begin, curve_begin + flag[4]},
                 .accuracy = of_member(accuracy, lengths),
                 .loss = of_member(loss, lengths),
                 .exact_match = of_member(exact_match, scored),
                 .passkey = of_member(passkey, cells),
                 .longbench = of_member(longbench, samples)};
  return found;
}

}  // namespace longreach::trainer
