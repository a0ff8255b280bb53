// Values over several test lengths, of jobs that were asked at different ones: passkeys, and slices of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "scheduler/service/query_table.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class SliceLengthsTest : public QueryFixture {
 protected:
  // Two systems, of which one is asked for passkeys at a length more.
  void Submit() {
    v1::SweepSpec spec;
    spec.set_name("keys");
    spec.set_experiment("llama");
    spec.set_data("pg19");
    spec.mutable_axes()->add_task("bytes");
    spec.mutable_axes()->add_learning_rate(1e-4);
    spec.mutable_axes()->add_seed(0);
    spec.mutable_evaluation()->add_lengths(2048);
    for (const int length : {512, 1024}) spec.mutable_evaluation()->add_passkey_lengths(length);
    for (const char* name : {"far", "near"}) {
      v1::System& system = *spec.add_systems();
      system.set_name(name);
      system.mutable_with()->mutable_axes()->add_encoding("none");
      system.mutable_with()->mutable_model()->set_layers(name == std::string("far") ? 2 : 3);
    }
    for (const int length : {512, 1024, 2048}) spec.mutable_systems(0)->mutable_with()->mutable_evaluation()->add_passkey_lengths(length);
    made_ = AddSweep(spec);
    AddWorker("w1", "box");
  }
  // In order of names: far, near.
  void Measure(size_t system, const std::vector<store::Measurement>& measurements) {
    const std::span<const int64_t> job = std::span(made_.jobs).subspan(system, 1);
    const int64_t attempt = Lease("w1", job);
    Write([&](sql::Transaction& tx) { return store::CompleteJob(tx, job[0], attempt, {.measurements = measurements}); });
    End(attempt, Outcome::kSucceeded);
  }
  std::vector<std::string> Notes(const v1::TableSpec& spec) {
    store::Snapshot snapshot = Read();
    v1::GetTableRequest request;
    request.set_sweep("keys");
    *request.mutable_table() = spec;
    const absl::StatusOr<v1::Table> table = GetTable(snapshot.db(), request);
    EXPECT_TRUE(table.ok()) << table.status();
    return table.ok() ? std::vector<std::string>(table->notes().begin(), table->notes().end()) : std::vector<std::string>();
  }
  static v1::TableSpec Keys(const std::string& columns) {
    v1::TableSpec spec;
    spec.set_rows("system");
    spec.set_columns(columns);
    spec.set_metric("passkey_accuracy");
    spec.set_aggregate("mean");
    return spec;
  }

  Made made_;
};

TEST_F(SliceLengthsTest, PasskeysOverAllLengthsOfSystemsThatWereAskedAtOtherOnesAreNoted) {
  Submit();
  for (const size_t system : {0, 1}) {
    Measure(system, {{"perplexity", 0, "", 9.0}, {"perplexity", 2048, "", 9.0}, {"passkey_accuracy", 0, "", 0.5}, {"passkey_accuracy", 0, "depth=0", 0.75},
                     {"passkey_accuracy", 512, "", 0.5}});
  }
  const std::string told = "values over all lengths are of different tests, as systems were tested at different lengths (near at 512,1024; far at 512,1024,2048); "
                           "--only length=512,1024 compares them";

  EXPECT_THAT(Notes(Keys("task")), Contains(told));
  EXPECT_THAT(Notes(Keys("depth")), Contains(told));
  v1::TableSpec slice = Keys("task");
  slice.set_slice("depth=0");
  EXPECT_THAT(Notes(slice), Contains(told));

  v1::TableSpec at_one = Keys("task");
  at_one.set_length(512);
  EXPECT_THAT(Notes(at_one), Not(Contains(HasSubstr("different tests"))));
  v1::TableSpec other = Keys("task");
  other.set_metric("perplexity");
  EXPECT_THAT(Notes(other), Not(Contains(HasSubstr("different tests")))) << "these were tested at the same length";
}

TEST_F(SliceLengthsTest, MeansOfSlicesOverFewerLengthsAreNoted) {
  Submit();
  Measure(0, {{"passkey_accuracy", 512, "depth=0", 1.0}, {"passkey_accuracy", 1024, "depth=0", 0.5}, {"passkey_accuracy", 2048, "depth=0", 0.0}});
  Measure(1, {{"passkey_accuracy", 512, "depth=0", 1.0}, {"passkey_accuracy", 512, "depth=0.5", 1.0}});
  v1::TableSpec spec = Keys("depth");
  spec.add_only("length=512..1024");

  EXPECT_THAT(Notes(spec), Contains("some jobs have values at fewer of these lengths than others, 1 to 2: their means are of other tests"));

  spec.set_only(0, "length=512");
  EXPECT_THAT(Notes(spec), Not(Contains(HasSubstr("other tests"))));
}

}  // namespace
}  // namespace longreach::service
