#include "scheduler/service/table_source.h"

#include <optional>

#include "proto/types/words.h"
#include "scheduler/service/needs.h"

namespace longreach::service {
namespace {

// Jobs as a table sees them, from rows of the store: neighbours have most of their texts in common.
class TableJobMaker {
 public:
  explicit TableJobMaker(const TableSource& source) : source_(source) {}

  TableJob& Of(const store::MeasuredJob& measured) {
    bool has_neighbours_settings = true;
    if (job_.task != measured.task) {
      job_.task = measured.task;
      has_neighbours_settings = false;
    }
    if (!encoding_ || encoding_->name != measured.encoding || encoding_->randomized != measured.randomized) {
      encoding_ = EncodingName{std::string(measured.encoding), measured.randomized};
      job_.encoding = ToText(*encoding_);
      has_neighbours_settings = false;
    }
    if (job_.builds != measured.builds) job_.builds = measured.builds;
    if (job_.engines != measured.engines) job_.engines = measured.engines;
    job_.learning_rate = measured.learning_rate;
    job_.seed = measured.seed;
    job_.state = measured.state;
    job_.diverged = measured.diverged;
    job_.value = measured.value;
    job_.again = job_.more = false;
    job_.slice.clear();
    if (data_ != measured.data) {
      data_ = measured.data;
      job_.data = SplitDataSets(data_).corpus;
    }
    const std::optional<size_t> system = experiments::SystemIndexAt(source_.systems, measured.position);
    job_.system = system ? source_.systems[*system].name : std::string();
    if (!has_neighbours_settings || system_ != system) job_.settings = SettingsOf(system);
    system_ = system;
    return job_;
  }

 private:
  const SettingValues* SettingsOf(std::optional<size_t> system) const {
    if (source_.settings.empty()) return nullptr;
    const SettingsByJob& of_system = source_.settings[system.value_or(0)];
    const auto found = of_system.find({job_.task, job_.encoding});
    return found == of_system.end() ? nullptr : &found->second;
  }

  const TableSource& source_;
  TableJob job_;
  std::optional<size_t> system_;
  std::string data_;
  std::optional<EncodingName> encoding_;
};

}  // namespace

absl::Status ForEachJobOf(sql::Connection& db, const TableSource& source, const v1::TableSpec& spec, int length,
                          const std::function<absl::Status(TableJob&, const store::MeasuredJob&)>& use) {
  TableJobMaker maker(source);
  absl::Status status;
  const auto use_row = [&](const store::MeasuredJob& measured) {
    if (status.ok()) status = use(maker.Of(measured), measured);
  };
  RETURN_IF_ERROR(source.input.empty() ? store::ForEachMeasuredMember(db, source.sweep, spec.metric(), length, spec.slice(), use_row)
                                       : store::ForEachMeasuredMaker(db, source.sweep, source.input, spec.metric(), length, spec.slice(), use_row));
  return status;
}

}  // namespace longreach::service
