#include "scheduler/service/check_call.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "proto/base/build_info.h"
#include "proto/base/sha256.h"
#include "proto/types/wire_limits.h"
#include "proto/types/words.h"
#include "scheduler/service/access/refusals.h"

namespace longreach::service {
namespace {

constexpr size_t kMaxWord = 256;  // Bytes in a name.

bool IsWorkerId(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

absl::Status CheckCount(std::string_view list, int count, int most) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("abilities.{}: {} of them; at most {}", list, count, most));
}

// Each has its place in the store, and is compared with what jobs ask for.
absl::Status CheckNames(const v1::Abilities& abilities) {
  RETURN_IF_ERROR(CheckCount("experiments", abilities.experiments_size(), kMaxAbilitiesOfList));
  RETURN_IF_ERROR(CheckCount("tasks", abilities.tasks_size(), kMaxAbilitiesOfList));
  RETURN_IF_ERROR(CheckCount("encodings", abilities.encodings_size(), kMaxAbilitiesOfList));
  RETURN_IF_ERROR(CheckCount("data_sets", abilities.data_sets_size(), kMaxDataSetsOfWorker));
  std::vector<const std::string*> texts = {&abilities.name(), &abilities.build(), &abilities.device(), &abilities.device_id()};
  for (const std::string& experiment : abilities.experiments()) texts.push_back(&experiment);
  for (const v1::Ability& task : abilities.tasks()) texts.push_back(&task.name());
  for (const v1::Ability& encoding : abilities.encodings()) texts.push_back(&encoding.name());
  for (const std::string* text : texts) {
    if (text->size() > kMaxWord) return absl::InvalidArgumentError(fmt::format("abilities: a text of {} bytes; at most {}", text->size(), kMaxWord));
  }
  return absl::OkStatus();
}

absl::Status CheckAbilities(const v1::Abilities& abilities) {
  RETURN_IF_ERROR(CheckNames(abilities));
  for (const v1::DataSet& data : abilities.data_sets()) {
    if (data.name().empty() || data.name().size() > kMaxWord || !IsSha256(data.sha256())) {
      return absl::InvalidArgumentError(fmt::format("abilities.data_sets: '{}' with the hash '{}'", ForLog(data.name()), ForLog(data.sha256())));
    }
    if (!std::isfinite(data.bytes()) || data.bytes() < 0) {
      return absl::InvalidArgumentError(fmt::format("abilities.data_sets: '{}' of {} bytes", ForLog(data.name()), data.bytes()));
    }
  }
  RETURN_IF_ERROR(CheckCount("damaged_data_sets", abilities.damaged_data_sets_size(), kMaxDamagedDataSets));
  for (const v1::DamagedDataSet& damaged : abilities.damaged_data_sets()) {
    if (damaged.name().empty() || damaged.name().size() > kMaxWord || damaged.reason().size() > kMaxDamageBytes) {
      return absl::InvalidArgumentError(fmt::format("abilities.damaged_data_sets: a name of {} bytes with a reason of {}; a name has 1 to {}, a reason at most {}", damaged.name().size(),
                                                    damaged.reason().size(), kMaxWord, kMaxDamageBytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCall(const v1::SynchronizeRequest& request) {
  if (request.protocol() != kProtocolVersion) {
    return absl::FailedPreconditionError(fmt::format("this worker speaks version {} of the protocol, and this scheduler ({}) version {}; "
                                                     "install the same version of Longreach on both",
                                                     request.protocol(), BuildDescription(), kProtocolVersion));
  }
  if (!IsWorkerId(request.worker())) return absl::InvalidArgumentError("worker: not an id of at most 64 letters, digits, '-' and '_'");
  RETURN_IF_ERROR(CheckAbilities(request.abilities()));
  if (request.held_size() + request.finished_size() > kMaxAttemptsOfCall) {
    return absl::ResourceExhaustedError(fmt::format("{} attempts in one call; at most {}", request.held_size() + request.finished_size(), kMaxAttemptsOfCall));
  }
  std::set<uint64_t> attempts;
  for (const v1::HeldAttempt& held : request.held()) {
    if (!attempts.insert(held.attempt()).second) return absl::InvalidArgumentError(fmt::format("attempt {} is in the call twice", held.attempt()));
  }
  for (const v1::AttemptReport& report : request.finished()) {
    if (!attempts.insert(report.attempt()).second) return absl::InvalidArgumentError(fmt::format("attempt {} is in the call twice", report.attempt()));
    if (!FromProto(report.outcome())) {
      return absl::InvalidArgumentError(fmt::format("attempt {}: {} is no outcome", report.attempt(), static_cast<int>(report.outcome())));
    }
  }
  return absl::OkStatus();
}

}  // namespace longreach::service
