// What results are asked for by: rows, columns, metric, aggregate, orders, published tables, states, pages. On a store with
// finished, failed and diverged jobs; nothing is written, so it is made once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/output/results_table.h"
#include "scheduler/service/query_attempts.h"
#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_measurements.h"
#include "scheduler/service/query_sweeps.h"
#include "scheduler/service/query_table.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/must.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using fuzz::Must;

class Filled final : public QueryFixture {
 public:
  Filled() {
    AddWorker("w1", "host");
    const Made made = AddSweep(SmallSweep("small"));
    AddSweep(SmallSweep("other"));
    const int64_t attempt = Lease("w1", made.jobs);
    const std::vector<double> accuracies = {0.5, 0.9, 1.0, 0.25, 0.5, 0.75, 0.1};
    Succeed(attempt, std::span(made.jobs).first(7), accuracies);
    Write([&made](sql::Transaction& tx) -> absl::Status {
      for (const auto& [slice, length] : {std::pair("layer=0,head=0", 0), {"layer=0,head=1", 0}, {"layer=1,head=0", 0}, {"depth=3", 50}}) {
        RETURN_IF_ERROR(tx.Run("INSERT INTO measurements(job, metric, length, slice, value) VALUES (?, 'accuracy', ?, ?, 0.5)", made.jobs[0], length, slice).status());
      }
      return absl::OkStatus();
    });
    Diverge(attempt, made.jobs[7], 30);
    Fail(attempt, made.jobs[8], "out of memory");
    GiveBack(attempt, std::span(made.jobs).subspan(9));
    End(attempt, Outcome::kSucceeded);
    known_.words = {"", "last", "small", "other", made.id, made.ids[0], made.ids[7].substr(0, 5), "task", "encoding", "learning_rate", "seed", "accuracy", "loss",
                    "max", "min", "mean", "median", "table_b1", "even_pairs", "parity_check", "rope", "rope:randomized", "0.0001", "0", "1", "queued", "leased",
                    "failed", "succeeded", "diverged", "depth=3", "%", "'", "length", "system", "layer", "depth", "all", "data"};
    known_.numbers = {0, 50, 60, 100, 16};
  }
  void TestBody() override {}
  store::Snapshot Now() { return Read(); }
  const fuzz::Known& known() const { return known_; }
  LiveBoard& board() { return board_; }

 private:
  fuzz::Known known_;
};

template <typename Reply>
bool Answered(const absl::StatusOr<Reply>& answer) {
  if (!answer.ok()) {
    Must(answer.status().code() != absl::StatusCode::kInternal, "no question breaks an invariant", answer.status().message());
    return false;
  }
  Reply read;
  Must(read.ParseFromString(answer->SerializeAsString()), "an answer can be read");
  return true;
}

void AskForTable(fuzz::Draw& draw, store::Snapshot& snapshot) {
  v1::GetTableRequest request;
  request.set_sweep("small");
  v1::TableSpec& spec = *request.mutable_table();
  for (std::string* field : {spec.mutable_rows(), spec.mutable_columns(), spec.mutable_metric(), spec.mutable_aggregate(), spec.mutable_published()}) {
    if (draw.Byte() % 2 == 1) *field = draw.Text();
  }
  if (!draw.Request(request)) return;
  const absl::StatusOr<v1::Table> table = GetTable(snapshot.db(), request);
  if (!Answered(table)) return;
  Must(table->cells_size() == table->rows_size() * table->columns_size(), "a table has all its cells");
  for (const v1::TableCell& cell : table->cells()) {
    Must(cell.jobs() >= cell.succeeded() + cell.failed(), "a cell counts each job once");
  }
  for (const client::Format format : {client::Format::kTable, client::Format::kCsv, client::Format::kLatex}) {
    Must(!client::RenderResults(*table, request.table(), format, {.published = true, .color = true}).empty(), "a table can be printed");
  }
}

// All pages, which together are all jobs.
void AskForJobs(fuzz::Draw& draw, store::Snapshot& snapshot, LiveBoard& board) {
  v1::ListJobsRequest request;
  request.set_sweep("small");
  if (!draw.Request(request)) return;
  for (int page = 0; page < 40; ++page) {
    const absl::StatusOr<v1::ListJobsResponse> jobs = ListJobs(snapshot.db(), request, board.Read());
    if (!Answered(jobs) || jobs->next_page_token().empty()) return;
    request.set_page_token(jobs->next_page_token());
  }
  Must(false, "the pages come to an end");
}

// The same of single values; a few in a page.
void AskForMeasurements(fuzz::Draw& draw, store::Snapshot& snapshot) {
  v1::ListMeasurementsRequest request;
  request.set_sweep("small");
  if (!draw.Request(request)) return;
  for (int page = 0; page < 60; ++page) {
    const absl::StatusOr<v1::ListMeasurementsResponse> values = ListMeasurements(snapshot.db(), request, {.values = 3, .jobs = 5});
    if (!Answered(values) || values->next_page_token().empty()) return;
    request.set_page_token(values->next_page_token());
  }
  Must(false, "the pages come to an end");
}

void AskForAttempts(fuzz::Draw& draw, store::Snapshot& snapshot, const LiveBoard& board) {
  v1::ListAttemptsRequest request;
  request.set_sweep("small");
  if (!draw.Request(request)) return;
  for (int page = 0; page < 60; ++page) {
    const absl::StatusOr<v1::ListAttemptsResponse> attempts = ListAttempts(snapshot.db(), request, board.Read(), {.jobs = 3, .looked_at = 5});
    if (!Answered(attempts) || attempts->next_page_token().empty()) return;
    request.set_page_token(attempts->next_page_token());
  }
  Must(false, "the pages come to an end");
}

}  // namespace
}  // namespace longreach::service

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longreach::service;
  static Filled& filled = *new Filled();
  longreach::fuzz::Draw draw({reinterpret_cast<const char*>(data), size}, filled.known());
  longreach::store::Snapshot snapshot = filled.Now();
  switch (draw.Byte() % 4) {
    case 0: AskForJobs(draw, snapshot, filled.board()); break;
    case 1: {
      longreach::v1::GetSweepRequest request;
      request.set_sweep(draw.Text());
      Answered(GetSweep(snapshot.db(), request));
      longreach::v1::GetJobRequest job;
      job.set_job(draw.Text());
      Answered(GetJob(snapshot.db(), job, filled.board().Read()));
      Answered(ExplainJob(snapshot.db(), job, filled.board().Read()));
      AskForMeasurements(draw, snapshot);
      AskForAttempts(draw, snapshot, filled.board());
      break;
    }
    default: AskForTable(draw, snapshot);
  }
  return 0;
}
