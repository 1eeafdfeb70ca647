// The addon's own threads, which call the driver for one environment. Calls that wait for a GPU would otherwise hold up the
// event loop, or libuv's threads, which files and DNS share.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device.h"
#include "held.h"

namespace cuda_ipc {

// What one native thread has: a stream for each device it has worked on.
class Lane {
 public:
  // Throws a Failure.
  OwnStream& streamOf(Contexts& contexts, int ordinal);

 private:
  std::map<int, OwnStream> streams_;
};

// What a job may have to wait for.
enum class Wait : size_t {
  kNothing,  // to allocate, open or look up something takes a moment
  kFreeing,  // the driver may wait for all work on the device before it frees or closes something
  kWork,     // it waits for work on the device, or of someone else, which takes as long as it takes
};

class Job {
 public:
  Job() = default;
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  virtual Wait wait() const = 0;
  // Both on a native thread. `undo` comes after `run`, if no one is there any more to take the result.
  virtual void run(Lane& lane) = 0;
  virtual void undo(Lane& lane) = 0;
};

// A few threads, started as they are needed. Jobs that wait for work may take most of them, but never all: to free something
// doesn't have to wait until a slow stream is done, nor to open something until the driver has freed something else.
class Lanes {
 public:
  // `finished` is called from a native thread when there is something to collect where there was nothing before.
  explicit Lanes(std::function<void()> finished) : finished_(std::move(finished)) {}
  // Drops what hasn't begun, waits for what has, undoes what wasn't collected, and ends the threads.
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  void submit(std::unique_ptr<Job> job);
  std::vector<std::unique_ptr<Job>> collect();
  // A collected job whose result found no taker: it is undone at the end.
  void giveBack(std::unique_ptr<Job> job);

 private:
  // How many may run at a time, of those that wait for this or for more.
  static constexpr size_t kMost[] = {24, 20, 16};

  void work();
  void startThread();
  // The queue that the next job comes from; none if there is none, or if it has to wait for others.
  std::deque<std::unique_ptr<Job>>* ready();
  // Counts one more or one less of those that run.
  void count(Wait wait, int change);

  const std::function<void()> finished_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Job>> queues_[std::size(kMost)];
  size_t running_[std::size(kMost)] = {};  // those that wait for this or for more
  std::vector<std::unique_ptr<Job>> done_, givenBack_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace cuda_ipc
