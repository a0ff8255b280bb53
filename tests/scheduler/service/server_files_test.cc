// Artifacts, as workers hand them in and fetch them, and the files of the store.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proto/base/sha256.h"
#include "store/artifacts.h"
#include "store/store.h"
#include "tests/scheduler/service/server_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;

// A disk of so many bytes, for one file: what is written beyond them is refused, as it is by a full one.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : before_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }
  SmallDisk(const SmallDisk&) = delete;

 private:
  void (*before_handler_)(int);
  rlimit before_ = {};
};

using ServerFilesTest = ServerTest;

TEST_F(ServerFilesTest, AFileGoesUpAndComesBackByItsHash) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  const v1::Lease& lease = leased.leases(0);
  const std::string bytes(2'500'000, 'x');
  v1::UploadHeader header;
  header.set_attempt(lease.attempt());
  header.set_worker("w");
  header.set_kind("checkpoint");
  header.set_step(5);
  header.set_sha256(Sha256Of(bytes));
  header.set_bytes(static_cast<double>(bytes.size()));
  for (const v1::LeasedJob& job : lease.jobs()) header.add_jobs(job.id());

  v1::UploadHeader wrong = header;
  wrong.set_sha256(std::string(64, 'a'));
  EXPECT_EQ(Upload(wrong, bytes).error_code(), grpc::StatusCode::DATA_LOSS);
  wrong = header;
  wrong.set_kind("virus");
  EXPECT_EQ(Upload(wrong, bytes).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  wrong = header;
  wrong.set_worker("v");
  EXPECT_EQ(Upload(wrong, bytes).error_code(), grpc::StatusCode::ABORTED);
  wrong = header;
  wrong.add_jobs("not of this attempt");
  wrong.set_bytes(1e10);  // None of them is waited for.
  EXPECT_EQ(Upload(wrong, "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Upload(header, bytes).ok());
  EXPECT_TRUE(Upload(header, bytes).ok());  // The answer was lost.

  grpc::ClientContext context;
  v1::DownloadRequest request;
  request.set_sha256(header.sha256());
  const auto reader = artifacts_->Download(&context, request);
  std::string back;
  v1::DownloadResponse chunk;
  while (reader->Read(&chunk)) {
    EXPECT_LE(chunk.chunk().size(), size_t{1} << 20);
    back += chunk.chunk();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(back == bytes);

  grpc::ClientContext other;
  request.set_sha256(std::string(64, 'b'));
  const auto none = artifacts_->Download(&other, request);
  EXPECT_FALSE(none->Read(&chunk));
  EXPECT_EQ(none->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServerFilesTest, AFileOfAWorkerOnTheSameDiskIsHandedOverByALink) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  const v1::Lease& lease = leased.leases(0);
  const std::string bytes(2'500'000, 'x');
  std::ofstream(folder_ / "of the worker") << bytes;
  const auto link = [&](const std::string& name) {
    std::filesystem::create_hard_link(folder_ / "of the worker", std::filesystem::path(leased.inbox()) / name);
    return name;
  };
  v1::UploadHeader header;
  header.set_attempt(lease.attempt());
  header.set_worker("w");
  header.set_kind("weights");
  header.set_step(5);
  header.set_bytes(static_cast<double>(bytes.size()));
  for (const v1::LeasedJob& job : lease.jobs()) header.add_jobs(job.id());

  EXPECT_EQ(Upload(header, bytes).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "sent without its hash";
  header.set_linked("nothing-there");
  EXPECT_EQ(Upload(header, "").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  header.set_linked("../tmp/x");
  EXPECT_EQ(Upload(header, "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (const char* name : {"first", "again"}) {  // The answer was lost.
    header.set_linked(link(name));
    EXPECT_TRUE(Upload(header, "").ok()) << name;
  }

  EXPECT_TRUE(std::filesystem::is_empty(leased.inbox()));
  const std::unique_ptr<store::ArtifactFiles> files = store::ArtifactFiles::OfOtherStore(folder_ / "store.db.artifacts");
  EXPECT_TRUE(std::filesystem::equivalent(files->PathOf(Sha256Of(bytes)), folder_ / "of the worker"));
  v1::CheckStoreRequest check;
  check.set_artifacts(true);
  const v1::CheckStoreResponse checked = Call<v1::CheckStoreResponse>(&v1::Longreach::Stub::CheckStore, check);
  EXPECT_THAT(checked.violations(), ElementsAre());
  EXPECT_EQ(checked.artifacts(), lease.jobs_size());
}

class FileWithoutRoomTest : public ServerFilesTest {
 protected:
  // A disk that has less for a file, but enough for the store.
  static constexpr rlim_t kRoom = 8'000'000;

  void Refuse() {
    Start(Options());
    Submit(Sweep());
    const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
    header_.set_attempt(leased.leases(0).attempt());
    header_.set_worker("w");
    header_.set_kind("weights");
    header_.set_step(10);
    header_.set_sha256(Sha256Of(bytes_));
    header_.set_bytes(static_cast<double>(bytes_.size()));
    header_.add_jobs(leased.leases(0).jobs(0).id());
    const SmallDisk disk(kRoom);
    EXPECT_EQ(Upload(header_, bytes_).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  std::string Trouble() {
    grpc::ClientContext context;
    v1::GetSweepRequest sweep;
    sweep.set_sweep("s");
    v1::SweepUpdate update;
    const auto watch = client_->WatchSweep(&context, sweep);
    EXPECT_TRUE(watch->Read(&update));
    context.TryCancel();
    watch->Finish();
    return update.store_trouble();
  }

  const std::string bytes_ = std::string(9'000'000, 'x');
  v1::UploadHeader header_;
};

TEST_F(FileWithoutRoomTest, IsToldToThoseWhoWatchUntilOneIsTaken) {
  Refuse();
  EXPECT_THAT(Trouble(), ::testing::StartsWith("no room for files of jobs: cannot write '"));

  EXPECT_TRUE(Upload(header_, bytes_).ok());

  EXPECT_EQ(Trouble(), "");
}

TEST_F(FileWithoutRoomTest, IsToldNoMoreOnceItsSweepIsCancelled) {
  Refuse();
  EXPECT_NE(Trouble(), "");
  v1::SteerSweepRequest cancel;
  cancel.set_sweep("s");
  cancel.set_action(v1::SteerSweepRequest::ACTION_CANCEL);

  Call<v1::Sweep>(&v1::Longreach::Stub::SteerSweep, cancel);

  while (!Trouble().empty()) std::this_thread::yield();
}

TEST_F(ServerFilesTest, WorkersOfOtherMachinesAreToldOfNoInbox) {
  ServerOptions options = Options();
  options.listen = "127.0.0.1:0";  // No name: what gRPC resolves names with leaks a few bytes.
  Start(options);
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  EXPECT_EQ(leased.inbox(), "");
  std::ofstream(folder_ / "store.db.artifacts" / "inbox" / "guessed") << "bytes";
  v1::UploadHeader header;
  header.set_attempt(leased.leases(0).attempt());
  header.set_worker("w");
  header.set_kind("weights");
  header.set_bytes(5);
  header.set_linked("guessed");
  header.add_jobs(leased.leases(0).jobs(0).id());

  EXPECT_EQ(Upload(header, "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

class LongCheckTest : public ServerFilesTest {
 protected:
  ~LongCheckTest() override {
    if (memory_ >= 0) close(memory_);
  }

  // A server whose store names a file that takes an hour to read, and no space: it lies in memory, as not every file system has files with holes of that size.
  void StartWithLargeFile() {
    Start(Options());
    Submit(Sweep());
    const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
    const std::string bytes = "weights";
    v1::UploadHeader header;
    header.set_attempt(leased.leases(0).attempt());
    header.set_worker("w");
    header.set_kind("weights");
    header.set_step(10);
    header.set_sha256(Sha256Of(bytes));
    header.set_bytes(static_cast<double>(bytes.size()));
    header.add_jobs(leased.leases(0).jobs(0).id());
    ASSERT_TRUE(Upload(header, bytes).ok());
    server_.reset();
    {
      constexpr int64_t kLarge = int64_t{8} << 40;
      absl::StatusOr<std::unique_ptr<store::Store>> store = store::Store::Open(Options().store);
      ASSERT_TRUE(store.ok()) << store.status();
      ASSERT_TRUE((*store)->writer_connection().Run("UPDATE artifacts SET bytes = ?", kLarge).ok());
      memory_ = memfd_create("large", MFD_CLOEXEC);
      ASSERT_EQ(ftruncate(memory_, kLarge), 0) << std::strerror(errno);
      const std::filesystem::path named = (*store)->artifacts().PathOf(header.sha256()), open = "/proc/self/fd/" + std::to_string(memory_);
      std::filesystem::remove(named);
      std::filesystem::create_symlink(open, named);
      large_ = std::filesystem::read_symlink(open);
    }
    Start(Options());
    check_ = std::thread([this] {
      v1::CheckStoreRequest request;
      request.set_artifacts(true);
      v1::CheckStoreResponse response;
      status_ = client_->CheckStore(&context_, request, &response);
    });
    while (!IsRead()) std::this_thread::yield();
  }
  // By the server, which is in this process.
  bool IsRead() const {
    std::error_code gone;
    for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd")) {
      if (open.path().filename() != std::to_string(memory_) && std::filesystem::read_symlink(open.path(), gone) == large_) return true;
    }
    return false;
  }

  int memory_ = -1;
  std::filesystem::path large_;  // As the system calls it.
  grpc::ClientContext context_;
  grpc::Status status_;
  std::thread check_;
};

TEST_F(LongCheckTest, TheServersEndBreaksItOff) {
  ASSERT_NO_FATAL_FAILURE(StartWithLargeFile());

  server_.reset();

  check_.join();
  EXPECT_FALSE(status_.ok()) << "it cannot have come to its end";
}

TEST_F(LongCheckTest, ItEndsWhenItsCallerIsGone) {
  ASSERT_NO_FATAL_FAILURE(StartWithLargeFile());

  context_.TryCancel();
  check_.join();

  while (IsRead()) std::this_thread::yield();
}

TEST_F(ServerFilesTest, ManyFilesThatNobodyNeedsGoAlthoughNobodyCalls) {
  {
    absl::StatusOr<std::unique_ptr<store::Store>> store = store::Store::Open(Options().store);
    ASSERT_TRUE(store.ok()) << store.status();
    absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin((*store)->writer_connection());
    ASSERT_TRUE(tx.ok());
    for (int file = 0; file < 100; ++file) {
      const std::string bytes = "checkpoint " + std::to_string(file);
      absl::StatusOr<store::ArtifactWriter> writer = (*store)->artifacts().Create(Sha256Of(bytes), static_cast<int64_t>(bytes.size()));
      ASSERT_TRUE(writer.ok() && writer->Append(bytes).ok());
      absl::StatusOr<store::Pin> pin = writer->Commit();
      ASSERT_TRUE(pin.ok());
      pin->Settle();
      ASSERT_TRUE(store::NoteUnnamed(*tx, Sha256Of(bytes)).ok());
    }
    ASSERT_TRUE(tx->Commit().ok());
  }
  const std::unique_ptr<store::ArtifactFiles> files = store::ArtifactFiles::OfOtherStore(folder_ / "store.db.artifacts");
  ASSERT_EQ(files->List().size(), 100u);
  Start(Options());

  Submit(Sweep());  // A few go with each group of events; no other call follows.

  while (files->HasAny()) std::this_thread::yield();
}

}  // namespace
}  // namespace longreach::service
