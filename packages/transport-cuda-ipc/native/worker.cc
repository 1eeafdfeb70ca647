#include "worker.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuda_ipc {

OwnStream& Lane::streamOf(Contexts& contexts, int ordinal) {
  return streams_.try_emplace(ordinal, contexts, ordinal).first->second;
}

Lanes::~Lanes() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    quick_.clear();
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::submit(std::unique_ptr<Job> job) {
  std::lock_guard lock(mutex_);
  (job->waits() ? waiting_ : quick_).push_back(std::move(job));
  // One more thread, if those that are idle are spoken for.
  if (canStart() && idle_ < quick_.size() + waiting_.size() && threads_.size() < kMost) {
    threads_.emplace_back([this] { work(); });
  }
  changed_.notify_one();
}

std::vector<std::unique_ptr<Job>> Lanes::collect() {
  std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void Lanes::giveBack(std::unique_ptr<Job> job) {
  std::lock_guard lock(mutex_);
  givenBack_.push_back(std::move(job));
}

bool Lanes::canStart() const { return !quick_.empty() || (!waiting_.empty() && waitingNow_ < kMostWaiting); }

std::unique_ptr<Job> Lanes::next() {
  std::deque<std::unique_ptr<Job>>& queue = quick_.empty() ? waiting_ : quick_;
  std::unique_ptr<Job> job = std::move(queue.front());
  queue.pop_front();
  if (job->waits()) ++waitingNow_;
  return job;
}

void Lanes::work() {
  Lane lane;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return ending_ || canStart(); });
    --idle_;
    if (ending_) break;
    std::unique_ptr<Job> job = next();
    bool waits = job->waits();
    lock.unlock();
    job->run(lane);
    lock.lock();
    if (waits) --waitingNow_;
    bool first = done_.empty();
    done_.push_back(std::move(job));
    if (ending_) break;
    if (first) finished_();
    if (canStart()) changed_.notify_one();
  }
  // No one collects any more.
  std::vector<std::unique_ptr<Job>> left = std::exchange(done_, {});
  std::move(givenBack_.begin(), givenBack_.end(), std::back_inserter(left));
  givenBack_.clear();
  lock.unlock();
  for (const std::unique_ptr<Job>& job : left) job->undo(lane);
}

}  // namespace cuda_ipc
