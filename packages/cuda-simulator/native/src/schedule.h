// When queued work runs. Each stream is a queue with a thread of its own; a piece of work is done once what was before it
// in its stream is, and what it depends on in others, and either its delay has passed or something waits for it. So
// asynchronous work is really later, and never never.
//
// Rules: https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html (which streams wait for which).
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "config.h"
#include "cuda.h"

namespace simulator {

class Context;
using Clock = std::chrono::steady_clock;

// Something in another process that work here waits for, or the other way round.
struct AcrossProcesses {
  std::function<bool()> reached;  // whether what is waited for has happened; empty: nothing is waited for
  std::function<void()> hurry;    // asks the other process to get on with it
  std::function<bool()> hurried;  // whether another process asks for this piece of work
};

struct Operation {
  // Returns the code of a failure, which stays with the context.
  std::function<CUresult()> work;
  bool evenAfterFailure = false;  // otherwise skipped once the context has failed
  AcrossProcesses across;

  // What follows belongs to the schedule.
  Clock::time_point due;
  Clock::time_point finished;
  bool here = false;  // run by the thread that waits for it
  bool wanted = false;
  bool done = false;
  std::shared_ptr<Operation> previous;
  std::vector<std::shared_ptr<Operation>> after;
};

enum class StreamKind { kLegacy, kBlocking, kNonBlocking };

struct Stream {
  Stream(StreamKind kind_, unsigned flags_, int priority_) : kind(kind_), flags(flags_), priority(priority_) {}
  const StreamKind kind;
  const unsigned flags;
  const int priority;
  CUstream handle = nullptr;
  std::weak_ptr<Context> context;

  // What follows belongs to the schedule.
  uint64_t number = 0;   // in its process, in order of creation
  uint64_t queued = 0;   // operations so far
  int polls = 0;         // queries that found it busy, since it last was idle
  bool hasThread = false;
  bool closing = false;
  std::deque<std::shared_ptr<Operation>> operations;
  std::shared_ptr<Operation> last;
};

class Schedule {
 public:
  void open(Context& context, const std::shared_ptr<Stream>& stream);
  // No more work will come. What is queued is still done.
  void close(const std::shared_ptr<Stream>& stream);
  void closeAll(Context& context);

  void queue(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Operation>& operation);
  // Queues it, waits for its turn, and runs it on the calling thread.
  void runHere(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Operation>& operation);

  // Whether work that is queued in the stream now could run at once, but for its delay.
  bool nothingBefore(const std::shared_ptr<Stream>& stream);

  void waitFor(const std::shared_ptr<Operation>& operation);
  void waitForStream(const std::shared_ptr<Stream>& stream);
  void waitForContext(Context& context);

  // Whether it is done. With lazy delays, the third query that finds it isn't counts as waiting, so that a program that
  // polls gets on.
  bool done(const std::shared_ptr<Operation>& operation, int& polls);
  bool idle(const std::shared_ptr<Stream>& stream);

  // Hurries it on without waiting.
  void want(const std::shared_ptr<Operation>& operation);

 private:
  using Lock = std::unique_lock<std::mutex>;
  static std::vector<std::shared_ptr<Operation>> orderedBefore(const Stream& stream);
  void link(Stream& stream, const std::shared_ptr<Operation>& operation);
  void markWanted(const std::shared_ptr<Operation>& operation);
  std::vector<std::shared_ptr<Operation>> latest(const std::shared_ptr<Stream>& stream) const;
  bool readyToRun(Operation& operation) const;
  void serve(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Context>& context);
  void pause(Lock& lock, Stream& stream, int& rounds);
  void run(Lock& lock, Stream& stream, Context& context, const std::shared_ptr<Operation>& operation);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t streams_ = 0;
};

// While the program's own function runs in a stream, calls of the driver aren't permitted on that thread.
bool inHostFunction();
CUresult runHostFunction(const std::function<void()>& function);

}  // namespace simulator
