#include "worker.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

namespace cuda_ipc {

OwnStream& Lane::streamOf(Contexts& contexts, int ordinal) {
  return streams_.try_emplace(ordinal, contexts, ordinal).first->second;
}

Lanes::~Lanes() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (auto& queue : queues_) queue.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::submit(std::unique_ptr<Job> job) {
  std::lock_guard lock(mutex_);
  auto& queue = queues_[static_cast<size_t>(job->wait())];
  size_t queued = 1;
  for (const auto& each : queues_) queued += each.size();
  // One more thread, if those that are idle are spoken for.
  if (idle_ < queued && threads_.size() < kMost[0]) startThread();
  queue.push_back(std::move(job));
  changed_.notify_one();
}

void Lanes::startThread() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system gives no more threads. Those that there are will do, if there are any.
    if (threads_.empty()) throw;
  }
}

std::vector<std::unique_ptr<Job>> Lanes::collect() {
  std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void Lanes::giveBack(std::unique_ptr<Job> job) {
  std::lock_guard lock(mutex_);
  givenBack_.push_back(std::move(job));
}

std::deque<std::unique_ptr<Job>>* Lanes::ready() {
  for (size_t wait = 0; wait < std::size(kMost); ++wait) {
    if (running_[wait] >= kMost[wait]) return nullptr;  // and so for those that wait for more
    if (!queues_[wait].empty()) return &queues_[wait];
  }
  return nullptr;
}

void Lanes::count(Wait wait, int change) {
  for (size_t each = 0; each <= static_cast<size_t>(wait); ++each) running_[each] += change;
}

void Lanes::work() {
  Lane lane;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return ending_ || ready() != nullptr; });
    --idle_;
    if (ending_) break;
    auto& queue = *ready();
    std::unique_ptr<Job> job = std::move(queue.front());
    queue.pop_front();
    Wait wait = job->wait();
    count(wait, 1);
    lock.unlock();
    job->run(lane);
    lock.lock();
    count(wait, -1);
    bool first = done_.empty();
    done_.push_back(std::move(job));
    if (ending_) break;
    if (first) finished_();
    if (ready() != nullptr) changed_.notify_one();
  }
  // No one collects any more.
  std::vector<std::unique_ptr<Job>> left = std::exchange(done_, {});
  std::move(givenBack_.begin(), givenBack_.end(), std::back_inserter(left));
  givenBack_.clear();
  lock.unlock();
  for (const std::unique_ptr<Job>& job : left) job->undo(lane);
}

}  // namespace cuda_ipc
