#include "schedule.h"

#include <algorithm>
#include <thread>

#include "context.h"
#include "process.h"

namespace simulator {
namespace {

constexpr auto kAcrossProcessesPause = std::chrono::microseconds(200);
constexpr int kPausesBeforeSweep = 250;  // 50 ms: the process that is waited for may have died
constexpr int kPollsThatCount = 3;

// A delay that depends on nothing but the seed and the work's place, so that a run can be repeated.
Nanoseconds delayOf(uint64_t stream, uint64_t operation) {
  const Delay& delay = config().delay;
  if (delay.most == delay.least) return delay.least;
  uint64_t place[] = {config().seed, stream, operation};
  uint64_t mixed = hashOf(place, sizeof place);
  mixed ^= mixed >> 29;
  return delay.least + Nanoseconds(mixed % static_cast<uint64_t>((delay.most - delay.least).count() + 1));
}

thread_local bool runsHostFunction = false;

}  // namespace

bool inHostFunction() { return runsHostFunction; }

CUresult runHostFunction(const std::function<void()>& function) {
  runsHostFunction = true;
  function();
  runsHostFunction = false;
  return CUDA_SUCCESS;
}

void Schedule::open(Context& context, const std::shared_ptr<Stream>& stream) {
  Lock lock(mutex_);
  stream->number = streams_++;
  stream->context = context.weak_from_this();
  context.streams.push_back(stream);
}

void Schedule::close(const std::shared_ptr<Stream>& stream) {
  Lock lock(mutex_);
  stream->closing = true;
  if (!stream->hasThread) {
    if (auto context = stream->context.lock()) {
      auto& streams = context->streams;
      streams.erase(std::remove(streams.begin(), streams.end(), stream), streams.end());
    }
  }
  changed_.notify_all();
}

void Schedule::closeAll(Context& context) {
  Lock lock(mutex_);
  for (const std::shared_ptr<Stream>& stream : context.streams) stream->closing = true;
  changed_.notify_all();
}

// The latest work of other streams that comes before work in this one.
std::vector<std::shared_ptr<Operation>> Schedule::orderedBefore(const Stream& stream) {
  std::vector<std::shared_ptr<Operation>> list;
  auto context = stream.context.lock();
  if (context && stream.kind != StreamKind::kNonBlocking) {
    // "The legacy default stream ... waits on all blocking streams, and all blocking streams wait on it."
    for (const std::shared_ptr<Stream>& other : context->streams) {
      bool ordered = stream.kind == StreamKind::kLegacy ? other->kind == StreamKind::kBlocking
                                                        : other->kind == StreamKind::kLegacy;
      if (ordered && other->last && !other->last->done) list.push_back(other->last);
    }
  }
  return list;
}

bool Schedule::nothingBefore(const std::shared_ptr<Stream>& stream) {
  Lock lock(mutex_);
  return (!stream->last || stream->last->done) && orderedBefore(*stream).empty();
}

void Schedule::link(Stream& stream, const std::shared_ptr<Operation>& operation) {
  operation->due = Clock::now() + delayOf(stream.number, stream.queued++);
  if (stream.last && !stream.last->done) operation->previous = stream.last;
  std::vector<std::shared_ptr<Operation>> others = orderedBefore(stream);
  operation->after.insert(operation->after.end(), others.begin(), others.end());
  stream.operations.push_back(operation);
  stream.last = operation;
}

void Schedule::queue(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Operation>& operation) {
  Lock lock(mutex_);
  if (!stream->hasThread) {
    auto context = stream->context.lock();
    if (!context) return;
    std::thread([this, stream, context] { serve(stream, context); }).detach();
    stream->hasThread = true;
  }
  link(*stream, operation);
  changed_.notify_all();
}

void Schedule::runHere(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Operation>& operation) {
  auto context = stream->context.lock();
  if (!context) return;
  Lock lock(mutex_);
  operation->here = true;
  link(*stream, operation);
  markWanted(operation);
  if (stream->operations.front() != operation || !operation->after.empty()) changed_.notify_all();
  changed_.wait(lock, [&] { return stream->operations.front() == operation && readyToRun(*operation); });
  run(lock, *stream, *context, operation);
}

void Schedule::markWanted(const std::shared_ptr<Operation>& operation) {
  std::vector<std::shared_ptr<Operation>> open{operation};
  while (!open.empty()) {
    std::shared_ptr<Operation> next = std::move(open.back());
    open.pop_back();
    if (!next || next->done || next->wanted) continue;
    next->wanted = true;
    if (next->across.hurry) next->across.hurry();
    open.push_back(next->previous);
    open.insert(open.end(), next->after.begin(), next->after.end());
  }
}

void Schedule::want(const std::shared_ptr<Operation>& operation) {
  Lock lock(mutex_);
  markWanted(operation);
  changed_.notify_all();
}

void Schedule::waitFor(const std::shared_ptr<Operation>& operation) {
  Lock lock(mutex_);
  if (!operation || operation->done) return;
  markWanted(operation);
  changed_.notify_all();
  changed_.wait(lock, [&] { return operation->done; });
}

std::vector<std::shared_ptr<Operation>> Schedule::latest(const std::shared_ptr<Stream>& stream) const {
  std::vector<std::shared_ptr<Operation>> list;
  if (stream->last && !stream->last->done) list.push_back(stream->last);
  auto context = stream->context.lock();
  if (!context || stream->kind != StreamKind::kLegacy) return list;
  for (const std::shared_ptr<Stream>& other : context->streams) {
    if (other->kind == StreamKind::kBlocking && other->last && !other->last->done) list.push_back(other->last);
  }
  return list;
}

void Schedule::waitForStream(const std::shared_ptr<Stream>& stream) {
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Operation>> list = latest(stream);
  if (list.empty()) return;
  for (const auto& operation : list) markWanted(operation);
  changed_.notify_all();
  changed_.wait(lock, [&] { return std::all_of(list.begin(), list.end(), [](auto& one) { return one->done; }); });
}

void Schedule::waitForContext(Context& context) {
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Operation>> list;
  for (const std::shared_ptr<Stream>& stream : context.streams) {
    if (stream->last && !stream->last->done) list.push_back(stream->last);
  }
  if (list.empty()) return;
  for (const auto& operation : list) markWanted(operation);
  changed_.notify_all();
  changed_.wait(lock, [&] { return std::all_of(list.begin(), list.end(), [](auto& one) { return one->done; }); });
}

bool Schedule::done(const std::shared_ptr<Operation>& operation, int& polls) {
  Lock lock(mutex_);
  if (!operation || operation->done) {
    polls = 0;
    return true;
  }
  if (config().delay.lazy && ++polls >= kPollsThatCount) {
    markWanted(operation);
    changed_.notify_all();
  }
  return false;
}

bool Schedule::idle(const std::shared_ptr<Stream>& stream) {
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Operation>> list = latest(stream);
  if (list.empty()) {
    stream->polls = 0;
    return true;
  }
  if (config().delay.lazy && ++stream->polls >= kPollsThatCount) {
    for (const auto& operation : list) markWanted(operation);
    changed_.notify_all();
  }
  return false;
}

bool Schedule::readyToRun(Operation& operation) const {
  auto& after = operation.after;
  after.erase(std::remove_if(after.begin(), after.end(), [](auto& one) { return one->done; }), after.end());
  if (!after.empty()) return false;
  bool itsTime = operation.wanted || (!config().delay.lazy && Clock::now() >= operation.due);
  return itsTime && (!operation.across.reached || operation.across.reached());
}

void Schedule::serve(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Context>& context) {
  Lock lock(mutex_);
  int rounds = 0;
  while (!stream->operations.empty() || !stream->closing) {
    if (!stream->operations.empty()) {
      std::shared_ptr<Operation> first = stream->operations.front();
      if (!first->here && readyToRun(*first)) {
        run(lock, *stream, *context, first);
        continue;
      }
    }
    pause(lock, *stream, rounds);
  }
  auto& streams = context->streams;
  streams.erase(std::remove(streams.begin(), streams.end(), stream), streams.end());
}

void Schedule::pause(Lock& lock, Stream& stream, int& rounds) {
  bool otherProcesses = false;
  for (const std::shared_ptr<Operation>& operation : stream.operations) {
    if (operation->wanted || !operation->across.hurried) continue;
    otherProcesses = true;
    if (operation->across.hurried()) {
      markWanted(operation);
      changed_.notify_all();
      return;
    }
  }
  Operation* first = stream.operations.empty() ? nullptr : stream.operations.front().get();
  if (first != nullptr && first->across.reached && first->after.empty()) otherProcesses = true;
  if (otherProcesses) {
    if (++rounds % kPausesBeforeSweep == 0) Process::instance().machine().sweep();
    changed_.wait_for(lock, kAcrossProcessesPause);
  } else if (first != nullptr && !first->here && first->after.empty() && !first->wanted && !config().delay.lazy) {
    changed_.wait_until(lock, first->due);
  } else {
    changed_.wait(lock);
  }
}

void Schedule::run(Lock& lock, Stream& stream, Context& context, const std::shared_ptr<Operation>& operation) {
  std::function<CUresult()> work = std::move(operation->work);
  lock.unlock();
  CUresult result = CUDA_SUCCESS;
  if (work && (operation->evenAfterFailure || context.error.load() == CUDA_SUCCESS)) result = work();
  if (result != CUDA_SUCCESS) context.fail(result);
  work = nullptr;  // what it held is let go outside the lock, and before anyone learns that it is done
  lock.lock();
  operation->finished = Clock::now();
  operation->done = true;
  operation->previous = nullptr;
  operation->after.clear();
  stream.operations.pop_front();
  changed_.notify_all();
}

}  // namespace simulator
