#include "worker/trainer/engine/thread_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/base/resources.h"
#include "worker/trainer/own_stream.h"
#include "worker/trainer/torch.h"

namespace longreach::trainer {

namespace {

// Between two calls of Run() in an update there is little, and to wake a thread that sleeps takes as long: so who waits looks for some
// dozens of microseconds first. Then it sleeps; others may want the core.
constexpr int kLooks = 2000;

std::atomic<int> most_threads = std::numeric_limits<int>::max();

template <class Done>
void LookFor(const Done& done) {
  for (int i = 0; i < kLooks && !done(); ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace

void PrepareThread() {
  at::set_num_threads(1);
  at::globalContext().setFlushDenormal(true);
}

void LimitThreads(int threads) { most_threads.store(threads > 0 ? threads : std::numeric_limits<int>::max(), std::memory_order_relaxed); }

ThreadPool::ThreadPool(int threads, WorkRecorder* recorder) : recorder_(recorder) {
  PrepareThread();
  const int helpers = recorder != nullptr ? 0 : (threads > 0 ? threads : AvailableThreads()) - 1;
  try {
    for (int i = 0; i < helpers; ++i) {
      helpers_.emplace_back([this, i, stream = OwnStream::OfThread()] {
        const OwnStream as_caller(stream);
        Help(i);
      });
    }
  } catch (...) {
    // The machine gives no more threads. Those that there are wait for work, and are waited for.
    EndHelpers();
    throw;
  }
}

ThreadPool::~ThreadPool() { EndHelpers(); }

void ThreadPool::EndHelpers() {
  job_.Lock()->ending = true;
  changed_.notify_all();
  more_helpers_.notify_all();
}

void ThreadPool::Help(int helper) {
  PrepareThread();
  uint64_t seen = 0;
  while (true) {
    LookFor([&] { return begun_.load(std::memory_order_relaxed) != seen; });
    {
      auto job = job_.Lock();
      // Who may not take part is not woken by each Run(): the core is another pack's.
      more_helpers_.wait(job.lock(), [&] { return job->ending || helper < job->helpers; });
      changed_.wait(job.lock(), [&] { return job->ending || helper >= job->helpers || job->next < job->count; });
      if (job->ending) return;
      seen = begun_.load(std::memory_order_relaxed);
    }
    Work(helper);
  }
}

void ThreadPool::Work(int helper) {
  while (true) {
    int64_t item;
    const std::function<void(int64_t)>* work;
    {
      auto job = job_.Lock();
      if (job->next >= job->count || helper >= job->helpers) return;
      item = job->next++;
      work = job->work;
    }
    std::exception_ptr failure;
    try {
      (*work)(item);
    } catch (...) {
      failure = std::current_exception();
    }
    auto job = job_.Lock();
    if (failure != nullptr && job->failure == nullptr) job->failure = failure;
    if (--job->left == 0) {
      done_.fetch_add(1, std::memory_order_relaxed);
      finished_.notify_all();
    }
  }
}

void ThreadPool::Run(int64_t count, const std::function<void(int64_t)>& work) {
  if (count == 0) return;
  if (recorder_ != nullptr) {
    recorder_->Run(count, work);
    return;
  }
  const uint64_t done = done_.load(std::memory_order_relaxed);
  const int helpers = std::min(threads(), most_threads.load(std::memory_order_relaxed)) - 1;
  bool more_helpers;
  {
    auto job = job_.Lock();
    job->work = &work;
    job->count = count;
    job->next = 0;
    job->left = count;
    job->failure = nullptr;
    more_helpers = helpers > std::exchange(job->helpers, helpers);
    if (count > 1) begun_.fetch_add(1, std::memory_order_relaxed);
  }
  if (more_helpers) more_helpers_.notify_all();
  if (count > 1) changed_.notify_all();
  Work(kCaller);
  LookFor([&] { return done_.load(std::memory_order_relaxed) != done; });
  std::exception_ptr failure;
  {
    auto job = job_.Lock();
    finished_.wait(job.lock(), [&] { return job->left == 0; });
    job->count = 0;
    job->next = 0;
    job->work = nullptr;
    failure = job->failure;
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace longreach::trainer
