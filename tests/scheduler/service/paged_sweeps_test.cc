// What is kept of a sweep between the pages of its jobs.
#include "scheduler/service/paged_sweeps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_measurements.h"
#include "store/sweeps.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;

class PagedSweepsTest : public QueryFixture {
 protected:
  store::SweepRow RowOf(const std::string& id) {
    store::Snapshot snapshot = Read();
    absl::StatusOr<std::optional<store::SweepRow>> row = store::FindSweep(snapshot.db(), id);
    EXPECT_TRUE(row.ok() && row->has_value()) << row.status();
    return **std::move(row);
  }
  store::SweepRow RowOf(const v1::SweepSpec& spec) { return RowOf(AddSweep(spec).id); }
  // It cannot be read: whoever answers for it has it from before.
  static store::SweepRow Unreadable(store::SweepRow row) {
    row.spec = "no specification";
    return row;
  }

  PagedSweeps paged_;
};

TEST_F(PagedSweepsTest, ASpecificationIsReadOnce) {
  const store::SweepRow row = RowOf(SmallSweep("s"));
  const absl::StatusOr<std::shared_ptr<const PagedSweep>> first = paged_.Of(row);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->metric, "accuracy");

  const absl::StatusOr<std::shared_ptr<const PagedSweep>> again = paged_.Of(Unreadable(row));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *first);
}

TEST_F(PagedSweepsTest, OneThatCouldNotBeReadIsReadAnew) {
  const store::SweepRow row = RowOf(SmallSweep("s"));
  EXPECT_EQ(paged_.Of(Unreadable(row)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(paged_.Of(row).ok());
}

TEST_F(PagedSweepsTest, TheOneThatNobodyHasAskedForLongestGoes) {
  const auto add = [this](size_t number) {
    v1::SweepSpec spec = SmallSweep("s" + std::to_string(number));
    spec.mutable_training()->set_steps(100 + static_cast<int>(number));
    return RowOf(spec);
  };
  std::vector<store::SweepRow> rows;
  for (size_t i = 0; i < PagedSweeps::kMost; ++i) {
    rows.push_back(add(i));
    ASSERT_TRUE(paged_.Of(rows.back()).ok());
  }
  ASSERT_TRUE(paged_.Of(Unreadable(rows[0])).ok()) << "all are kept";

  ASSERT_TRUE(paged_.Of(add(PagedSweeps::kMost)).ok());

  EXPECT_TRUE(paged_.Of(Unreadable(rows[0])).ok());
  EXPECT_FALSE(paged_.Of(Unreadable(rows[1])).ok());
  EXPECT_TRUE(paged_.Of(Unreadable(rows[2])).ok());
}

TEST_F(PagedSweepsTest, OfLargeOnesFewerAreKept) {
  const auto with_rates = [this](int number, int rates) {
    v1::SweepSpec spec = LongSweep("s" + std::to_string(number));
    spec.mutable_training()->set_steps(100 + number);
    spec.mutable_axes()->mutable_seed()->Truncate(1);
    spec.mutable_axes()->clear_learning_rate();
    for (int i = 1; i <= rates; ++i) spec.mutable_axes()->add_learning_rate(1e-5 * i);
    return RowOf(spec);
  };
  const store::SweepRow first = with_rates(0, 100), second = with_rates(1, 100), third = with_rates(2, 100), huge = with_rates(3, 3000);
  const absl::StatusOr<std::shared_ptr<const PagedSweep>> one = paged_.Of(first);
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_GT((*one)->bytes, 100 * sizeof(double));
  PagedSweeps paged(2 * (*one)->bytes + (*one)->bytes / 2);
  for (const store::SweepRow& row : {first, second}) ASSERT_TRUE(paged.Of(row).ok());
  ASSERT_TRUE(paged.Of(Unreadable(first)).ok()) << "there is room for two";

  ASSERT_TRUE(paged.Of(third).ok());

  EXPECT_TRUE(paged.Of(Unreadable(first)).ok());
  EXPECT_FALSE(paged.Of(Unreadable(second)).ok()) << "which nobody has asked for longest";
  EXPECT_TRUE(paged.Of(Unreadable(third)).ok());
  EXPECT_TRUE(paged.Of(huge).ok());
  EXPECT_FALSE(paged.Of(Unreadable(huge)).ok()) << "more than all may have";
  EXPECT_TRUE(paged.Of(Unreadable(first)).ok()) << "which stays beside it";
}

TEST_F(PagedSweepsTest, OfManySeedsTwoAreKept) {
  v1::SweepSpec spec = LongSweep("s");
  spec.add_systems()->set_name("plain");
  v1::System& own = *spec.add_systems();
  own.set_name("with-own");
  for (uint32_t seed = 1000; seed < 1300; ++seed) own.mutable_with()->mutable_axes()->add_seed(seed);
  own.mutable_with()->mutable_training()->set_steps(200);

  const absl::StatusOr<std::shared_ptr<const PagedSweep>> read = paged_.Of(RowOf(spec));

  ASSERT_TRUE(read.ok()) << read.status();
  const PagedSweep& sweep = **read;
  EXPECT_THAT(sweep.spec.axes().seed(), ElementsAre(0, 1));
  ASSERT_EQ(sweep.spec.systems_size(), 2);
  int of_systems = 0;
  for (const v1::System& system : sweep.spec.systems()) of_systems += system.with().axes().seed_size();
  EXPECT_EQ(of_systems, 2);
  ASSERT_EQ(sweep.systems.size(), 2u);
  EXPECT_EQ(sweep.systems[0].end, 500);
  EXPECT_EQ(sweep.systems[1].end, 800) << "where they end was counted before";
}

TEST_F(PagedSweepsTest, PagesAreTheSameAsThoseThatReadTheirSpecification) {
  v1::SweepSpec spec = SmallSweep("s");
  for (const uint32_t seed : {2u, 3u, 4u}) spec.mutable_axes()->add_seed(seed);
  v1::System& slow = *spec.add_systems();
  slow.set_name("slow");
  slow.mutable_with()->mutable_training()->set_steps(200);
  spec.add_systems()->set_name("quick");
  AddSweep(spec);
  for (const std::vector<std::string>& only : std::vector<std::vector<std::string>>{{}, {"training.steps=200", "seed=3..4"}, {"system=quick", "task=parity_check"}}) {
    v1::ListJobsRequest request;
    request.set_sweep("s");
    request.set_limit(3);
    for (const std::string& one : only) request.add_only(one);
    int jobs = 0;
    do {
      store::Snapshot snapshot = Read();
      const absl::StatusOr<v1::ListJobsResponse> kept = ListJobs(snapshot.db(), request, board_.Read(), {}, &paged_), read = ListJobs(snapshot.db(), request, board_.Read());
      ASSERT_TRUE(kept.ok() && read.ok()) << kept.status() << read.status();
      EXPECT_EQ(kept->SerializeAsString(), read->SerializeAsString());
      jobs += kept->jobs_size();
      request.set_page_token(kept->next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(jobs, only.empty() ? 80 : only[0] == "system=quick" ? 20 : 16);
  }
}

TEST_F(PagedSweepsTest, ASeedThatNoJobHasIsRefusedWhateverIsKept) {
  v1::SweepSpec spec = SmallSweep("s");
  for (const uint32_t seed : {2u, 3u, 4u}) spec.mutable_axes()->add_seed(seed);
  ASSERT_TRUE(paged_.Of(RowOf(spec)).ok());
  store::Snapshot snapshot = Read();
  v1::ListJobsRequest jobs;
  jobs.set_sweep("s");
  jobs.add_only("seed=4");
  v1::ListMeasurementsRequest values;
  values.set_sweep("s");
  values.add_only("seed=4");
  EXPECT_TRUE(ListJobs(snapshot.db(), jobs, board_.Read(), {}, &paged_).ok());
  EXPECT_TRUE(ListMeasurements(snapshot.db(), values, {}, {}, &paged_).ok());

  jobs.set_only(0, "seed=5");
  values.set_only(0, "seed=5");

  EXPECT_EQ(ListJobs(snapshot.db(), jobs, board_.Read(), {}, &paged_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ListMeasurements(snapshot.db(), values, {}, {}, &paged_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longreach::service
