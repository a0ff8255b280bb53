// Tells the thread sanitizer of Abseil's locks. Debian builds gRPC and Abseil without the sanitizer, which therefore sees the
// memory that our callbacks share but not the locks by which gRPC hands it from thread to thread. The programs of the tsan
// build define Abseil's functions themselves, and each calls the library's after saying what order it makes.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <absl/synchronization/mutex.h>
#include <absl/time/time.h>
#include <grpc/grpc.h>
#include <grpc/support/sync.h>
#include <grpcpp/support/server_callback.h>

namespace {

// What a server has answered, for a caller in the same process that waits for it. Only calls that block do so: callbacks, as
// the product has them, are ordered by nothing but their own tag.
char answers;
// What callers ask, for a server in the same process that blocks for it, as the tests' own. Over a connection that is there already nothing else orders them.
char questions;
// Calls of servers that have ended: a server has shut down after them, and says so with this tag.
char ended_calls;
std::atomic<void*> shutdown_tag;

// The library's own function. A name that is not there any more would leave locks unseen: that ends the program.
template <typename Function>
Function* Library(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "absl_locks.cc: no %s in the libraries: look with nm -D which name it has now\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const lock = Library<void(Mutex*)>("_ZN4absl7debian35Mutex4LockEv");
  lock(this);
  __tsan_acquire(this);
}

bool Mutex::TryLock() {
  static auto* const try_lock = Library<bool(Mutex*)>("_ZN4absl7debian35Mutex7TryLockEv");
  const bool locked = try_lock(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::Unlock() {
  static auto* const unlock = Library<void(Mutex*)>("_ZN4absl7debian35Mutex6UnlockEv");
  __tsan_release(this);
  unlock(this);
}

void CondVar::Wait(Mutex* mu) {
  static auto* const wait = Library<void(CondVar*, Mutex*)>("_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mu);
  wait(this, mu);
  __tsan_acquire(mu);
}

bool CondVar::WaitWithTimeout(Mutex* mu, Duration timeout) {
  static auto* const wait = Library<bool(CondVar*, Mutex*, Duration)>("_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mu);
  const bool timed_out = wait(this, mu, timeout);
  __tsan_acquire(mu);
  return timed_out;
}

bool CondVar::WaitWithDeadline(Mutex* mu, Time deadline) {
  static auto* const wait = Library<bool(CondVar*, Mutex*, Time)>("_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mu);
  const bool timed_out = wait(this, mu, deadline);
  __tsan_acquire(mu);
  return timed_out;
}

ABSL_NAMESPACE_END
}  // namespace absl

// A count of references orders whoever drops one before whoever drops the last.
extern "C" int gpr_unref(gpr_refcount* count) {
  static auto* const unref = Library<int(gpr_refcount*)>("gpr_unref");
  __tsan_release(count);
  const int last = unref(count);
  if (last != 0) __tsan_acquire(count);
  return last;
}

// What is asked of gRPC happens before the answer to it: both carry the same tag.
extern "C" grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag, void* reserved) {
  static auto* const start = Library<grpc_call_error(grpc_call*, const grpc_op*, size_t, void*, void*)>("grpc_call_start_batch");
  __tsan_release(tag);
  for (size_t i = 0; i < count; ++i) {
    if (ops[i].op == GRPC_OP_SEND_STATUS_FROM_SERVER) __tsan_release(&answers);
    if (ops[i].op == GRPC_OP_RECV_INITIAL_METADATA) __tsan_release(&questions);
  }
  return start(call, ops, count, tag, reserved);
}

extern "C" grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  static auto* const next = Library<grpc_event(grpc_completion_queue*, gpr_timespec, void*)>("grpc_completion_queue_next");
  const grpc_event event = next(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(&questions);
  if (event.type == GRPC_OP_COMPLETE && event.tag == shutdown_tag) __tsan_acquire(&ended_calls);
  return event;
}

extern "C" grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline, void* reserved) {
  static auto* const pluck = Library<grpc_event(grpc_completion_queue*, void*, gpr_timespec, void*)>("grpc_completion_queue_pluck");
  const grpc_event event = pluck(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  __tsan_acquire(&answers);
  return event;
}

extern "C" void grpc_call_unref(grpc_call* call) {
  static auto* const unref = Library<void(grpc_call*)>("grpc_call_unref");
  __tsan_release(&ended_calls);
  unref(call);
}

// grpc::internal::ServerCallbackCall::ScheduleOnDone: a call is over when the last of those that it waits for is done, which they count
// down in two atomic numbers behind the object's table of virtual functions. Our callbacks do so where it is seen; the library's own part,
// mostly the last, does not, so that what the callbacks did would not come before OnDone.
void ScheduleOnDone(char* call, bool here) asm("_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
void ScheduleOnDone(char* call, bool here) {
  static auto* const schedule = Library<void(char*, bool)>("_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  static_assert(sizeof(std::atomic_int) == 4);
  __tsan_acquire(call + sizeof(void*));
  __tsan_acquire(call + sizeof(void*) + sizeof(std::atomic_int));
  schedule(call, here);
}

namespace {

// grpc::internal::ServerCallbackCall::CallOnCancel: the library calls a reactor's OnCancel on a thread of its own, and counts down the second of these
// numbers right behind it, where the sanitizer does not see it: what OnCancel did would not come before an OnDone on another thread. So it is
// given a reactor that calls the true one and then says what the countdown is about to say. It is used for this one call.
class SaysThatItWasTold final : public grpc::internal::ServerReactor {
 public:
  SaysThatItWasTold(char* call, ServerReactor& told) : call_(call), told_(told) {}
  void OnCancel() override {
    told_.OnCancel();
    __tsan_release(call_ + sizeof(void*) + sizeof(std::atomic_int));
    delete this;
  }
  void OnDone() override { std::abort(); }  // Its call has another one for that.
  bool InternalInlineable() override { return told_.InternalInlineable(); }

 private:
  char* const call_;
  ServerReactor& told_;
};

}  // namespace

void CallOnCancel(char* call, grpc::internal::ServerReactor* told) asm("_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
void CallOnCancel(char* call, grpc::internal::ServerReactor* told) {
  static auto* const tell =
      Library<void(char*, grpc::internal::ServerReactor*)>("_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
  // Nor does it see the first number reach zero in the library, by which the reactor has been made and bound.
  __tsan_acquire(call + sizeof(void*));
  tell(call, new SaysThatItWasTold(call, *told));
}

extern "C" void grpc_server_shutdown_and_notify(grpc_server* server, grpc_completion_queue* queue, void* tag) {
  static auto* const shutdown =
      Library<void(grpc_server*, grpc_completion_queue*, void*)>("grpc_server_shutdown_and_notify");
  shutdown_tag = tag;
  shutdown(server, queue, tag);
}
