// Jobs that read a data set meet the workers that have it.
#include <gtest/gtest.h>

#include <string>

#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_workers.h"
#include "store/workers.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

class EngineDataTest : public EngineFixture {
 protected:
  static v1::SweepSpec Novels() {
    v1::SweepSpec spec;
    spec.set_name("novels");
    spec.set_experiment("language");
    spec.set_data("novels");
    spec.mutable_axes()->add_task("enwik8");
    spec.mutable_axes()->add_encoding("rope");
    spec.mutable_axes()->add_learning_rate(1e-4);
    spec.mutable_axes()->add_seed(0);
    return spec;
  }
  TestWorker Worker(const std::string& id) {
    Engine* engine = engine_.get();
    engines_.push_back(std::make_unique<Engine*>(engine));
    TestWorker worker(engines_.back().get(), id);
    v1::Abilities& abilities = *worker.next().mutable_abilities();
    abilities.add_experiments("language");
    v1::Ability& task = *abilities.add_tasks();
    task.set_name("enwik8");
    task.set_revision(1);
    return worker;
  }
  static void Announce(TestWorker& worker, const std::string& name, char digit) {
    v1::DataSet& data = *worker.next().mutable_abilities()->add_data_sets();
    data.set_name(name);
    data.set_sha256(std::string(64, digit));
    data.set_bytes(1000);
  }
  v1::ExplainJobResponse Explanation(const std::string& job) {
    v1::GetJobRequest request;
    request.set_job(job);
    const absl::StatusOr<v1::ExplainJobResponse> response = ExplainJob(store_->writer_connection(), request, engine_->board().Read());
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::ExplainJobResponse();
  }
  // All that explain says of a job.
  std::string Explained(const std::string& job) {
    const v1::ExplainJobResponse explanation = Explanation(job);
    std::string text;
    for (const std::string& reason : explanation.reasons()) text += reason + "\n";
    return text;
  }
  // The store's only job.
  std::string Job() {
    const auto id = store_->writer_connection().First<std::string>("SELECT id FROM jobs");
    EXPECT_TRUE(id.ok() && id->has_value()) << id.status();
    return id.ok() && id->has_value() ? **id : "";
  }

 private:
  std::vector<std::unique_ptr<Engine*>> engines_;
};

TEST_F(EngineDataTest, AJobWaitsForAWorkerThatHasItsData) {
  Submit(Novels());
  TestWorker without = Worker("without");
  Announce(without, "poems", 'a');

  EXPECT_TRUE(without.Sync().leases().empty());
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-without' has no data set 'novels'; 'longreach data import'"), std::string::npos)
      << Explained(Job());
  EXPECT_TRUE(Explanation(Job()).lacks_data());

  TestWorker with = Worker("with");
  Announce(with, "novels", 'b');
  const v1::Lease lease = with.Take();
  EXPECT_EQ(lease.data().name(), "novels");
  EXPECT_EQ(lease.data().sha256(), std::string(64, 'b'));
  EXPECT_EQ(lease.data().bytes(), 1000);
}

// Else one that announces other names each time would fill the store with them, and nobody else's would be known.
TEST_F(EngineDataTest, BehindSoManyNamesOnesThatAJobAsksForAreKeptAlone) {
  options_.max_data_sets = 2;
  std::vector<std::string> told;
  options_.news = [&told](const News& news) {
    if (news.kind == News::Kind::kDataSets) told.push_back(news.line);
  };
  RestartScheduler();
  const auto known = [this] {
    const absl::StatusOr<std::vector<store::DataSetRow>> rows = store::ListDataSets(store_->writer_connection());
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::string names;
    for (const store::DataSetRow& row : rows.value_or(std::vector<store::DataSetRow>())) names += row.name + " ";
    return names;
  };
  TestWorker hostile = Worker("hostile");
  for (const char* name : {"a1", "a2", "a3"}) Announce(hostile, name, 'a');
  hostile.Sync();
  EXPECT_EQ(known(), "a1 a2 ");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("announces 1 data set that is not listed, as the store knows 2 data sets already"), std::string::npos) << told[0];

  TestWorker honest = Worker("honest");
  Announce(honest, "novels", 'b');
  Announce(honest, "poems", 'b');
  honest.Sync();
  EXPECT_EQ(known(), "a1 a2 ");
  EXPECT_EQ(told.size(), 2u);

  Submit(Novels());
  EXPECT_EQ(honest.Take().data().sha256(), std::string(64, 'b'));
  EXPECT_EQ(known(), "a1 a2 novels ");
  v1::SweepSpec another = Novels();
  another.mutable_axes()->set_seed(0, 1);
  Submit(another);
  TestWorker late = Worker("late");
  Announce(late, "novels", 'c');
  EXPECT_TRUE(late.Sync().leases().empty()) << "of other bytes under the name";
}

TEST_F(EngineDataTest, WhatAWorkerHasFoundDamagedIsToldUntilItIsWhole) {
  const auto damaged_of_worker = [this] {
    const absl::StatusOr<v1::ListWorkersResponse> listed = ListWorkers(store_->writer_connection(), engine_->board().Read());
    EXPECT_TRUE(listed.ok() && listed->workers_size() == 1) << listed.status();
    return listed.ok() && listed->workers_size() == 1 ? listed->workers(0) : v1::WorkerInfo();
  };
  Submit(Novels());
  TestWorker worker = Worker("a");
  Announce(worker, "novels", 'b');
  const v1::Lease lease = worker.Take();
  EXPECT_EQ(damaged_of_worker().damaged_data_sets_size(), 0);

  v1::Abilities& abilities = *worker.next().mutable_abilities();
  abilities.clear_data_sets();
  v1::DamagedDataSet& damaged = *abilities.add_damaged_data_sets();
  damaged.set_name("novels");
  damaged.set_reason("novels/corpus.bin: its bytes have changed");
  worker.Fail(lease, "novels/corpus.bin: its bytes have changed");

  EXPECT_TRUE(worker.Sync().leases().empty()) << "the report and the news come with one call";
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-a' has the data set 'novels' damaged: novels/corpus.bin: its bytes have changed.\n"), std::string::npos) << Explained(Job());
  EXPECT_TRUE(Explanation(Job()).lacks_data());
  const v1::WorkerInfo told = damaged_of_worker();
  ASSERT_EQ(told.damaged_data_sets_size(), 1);
  EXPECT_EQ(told.damaged_data_sets(0).name(), "novels");
  EXPECT_EQ(told.damaged_data_sets(0).reason(), "novels/corpus.bin: its bytes have changed");

  abilities.clear_damaged_data_sets();
  Announce(worker, "novels", 'b');
  EXPECT_EQ(worker.Take().data().name(), "novels");
  EXPECT_EQ(damaged_of_worker().damaged_data_sets_size(), 0);
}

TEST_F(EngineDataTest, AJobGoesToAWorkerThatHasItsModelAndTheTasksOfLongBenchToo) {
  v1::SweepSpec spec = Novels();
  spec.set_experiment("llama");
  spec.mutable_axes()->set_task(0, "tokens");
  spec.mutable_model()->set_folder("tinyllama");
  spec.mutable_training()->set_steps(0);
  spec.mutable_evaluation()->set_longbench("bench");
  spec.mutable_evaluation()->set_longbench_window(3500);
  Submit(spec);
  const auto reader_of_tokens = [&](const std::string& id) {
    TestWorker worker = Worker(id);
    worker.next().mutable_abilities()->add_experiments("llama");
    v1::Ability& task = *worker.next().mutable_abilities()->add_tasks();
    task.set_name("tokens");
    task.set_revision(1);
    return worker;
  };
  TestWorker without = reader_of_tokens("without");
  Announce(without, "novels", 'a');

  EXPECT_TRUE(without.Sync().leases().empty());
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-without' has no data sets 'tinyllama', 'bench'; "), std::string::npos) << Explained(Job());

  Announce(without, "tinyllama", 'b');
  EXPECT_TRUE(without.Sync().leases().empty());
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-without' has no data set 'bench'"), std::string::npos) << Explained(Job());

  TestWorker with = reader_of_tokens("with");
  Announce(with, "novels", 'a');
  Announce(with, "tinyllama", 'b');
  Announce(with, "bench", 'c');
  const v1::Lease lease = with.Take();
  EXPECT_EQ(lease.data().name(), "novels");
  EXPECT_EQ(lease.data().sha256(), std::string(64, 'a'));
  EXPECT_EQ(lease.model().name(), "tinyllama");
  EXPECT_EQ(lease.model().sha256(), std::string(64, 'b'));
  EXPECT_EQ(lease.longbench().name(), "bench");
  EXPECT_EQ(lease.longbench().sha256(), std::string(64, 'c'));
}

TEST_F(EngineDataTest, AJobGoesToAWorkerThatHasItsWholeMixtureWithTheStoresBytes) {
  v1::SweepSpec spec = Novels();
  spec.set_experiment("llama");
  spec.mutable_axes()->set_task(0, "bytes");
  for (const char* name : {"prose", "code"}) {
    spec.mutable_training()->add_mixture(name);
    spec.mutable_training()->add_mixture_weights(1);
  }
  Submit(spec);
  const auto reader_of_bytes = [&](const std::string& id) {
    TestWorker worker = Worker(id);
    worker.next().mutable_abilities()->add_experiments("llama");
    v1::Ability& task = *worker.next().mutable_abilities()->add_tasks();
    task.set_name("bytes");
    task.set_revision(1);
    Announce(worker, "novels", 'a');
    Announce(worker, "code", 'b');
    return worker;
  };
  TestWorker without = reader_of_bytes("without");

  EXPECT_TRUE(without.Sync().leases().empty());
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-without' has no data set 'prose'"), std::string::npos) << Explained(Job());

  TestWorker with = reader_of_bytes("with");
  Announce(with, "prose", 'c');
  const v1::Lease lease = with.Take();
  EXPECT_EQ(lease.data().name(), "novels");
  EXPECT_FALSE(lease.has_model());
  EXPECT_FALSE(lease.has_longbench());
  // In the order of the job, which is that of the names.
  ASSERT_EQ(lease.mixture_size(), 2);
  EXPECT_EQ(lease.mixture(0).name(), "code");
  EXPECT_EQ(lease.mixture(0).sha256(), std::string(64, 'b'));
  EXPECT_EQ(lease.mixture(1).name(), "prose");
  EXPECT_EQ(lease.mixture(1).sha256(), std::string(64, 'c'));
  ASSERT_EQ(lease.jobs_size(), 1);
  EXPECT_EQ(lease.jobs(0).spec().training().mixture(0), "code");
}

TEST_F(EngineDataTest, OtherBytesUnderANameOfAMixtureGetNoSuchJob) {
  TestWorker first = Worker("first");
  Announce(first, "code", 'a');
  first.Sync();
  first.next().set_leaving(true);
  first.Sync();
  v1::SweepSpec spec = Novels();
  spec.set_experiment("llama");
  spec.mutable_axes()->set_task(0, "bytes");
  spec.mutable_training()->add_mixture("code");
  spec.mutable_training()->add_mixture_weights(1);
  Submit(spec);
  TestWorker second = Worker("second");
  v1::Abilities& abilities = *second.next().mutable_abilities();
  abilities.add_experiments("llama");
  v1::Ability& task = *abilities.add_tasks();
  task.set_name("bytes");
  task.set_revision(1);
  Announce(second, "novels", 'd');
  Announce(second, "code", 'b');

  EXPECT_TRUE(second.Sync().leases().empty());
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-second' has other bytes under the data set 'code': bbbbbbbb instead of aaaaaaaa"),
            std::string::npos)
      << Explained(Job());
}

TEST_F(EngineDataTest, AnImportWhileTheWorkerWaitsBringsTheJob) {
  Submit(Novels());
  TestWorker worker = Worker("a");
  ASSERT_TRUE(worker.Sync().leases().empty());

  Announce(worker, "novels", 'b');

  EXPECT_EQ(worker.Take().data().sha256(), std::string(64, 'b'));
}

// As 'longreach run' starts one, on a store whose run before had another sweep.
TEST_F(EngineDataTest, WhatAWorkerLackedBeforeItBeganAnewIsNotToldOfIt) {
  TestWorker worker = Worker("a");
  worker.Sync();
  worker.next().set_leaving(true);
  worker.Sync();
  worker.next().set_leaving(false);
  Submit(Novels());
  worker.Restart();
  Announce(worker, "novels", 'b');

  busy_ = true;
  EXPECT_FALSE(worker.Call().has_value());
  EXPECT_FALSE(Explanation(Job()).stuck());
  EXPECT_FALSE(Explanation(Job()).lacks_data());
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-a' has just begun, and has not said yet what it can do.\n"), std::string::npos) << Explained(Job());

  RunWaiting();
  ASSERT_TRUE(worker.late().has_value() && worker.late()->ok());
  EXPECT_EQ((*worker.late())->leases_size(), 1);
}

// It has its trainer to wait for, and results to hand in meanwhile.
TEST_F(EngineDataTest, AWorkerThatCallsBeforeItKnowsItselfIsNotTakenForWhatItWas) {
  TestWorker worker = Worker("a");
  worker.Sync();
  Submit(Novels());
  EXPECT_TRUE(Explanation(Job()).lacks_data());
  worker.Restart();
  const v1::Abilities known = worker.next().abilities();
  worker.next().clear_abilities();

  worker.Sync();

  EXPECT_FALSE(Explanation(Job()).stuck());
  *worker.next().mutable_abilities() = known;
  worker.Sync();
  EXPECT_TRUE(Explanation(Job()).lacks_data());
  Announce(worker, "novels", 'b');
  EXPECT_EQ(worker.Take().data().name(), "novels");
}

TEST_F(EngineDataTest, OtherBytesUnderTheNameGetNoSuchJob) {
  TestWorker first = Worker("first");
  Announce(first, "novels", 'a');
  first.Sync();
  first.next().set_leaving(true);
  first.Sync();
  Submit(Novels());
  TestWorker second = Worker("second");
  Announce(second, "novels", 'b');

  EXPECT_TRUE(second.Sync().leases().empty());
  EXPECT_NE(Explained(Job()).find("Worker 'name-of-second' has other bytes under the data set 'novels': bbbbbbbb instead of aaaaaaaa"),
            std::string::npos)
      << Explained(Job());

  // The right bytes, imported there under the same name.
  second.next().mutable_abilities()->mutable_data_sets(0)->set_sha256(std::string(64, 'a'));
  EXPECT_EQ(second.Take().data().sha256(), std::string(64, 'a'));
}

TEST_F(EngineDataTest, AfterARestartALeaseNamesTheSameBytes) {
  Submit(Novels());
  TestWorker worker = Worker("a");
  Announce(worker, "novels", 'b');
  const v1::SynchronizeResponse given = worker.Sync();
  ASSERT_EQ(given.leases_size(), 1);

  // The lease was lost on its way: it is sent again.
  RestartScheduler();
  TestWorker again = Worker("a");
  Announce(again, "novels", 'b');
  const v1::SynchronizeResponse repeated = again.Sync();
  ASSERT_EQ(repeated.leases_size(), 1);
  EXPECT_EQ(repeated.leases(0).attempt(), given.leases(0).attempt());
  EXPECT_EQ(repeated.leases(0).data().sha256(), std::string(64, 'b'));
}

}  // namespace
}  // namespace longreach::service
