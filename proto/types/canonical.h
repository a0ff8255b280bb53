// The canonical text of a specification: what identities are the hash of, and how a specification is stored.
//
//   longreach-job/1
//   encoding=rope
//   learning_rate=0.0003
//   training.lengths=1..10,20
//
// A version, then one line for each field that is set and differs from its default, ascending by path. Numbers are
// the shortest that read back the same; three or more consecutive integers are written as a range; the elements of
// a repeated message go by their field `name`. It is derived from the messages by reflection: a new field needs no
// code here. Since a default is left out, it may never change once released.
#pragma once

#include <string>
#include <string_view>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "proto/types/job.h"

namespace longreach {

// `defaults` holds the value of each field of the experiment kind that is left out when a specification has it too.
std::string CanonicalText(const v1::JobSpec& spec, const v1::JobSpec& defaults);
std::string CanonicalText(const v1::SweepSpec& spec, const v1::SweepSpec& defaults);

// The fields that the text names, and no others: whoever knows the experiment kind fills in its defaults.
// INVALID_ARGUMENT: the text is not of this form; says which line, and what was expected. Numbers and lists may be written in
// another way than CanonicalText() has: who compares texts makes them by that.
absl::StatusOr<v1::JobSpec> ParseCanonicalJob(std::string_view text);
absl::StatusOr<v1::SweepSpec> ParseCanonicalSweep(std::string_view text);

JobId JobIdOf(std::string_view canonical_text);
SweepId SweepIdOf(std::string_view canonical_text);

// Equal for jobs that can be trained as one pack: they differ only in learning rate, seed and which jobs their inputs
// come from.
inline constexpr size_t kPackKeyDigits = 32;  // Of a SHA-256: enough for all packs that there will ever be.
std::string PackKeyOf(std::string_view canonical_text);

// INVALID_ARGUMENT when the message, or one inside it, holds fields that this program does not know (those of a newer client or
// scheduler): to leave them out in silence would compute something else than was asked for.
absl::Status RefuseUnknownFields(const google::protobuf::Message& message);

}  // namespace longreach
