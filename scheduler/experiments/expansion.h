// From a sweep to its jobs: one value of each axis, under the sweep's settings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "proto/types/job.h"
#include "proto/types/settings.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/experiments/revisions.h"

namespace longreach::experiments {

// Jobs of a sweep with inputs, whose jobs are written together with those that they need.
inline constexpr int64_t kMaxJobsWithInputs = 100'000;
// Of a sweep with systems, whose jobs are all held against each other.
inline constexpr int64_t kMaxJobsOfSystems = 100'000;

// One job, ready to be stored.
struct ExpandedJob {
  JobId id;
  std::string canonical;
  std::string pack_key;
  v1::JobSpec spec;  // Complete.
  // The jobs that make its inputs, in the order of spec.inputs; each may need others.
  std::vector<ExpandedJob> prerequisites;
};

// A sweep that was found to be possible, in all its jobs. Jobs are made one by one, on demand: ten million of them do
// not fit into memory.
class Expansion {
 public:
  // INVALID_ARGUMENT: names the field, the value and the next step. RESOURCE_EXHAUSTED: more than kMaxJobsOfSweep jobs, which
  // is known before the first is made.
  static absl::StatusOr<Expansion> Of(const v1::SweepSpec& sweep);
  // The same with other revisions than the catalog's: those under which a sweep was stored.
  static absl::StatusOr<Expansion> Of(const v1::SweepSpec& sweep, const Revisions& revisions);

  // The sweep's own identity: of its specification and of the revisions that its jobs and their inputs use.
  const SweepId& id() const { return id_; }
  const std::string& canonical() const { return canonical_; }
  const std::string& name() const { return sweep_.name(); }
  const Kind& kind() const { return *kind_; }

  int64_t size() const { return size_; }
  // Its jobs need others.
  bool has_inputs() const;
  // In order of system, task, encoding, learning_rate, seed: the last changes fastest. `index` is below size(). Going up one by one is
  // cheap: what neighbours share is kept. Not for several threads at once.
  ExpandedJob At(int64_t index);
  // What all jobs of a task and encoding of a sweep without systems have in common, as complete jobs have it, but for inputs. Cheaper than a job.
  v1::JobSpec SettingsOf(const std::string& task, const std::string& encoding) const;

 private:
  explicit Expansion(const Revisions& revisions) : revisions_(std::make_shared<const Revisions>(revisions)) {}
  static absl::StatusOr<Expansion> OfSystems(const v1::SweepSpec& sweep, const Revisions& revisions);
  // After kind_ and systems_.
  void SetSweep(const v1::SweepSpec& sweep);
  Revisions UsedRevisions() const;

  v1::SweepSpec sweep_;
  std::shared_ptr<const Revisions> revisions_;
  const Kind* kind_ = nullptr;
  SweepId id_;
  std::string canonical_;
  int64_t size_ = 0;

  // All jobs of one task and encoding, but for learning rate and seed.
  struct Shared {
    int64_t index = -1;       // Of task and encoding together.
    v1::JobSpec spec = {};
    std::string before = {};  // Canonical lines up to where learning_rate goes,
    std::string between = {};  // from there to where seed goes,
    std::string after = {};   // and behind it.
    std::string pack_key = {};
  };
  Shared shared_ = {};
  void Share(int64_t index, const std::string& task, const std::string& encoding);

  std::vector<Expansion> systems_;  // In their order; a sweep without systems is expanded itself.
};

// The systems of a sweep that was found to be possible, in order of expansion: whose jobs end before which index.
struct SystemRange {
  std::string name;
  int64_t end = 0;
};
std::vector<SystemRange> SystemRanges(const v1::SweepSpec& sweep);
// The system of the job at a position of the expansion, as an index into `ranges`; nothing if there is none.
std::optional<size_t> SystemIndexAt(std::span<const SystemRange> ranges, int64_t position);
// Its name; "" if there is none.
std::string SystemAt(std::span<const SystemRange> ranges, int64_t position);

// The values of these settings as the jobs of each system have them, in the order of SystemRanges(); of a sweep without systems there is
// one such set. An empty value: such a job does not have the setting. Of a sweep that is refused here what it says, else the default of its
// kind, for all of its jobs. No paths: nothing.
std::vector<SettingsByJob> SettingsOfSystems(const v1::SweepSpec& sweep, std::span<const std::string> paths);

// A job's complete specification from its canonical text, as the store keeps it.
// INVALID_ARGUMENT: the text is not canonical, or its experiment kind is not known here.
absl::StatusOr<v1::JobSpec> ReadJob(std::string_view canonical);

// A sweep's specification from its canonical text. Settings at their defaults are absent, and so are revisions.
absl::StatusOr<v1::SweepSpec> ReadSweep(std::string_view canonical);

// A sweep from its canonical text, with the revisions of when it was stored: its jobs that are still to come are those of then.
// INVALID_ARGUMENT: this program reads another sweep in it, or none.
absl::StatusOr<Expansion> ExpandStored(std::string_view canonical);

}  // namespace longreach::experiments
