#include "worker/trainer/speed.h"

namespace longreach::trainer {
namespace {

using Seconds = std::chrono::duration<double>;

// What is told is the mean over so long.
constexpr Seconds kWindow{2};
// Before the first of these is over, what so much time or such a share of the training says.
constexpr Seconds kLeast{1};
constexpr int kLeastShare = 10;  // One part of so many.

}  // namespace

void Speed::Made(int step, Clock::time_point now) {
  // The first updates take the time of a start as well: kernels are chosen or compiled, memory is asked for the first time.
  if (!since_) {
    since_ = now;
    from_ = step;
    return;
  }
  const Seconds gone = now - *since_;
  const int made = step - from_;
  const bool tells = settled_ ? gone >= kWindow : gone >= kLeast || made >= steps_ / kLeastShare;
  if (!tells || gone <= Seconds::zero() || made <= 0) return;
  per_second_ = made / gone.count();
  if (gone < kWindow) return;
  settled_ = true;
  since_ = now;
  from_ = step;
}

void Speed::Tested(Clock::duration took, int again_after) {
  // A window is of updates alone.
  if (since_) *since_ += took;
  if (again_after > 0) tests_s_ = Seconds(took).count() / again_after;
}

}  // namespace longreach::trainer
