// Mending a store that the check (maintenance.h) finds not sound: what follows from the rest of it is put right, and nothing that was measured is guessed.
//
//   results    values whose job lost its state, and which are those of an attempt that succeeded, are its result again; a job whose result is not whole runs again
//   members    a sweep has the jobs that its specification makes, each at its position, where all of them are in the store and none is left without a sweep; and what they begin with
//   work       what is to run, runs and is counted becomes what sweeps, inputs and attempts say
//   files      a part of a file that another job's row names is that job's again; checkpoints and logs whose files are lost are forgotten, so that a job goes on from
//              the checkpoint before or begins anew; files that no row names are put aside
//   indexes    are made anew
//
// All else is left: a value that contradicts others, of which nobody can say which is wrong; weights whose file is gone; rows that say what was, as those of attempts; damage
// of the file beyond its indexes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "store/artifact_files.h"
#include "store/maintenance.h"
#include "store/sql/connection.h"

namespace longreach::store {

struct Mended {
  std::vector<std::string> done{};  // One line for each thing, at most kMostMended of a kind; none: there was nothing to mend.
  bool indexes = false;             // Some were damaged: what was read through them before may have been wrong.
};
inline constexpr int kMostMended = 1000;

// What of the rows this library cannot know, as it knows no experiments: which jobs are members of sweeps. Adds its lines.
using MendMore = std::function<absl::Status(sql::Transaction&, Mended&)>;

// `found`: what Check() finds, files read, of a store whose indexes are whole. Files whose last row goes are nobody's then, and are not removed. What goes away of measured values is named, and in the copy that was made before (CopyBeforeChange). Mending what is mended does nothing.
// `more` is asked where members of sweeps are among what was found. Empty: they are left.
// DATA_LOSS: the file is damaged beyond its indexes, so that nothing that is read of it can be trusted; the transaction is to be taken back.
absl::StatusOr<Mended> Mend(sql::Transaction& tx, const CheckReport& found, const ArtifactFiles& files, WallTime now, const MendMore& more = {});

// The parts of it, in this order, with `more` behind the first; each adds its lines.
absl::Status MendIndexes(sql::Transaction& tx, Mended& mended);
absl::Status MendResults(sql::Transaction& tx, Mended& mended);
absl::Status MendFiles(sql::Transaction& tx, const CheckReport& found, const ArtifactFiles& files, Mended& mended);
absl::Status MendWork(sql::Transaction& tx, WallTime now, Mended& mended);

// A rule of these. `find` gives the number of each row that is not as it should be, ascending, and a line that says what is done to it; then each of `mends` is run, with that
// number as ?1.
struct MendingRule {
  std::string find{};
  std::vector<std::string> mends{};
};
// How many rows it found.
absl::StatusOr<int> Follow(sql::Transaction& tx, const MendingRule& rule, Mended& mended);
// What is done of one kind: the first kMostMended lines are kept, and the others counted. All jobs of a large store may be of one kind.
class LinesOfAKind {
 public:
  void Add(std::string line);
  void Tell(Mended& mended) &&;

 private:
  std::vector<std::string> told_;
  int64_t count_ = 0;
};

}  // namespace longreach::store
