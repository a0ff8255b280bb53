// Files whose bytes workers send: those that are under way, and parts of those whose sending broke off, with which the next try goes on. A part is kept
// for as long as its attempt holds its lease and this process runs, and no longer than nothing else needs its room.
// Safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/artifact_total.h"
#include "store/artifact_files.h"
#include "store/sql/connection.h"

namespace longreach::service {

class UploadParts {
 public:
  // Of an attempt, and in all; the oldest go. A worker sends an attempt's files one after the other, but for a checkpoint that may be under way when
  // those of its end come.
  static constexpr size_t kMostOfAttempt = 2;
  static constexpr size_t kMost = 256;

  // Neither is there once another call has taken the file over, or it is whole.
  struct Making {
    std::optional<store::ArtifactWriter> writer;
    std::unique_ptr<ArtifactTotal::Admitted> admitted;  // Nothing too where no total is kept.
  };

  // A file under way. Whoever writes to it holds its lock meanwhile.
  class File {
   public:
    File(UploadParts& parts, std::string key, const v1::UploadHeader& header, store::ArtifactWriter writer);
    ~File();
    Synchronized<Making>::Locked Lock() { return making_.Lock(); }

   private:
    friend class UploadParts;
    UploadParts& parts_;
    const std::string key_;
    const int64_t attempt_;
    const bool is_of_a_result_;
    Synchronized<Making> making_;
  };

  // `files` outlives this, and this all that it gives.
  explicit UploadParts(store::ArtifactFiles& files) : files_(files) {}

  // The file of an upload that begins: a new one, and a part of the same goes; or, with `from`, the part, which is to be read back first.
  // OUT_OF_RANGE: there is less of it, and that stays. Others: as ArtifactFiles::Create().
  absl::StatusOr<std::shared_ptr<File>> Begin(const v1::UploadHeader& header);
  // Its sender has broken off: what came is a part from now on, unless another upload of the same has begun since.
  void Keep(const std::shared_ptr<File>& file);

  // How many bytes there are of a file. Of one that is still under way they are a part from now on: whoever asks sends them no more.
  int64_t Find(const v1::UploadHeader& header);

  // It is not needed any more.
  void Drop(const v1::UploadHeader& header);
  // Those of attempts that hold no lease any more, by the store.
  absl::Status DropEnded(sql::Connection& db);
  // Room is needed: false where there was nothing to drop.
  bool DropOldest();
  void DropAll();
  // The oldest go until the others have so many bytes at most. Those of results do not count, as with --max-artifact-bytes.
  void KeepAtMost(double bytes);

  // Of all parts.
  double bytes();
  bool empty() { return state_.Lock()->parts.empty(); }

 private:
  struct Part {
    int64_t attempt;
    bool is_of_a_result;
    uint64_t number;  // Ascending.
    store::UnfinishedFile file;
  };
  using Parts = std::map<std::string, Part>;
  struct State {
    Parts parts;                                          // By what their headers say, as
    std::map<std::string, std::weak_ptr<File>> under_way;  // the last that has begun of each.
    uint64_t last = 0;
  };
  // Files that are to be removed once the lock is given back: that may take a while.
  using Gone = std::vector<store::UnfinishedFile>;

  static void Remove(Parts& parts, Parts::iterator part, Gone& gone);
  // Of those that `which` admits. False: there is none.
  static bool RemoveOldest(Parts& parts, const std::function<bool(const Part&)>& which, Gone& gone);
  std::shared_ptr<File> FindUnderWay(const std::string& key);
  absl::StatusOr<store::UnfinishedFile> Take(const std::string& key, const v1::UploadHeader& header);
  void DropPart(const std::string& key);

  store::ArtifactFiles& files_;
  Synchronized<State> state_;
};

}  // namespace longreach::service
