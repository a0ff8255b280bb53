#include "scheduler/service/input_facts.h"

#include <algorithm>
#include <string>

#include "store/jobs.h"
#include "store/reading.h"

namespace longreach::service {

absl::StatusOr<std::vector<core::InputFact>> InputFactsOf(sql::Connection& db, int64_t job) {
  ASSIGN_OR_RETURN(const std::vector<store::JobInputRow> inputs, store::InputsOf(db, job));
  ASSIGN_OR_RETURN(const std::vector<store::JobInputRow> others, store::InputsOfAnotherRun(db, job));
  std::vector<core::InputFact> facts;
  for (const store::JobInputRow& input : inputs) {
    facts.push_back({.name = input.name,
                     .source = input.source_id,
                     .source_state = std::string(store::Word(input.source_state)),
                     .source_failure = input.source_failure,
                     .is_of_another_run = std::ranges::any_of(others, [&input](const store::JobInputRow& other) { return other.name == input.name; })});
  }
  return facts;
}

}  // namespace longreach::service
