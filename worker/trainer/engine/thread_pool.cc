#include "worker/trainer/engine/thread_pool.h"

#include "proto/base/resources.h"
#include "worker/trainer/torch.h"

namespace longreach::trainer {

namespace {

// Between two calls of Run() in an update there is little, and to wake a thread that sleeps takes as long: so who waits looks for some
// dozens of microseconds first. Then it sleeps; others may want the core.
constexpr int kLooks = 2000;

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

ThreadPool::ThreadPool(int threads, WorkRecorder* recorder) : recorder_(recorder) {
  PrepareThread();
  const int helpers = recorder != nullptr ? 0 : (threads > 0 ? threads : AvailableThreads()) - 1;
  for (int i = 0; i < helpers; ++i) {
    helpers_.emplace_back([this] {
      PrepareThread();
      uint64_t seen = 0;
      while (true) {
        LookFor([&] { return begun_.load(std::memory_order_relaxed) != seen; });
        {
          auto job = job_.Lock();
          changed_.wait(job.lock(), [&] { return job->ending || job->next < job->count; });
          if (job->ending) return;
          seen = begun_.load(std::memory_order_relaxed);
        }
        Work();
      }
    });
  }
}

ThreadPool::~ThreadPool() {
  job_.Lock()->ending = true;
  changed_.notify_all();
}

void ThreadPool::Work() {
  while (true) {
    int64_t item;
    const std::function<void(int64_t)>* work;
    {
      auto job = job_.Lock();
      if (job->next >= job->count) return;
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
  {
    auto job = job_.Lock();
    job->work = &work;
    job->count = count;
    job->next = 0;
    job->left = count;
    job->failure = nullptr;
    if (count > 1) begun_.fetch_add(1, std::memory_order_relaxed);
  }
  if (count > 1) changed_.notify_all();
  Work();
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
