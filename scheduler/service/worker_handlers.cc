#include "scheduler/service/worker_handlers.h"

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "proto/types/artifact_kind.h"
#include "proto/types/wire_limits.h"
#include "proto/types/time.h"
#include "scheduler/core/packs.h"
#include "scheduler/service/limits.h"
#include "scheduler/service/uploads.h"
#include "store/artifacts.h"

namespace longreach::service {
namespace {

// Of a file that is there and is to be hashed.
constexpr int64_t kReadBytesAtATime = int64_t{32} << 20;

// So its caller may share a disk with this process.
bool CameByUnixSocket(const grpc::CallbackServerContext& context) { return context.peer().starts_with("unix:"); }

// A call that may be held open: when its caller goes, the engine is told.
class SynchronizeCall final : public grpc::ServerUnaryReactor {
 public:
  SynchronizeCall(Engine& engine, const v1::SynchronizeRequest& request)
      : engine_(engine), worker_(request.worker()), incarnation_(request.incarnation()), sequence_(request.sequence()) {}
  void OnCancel() override { engine_.Forget(worker_, incarnation_, sequence_); }
  void OnDone() override { delete this; }

 private:
  Engine& engine_;
  const std::string worker_;
  const uint64_t incarnation_;
  const uint64_t sequence_;
};

// Messages are taken one by one: each is dealt with on the workforce before the next is read.
class UploadCall final : public grpc::ServerReadReactor<v1::UploadRequest> {
 public:
  UploadCall(bool is_local, v1::UploadResponse* response, Engine& engine, store::Store& store, Workforce& workforce, const ArtifactLimits& limits,
             ArtifactTotal& total, UploadRoom& room, UploadParts& parts, const Clock& clock)
      : is_local_(is_local),
        response_(response),
        engine_(engine),
        store_(store),
        workforce_(workforce),
        limits_(limits),
        total_(total),
        room_(room),
        parts_(parts),
        clock_(clock) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    workforce_.Post([this, ok] {
      GoOn(ok ? Take() : Complete());
    });
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  enum class Next { kRead, kReadLinked, kReadBack, kRecord };

  // Each of these is the last touch: the call may end, and this object with it, before it returns.
  void GoOn(const absl::StatusOr<Next>& next) {
    if (!next.ok()) {
      GiveUp();
      return Finish(ToGrpc(next.status()));
    }
    switch (*next) {
      case Next::kRead: return StartRead(&request_);
      // Others have their turn in between.
      case Next::kReadLinked: return workforce_.Post([this] { GoOn(ReadLinked()); });
      case Next::kReadBack: return workforce_.Post([this] { GoOn(ReadBack()); });
      case Next::kRecord: return Record();
    }
  }

  absl::StatusOr<Next> Take() {
    if (request_.has_header()) {
      if (has_header_) return absl::InvalidArgumentError("an upload has one header, as its first message");
      has_header_ = true;
      header_ = request_.header();
      RETURN_IF_ERROR(CheckUploadHeader(header_, limits_));
      RETURN_IF_ERROR(CheckLease());
      if (IsThere()) return Next::kRecord;
      if (!header_.linked().empty()) {
        ASSIGN_OR_RETURN(admitted_, CheckRoom());
        return TakeLinked();
      }
      // First, so that the part that this one goes on with does not count twice.
      ASSIGN_OR_RETURN(file_, Told(parts_.Begin(header_)));
      ASSIGN_OR_RETURN(std::unique_ptr<ArtifactTotal::Admitted> admitted, CheckRoom());
      auto making = file_->Lock();
      if (!making->writer) return IsTakenOver();
      making->admitted = std::move(admitted);
      return header_.from() > 0 ? Next::kReadBack : Next::kRead;
    }
    if (!has_header_) return absl::InvalidArgumentError("an upload begins with its header");
    auto making = file_->Lock();
    if (!making->writer) return IsTakenOver();
    if (absl::Status appended = making->writer->Append(request_.chunk()); !appended.ok()) {
      room_.Refused(header_.bytes(), appended, JobsOfFile());
      return appended;
    }
    return Next::kRead;
  }

  // Then it is pinned.
  bool IsThere() {
    std::optional<store::Pin> there = store_.artifacts().FindAndPin(header_.sha256(), static_cast<int64_t>(header_.bytes()));
    if (there) pin_ = *std::move(there);
    return there.has_value();
  }

  absl::StatusOr<Next> TakeLinked() {
    if (!is_local_) return absl::InvalidArgumentError("linked: this call came through no Unix socket; send the bytes");
    ASSIGN_OR_RETURN(store::ArtifactWriter writer,
                     store_.artifacts().TakeLinked(header_.linked(), header_.sha256(), static_cast<int64_t>(header_.bytes())));
    linked_.emplace(std::move(writer));
    return Next::kReadLinked;
  }

  absl::StatusOr<Next> ReadLinked() {
    if (cancelled_) return absl::CancelledError("the caller is gone");
    ASSIGN_OR_RETURN(const bool whole, linked_->ReadOn(kReadBytesAtATime));
    if (!whole) return Next::kReadLinked;
    header_.set_sha256(linked_->sha256());
    if (IsThere()) {
      linked_.reset();  // And the link, before the answer.
    } else {
      ASSIGN_OR_RETURN(pin_, Commit(*linked_));
    }
    return Next::kRecord;
  }

  // What was there of the file before: it is hashed as if it came now, whatever the disk has made of it.
  absl::StatusOr<Next> ReadBack() {
    if (cancelled_) {
      KeepPart();
      return absl::CancelledError("the caller is gone");
    }
    auto making = file_->Lock();
    if (!making->writer) return IsTakenOver();
    ASSIGN_OR_RETURN(const bool all, making->writer->ReadBack(kReadBytesAtATime));
    return all ? Next::kRead : Next::kReadBack;
  }

  absl::StatusOr<Next> Complete() {
    absl::Status broke_off = absl::CancelledError("the caller is gone");
    if (file_ == nullptr) return cancelled_ ? broke_off : absl::InvalidArgumentError("an upload begins with its header");
    if (!cancelled_) {
      auto making = file_->Lock();
      if (!making->writer) return IsTakenOver();
      const bool all = making->writer->missing() == 0;
      absl::StatusOr<store::Pin> pin = Commit(*making->writer);
      if (pin.ok()) {
        making->writer.reset();
        admitted_ = std::move(making->admitted);
        pin_ = *std::move(pin);
        return Next::kRecord;
      }
      if (all) return pin.status();
      // Its connection may be gone, and this be told of it later.
      broke_off = pin.status();
    }
    KeepPart();
    return broke_off;
  }

  // Not ABORTED, by which a sender drops its attempt: the question may be an old one of its own, that came late.
  static absl::Status IsTakenOver() { return absl::UnavailableError("another call has asked for what came of this file; ask how much there is, and go on from there"); }

  // For the next try.
  void KeepPart() {
    parts_.Keep(file_);
    absl::StatusOr<store::Snapshot> snapshot = store_.Read();
    if (!snapshot.ok()) return;
    // The attempt may have ended before there was a part to go with it.
    parts_.DropEnded(*snapshot).IgnoreError();
    if (limits_.all_bytes <= 0) return;
    const absl::StatusOr<double> left = total_.Left(*snapshot, limits_.all_bytes, clock_.Steady());
    if (left.ok()) parts_.KeepAtMost(*left);
  }

  // Nobody goes on with what is wrong or has no room: what is not a part by now goes.
  void GiveUp() {
    admitted_.reset();
    if (file_ == nullptr) return;
    auto making = file_->Lock();
    making->writer.reset();
    making->admitted.reset();
  }

  // What the disk says to the file, for those who wait for it. Limits of ours, and a store that cannot be written, are told elsewhere.
  template <typename Value>
  absl::StatusOr<Value> Told(absl::StatusOr<Value> written) {
    if (!written.ok()) room_.Refused(header_.bytes(), written.status(), JobsOfFile());
    return written;
  }

  std::vector<std::string> JobsOfFile() const { return {header_.jobs().begin(), header_.jobs().end()}; }

  absl::StatusOr<store::Pin> Commit(store::ArtifactWriter& writer) {
    absl::StatusOr<store::Pin> pin = Told(writer.Commit());
    if (pin.ok()) room_.Taken(header_.bytes());
    if (absl::IsResourceExhausted(pin.status())) parts_.DropAll();  // For its next try.
    return pin;
  }

  // Before the bytes come: the check that counts is the one beside the rows.
  absl::Status CheckLease() {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
    return MembersOfUpload(snapshot, header_).status();
  }

  // Nothing where there is no limit of all files, or none for this one.
  absl::StatusOr<std::unique_ptr<ArtifactTotal::Admitted>> CheckRoom() {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
    for (const std::string& job : header_.jobs()) {
      ASSIGN_OR_RETURN(const double kept, store::BytesOfJob(snapshot, job));
      if (kept + header_.bytes() / header_.jobs_size() <= limits_.job_bytes) continue;
      // Final, as no room that is made elsewhere will change it.
      return absl::InvalidArgumentError(fmt::format("the artifacts of job {:.8} have {:.0f} bytes, and with this file more than {:.0f}, "
                                                      "the most that is kept of a job", job, kept, limits_.job_bytes));
    }
    // What a finished job hands in is taken whatever is there: with it the job's checkpoints, which are larger, go.
    if (limits_.all_bytes <= 0 || IsOfAResult(ParseArtifactKind(header_.kind()))) return nullptr;
    const SteadyTime now = clock_.Steady();
    ASSIGN_OR_RETURN(std::unique_ptr<ArtifactTotal::Admitted> admitted, total_.Admit(snapshot, header_.bytes(), limits_.all_bytes, now));
    ASSIGN_OR_RETURN(const double left, total_.Left(snapshot, limits_.all_bytes, now));
    parts_.KeepAtMost(left);  // They have what nothing else needs.
    return admitted;
  }

  void Record() {
    parts_.Drop(header_);
    engine_.RecordUpload(header_, std::move(pin_), [this](absl::StatusOr<WallTime> stored_at) {
      if (stored_at.ok()) {
        *response_->mutable_stored_at() = ToTimestamp(*stored_at);
        response_->set_sha256(header_.sha256());
        if (admitted_ != nullptr) admitted_->HasComeToBe();
      }
      admitted_.reset();
      Finish(ToGrpc(stored_at.status()));
    });
  }

  const bool is_local_;
  v1::UploadResponse* response_;
  Engine& engine_;
  store::Store& store_;
  Workforce& workforce_;
  const ArtifactLimits limits_;
  ArtifactTotal& total_;
  UploadRoom& room_;
  UploadParts& parts_;
  const Clock& clock_;
  v1::UploadRequest request_;
  v1::UploadHeader header_;
  bool has_header_ = false;
  std::unique_ptr<ArtifactTotal::Admitted> admitted_;  // Of a file that is whole, or linked.
  std::optional<store::ArtifactWriter> linked_;
  std::shared_ptr<UploadParts::File> file_;  // Whose bytes come in chunks.
  store::Pin pin_;
  std::atomic<bool> cancelled_ = false;
};

class DownloadCall final : public grpc::ServerWriteReactor<v1::DownloadResponse> {
 public:
  DownloadCall(const v1::DownloadRequest& request, store::Store& store, Workforce& workforce)
      : sha256_(request.sha256()), store_(store), workforce_(workforce) {
    workforce_.Post([this] { Next(); });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
    workforce_.Post([this] { Next(); });
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    absl::StatusOr<std::string> chunk = Read();
    if (!chunk.ok()) return Finish(ToGrpc(chunk.status()));
    if (chunk->empty()) return Finish(grpc::Status::OK);
    response_.set_chunk(*std::move(chunk));
    StartWrite(&response_);
  }
  absl::StatusOr<std::string> Read() {
    if (!reader_) {
      if (!IsSha256(sha256_)) return absl::NotFoundError(fmt::format("'{}' is no artifact's hash", sha256_));
      ASSIGN_OR_RETURN(store::ArtifactReader reader, store::ArtifactReader::Open(store_.artifacts(), sha256_));
      reader_.emplace(std::move(reader));
    }
    return reader_->Next(kChunkBytes);
  }

  const std::string sha256_;
  store::Store& store_;
  Workforce& workforce_;
  std::optional<store::ArtifactReader> reader_;
  v1::DownloadResponse response_;
};

}  // namespace

absl::Status CheckUploadHeader(const v1::UploadHeader& header, const ArtifactLimits& limits) {
  if (!ParseArtifactKind(header.kind())) {
    return absl::InvalidArgumentError(fmt::format("kind: there is no artifact of the kind '{}'", header.kind()));
  }
  const bool not_known_yet = header.sha256().empty() && !header.linked().empty();
  if (!not_known_yet && !IsSha256(header.sha256())) return absl::InvalidArgumentError("sha256: not 64 lower-case hexadecimal digits");
  if (!(header.bytes() >= 0) || header.bytes() != std::floor(header.bytes())) return absl::InvalidArgumentError("bytes: not a size");
  if (header.bytes() > limits.file_bytes) {
    return absl::InvalidArgumentError(fmt::format("a file of {:.0f} bytes; at most {:.0f}", header.bytes(), limits.file_bytes));
  }
  if (!(header.from() >= 0) || header.from() != std::floor(header.from())) return absl::InvalidArgumentError("from: not a number of bytes");
  if (header.from() > 0 && !header.linked().empty()) return absl::InvalidArgumentError("from: a file that is linked comes as a whole");
  if (header.from() > header.bytes()) return absl::OutOfRangeError(fmt::format("from: {:.0f}, of a file of {:.0f} bytes", header.from(), header.bytes()));
  if (header.step() < 0) return absl::InvalidArgumentError(fmt::format("step: {} is negative", header.step()));
  if (header.jobs().empty() || header.jobs_size() > core::kMaxPackLimit) {
    return absl::InvalidArgumentError(fmt::format("jobs: {} of them; 1 to {} are possible", header.jobs_size(), core::kMaxPackLimit));
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* WorkerHandlers::Synchronize(grpc::CallbackServerContext* context, const v1::SynchronizeRequest* request,
                                                      v1::SynchronizeResponse* response) {
  auto* call = new SynchronizeCall(engine_, *request);
  const std::string inbox = CameByUnixSocket(*context) ? inbox_ : "";
  engine_.Synchronize(*request, [call, response, inbox](absl::StatusOr<v1::SynchronizeResponse> answer) {
    if (answer.ok()) {
      *response = *std::move(answer);
      response->set_inbox(inbox);
    }
    call->Finish(ToGrpc(answer.status()));
  });
  return call;
}

ArtifactHandlers::ArtifactHandlers(Engine& engine, store::Store& store, Workforce& workforce, const ArtifactLimits& limits, UploadRoom& room, UploadParts& parts,
                                   const Clock& clock)
    : engine_(engine), store_(store), workforce_(workforce), limits_(limits), room_(room), parts_(parts), clock_(clock) {}

grpc::ServerReadReactor<v1::UploadRequest>* ArtifactHandlers::Upload(grpc::CallbackServerContext* context, v1::UploadResponse* response) {
  return new UploadCall(CameByUnixSocket(*context), response, engine_, store_, workforce_, limits_, total_, room_, parts_, clock_);
}

grpc::ServerUnaryReactor* ArtifactHandlers::FindUpload(grpc::CallbackServerContext* context, const v1::UploadHeader* request, v1::FindUploadResponse* response) {
  return AnswerWith(context, response, workforce_, [this, request] { return Find(*request); });
}

absl::StatusOr<v1::FindUploadResponse> ArtifactHandlers::Find(const v1::UploadHeader& header) {
  RETURN_IF_ERROR(CheckUploadHeader(header, limits_));
  if (!header.linked().empty()) return absl::InvalidArgumentError("linked: of a file that is linked there are no parts; ask with the file's hash alone");
  {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
    RETURN_IF_ERROR(MembersOfUpload(snapshot, header).status());
  }
  v1::FindUploadResponse response;
  // One that lies under its hash is read when its upload comes; if it is damaged by then, there is nothing to go on from.
  const bool is_there = store_.artifacts().WhyLost(header.sha256(), static_cast<int64_t>(header.bytes())).empty();
  response.set_bytes(is_there ? header.bytes() : static_cast<double>(parts_.Find(header)));
  // Asking may have made a part, and its attempt may have ended meanwhile.
  ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
  RETURN_IF_ERROR(parts_.DropEnded(snapshot));
  return response;
}

// Many may end within a moment: one look is good for all that have ended before it begins.
void ArtifactHandlers::AttemptsHaveEnded() {
  if (parts_.empty() || looks_for_ended_.exchange(true)) return;
  workforce_.Post([this] {
    looks_for_ended_ = false;
    absl::StatusOr<store::Snapshot> snapshot = store_.Read();
    if (snapshot.ok()) parts_.DropEnded(*snapshot).IgnoreError();
  });
}

grpc::ServerWriteReactor<v1::DownloadResponse>* ArtifactHandlers::Download(grpc::CallbackServerContext*, const v1::DownloadRequest* request) {
  return new DownloadCall(*request, store_, workforce_);
}

}  // namespace longreach::service
