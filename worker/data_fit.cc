#include "worker/data_fit.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "worker/agent/spec_to_settings.h"
#include "worker/refused.h"
#include "worker/trainer/train.h"

namespace longreach {
namespace {

absl::Status CheckFits(const std::filesystem::path& folder, const std::string& job) {
  v1::JobSpec spec;
  if (!google::protobuf::util::JsonStringToMessage(job, &spec).ok()) return absl::InvalidArgumentError(fmt::format("'{}' is no job's specification", job));
  ASSIGN_OR_RETURN(trainer::PackSettings settings, agent::SettingsOf(spec));
  const trainer::DataSource here{.folder = folder, .sha256 = ""};
  if (!settings.model.folder.empty()) return trainer::CheckPublished(settings, here);
  // What is no matter of data is left out here, and must be right by the trainer's rules.
  trainer::PackSettings::Training& training = settings.training;
  settings.model.dropout = 0;
  training.warmup_steps = 0;
  // Nor are lengths looked at that are left out: a mixture is opened for those to train on, and one token is the least.
  if (training.lengths.empty() && training.mixture.empty()) training.steps = 0;
  if (training.lengths.empty() && !training.mixture.empty()) training.lengths = {1};
  return trainer::CheckDataSets(settings, here);
}

}  // namespace

int SayWhichFit(const std::filesystem::path& folder, const std::vector<std::string>& jobs, bool json) {
  for (const std::string& job : jobs) {
    if (const absl::Status fits = CheckFits(folder, job); !fits.ok()) return Refused(fits, json);
    fmt::print("fits\n");
  }
  return 0;
}

}  // namespace longreach
