// Two stores, of which one takes over the other.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tests/store/fixture.h"

namespace longreach::store {

class MergeTest : public ::testing::Test {
 protected:
  MergeTest() : ours_(folder_ / "ours.db"), theirs_(std::make_unique<TestStore>(folder_ / "theirs.db")) {
    ours_.AddWorker("w1");
    theirs_->AddWorker("w2");
  }

  absl::StatusOr<MergeReport> Merge() {
    theirs_.reset();  // A store is merged when nobody holds it.
    ASSIGN_OR_RETURN(MergeSource source, MergeSource::Open(folder_ / "theirs.db"));
    RETURN_IF_ERROR(source.Check(ours_.db()));
    std::vector<Pin> pins;
    RETURN_IF_ERROR(source.CopyFiles(ours_.store->artifacts(), PartsIn(ours_), pins));
    ASSIGN_OR_RETURN(sql::Transaction tx, sql::Transaction::Begin(ours_.db()));
    ASSIGN_OR_RETURN(MergeReport report, source.Apply(tx));
    RETURN_IF_ERROR(tx.Commit());
    return report;
  }

  JobRow OurJob(const NewJob& job) {
    const absl::StatusOr<std::optional<JobRow>> row = FindJob(ours_.db(), job.id);
    EXPECT_OK(row);
    EXPECT_TRUE(row.ok() && row->has_value());
    return row.ok() && row->has_value() ? **row : JobRow{};
  }

  longreach::testing::TemporaryFolder folder_;
  TestStore ours_;
  std::unique_ptr<TestStore> theirs_;
};

}  // namespace longreach::store
