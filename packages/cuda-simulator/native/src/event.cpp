#include "event.h"

#include <map>
#include <thread>

#include "context.h"
#include "lasting.h"
#include "process.h"

namespace simulator {
namespace {

// How often this process has each interprocess event open, by the event's id.
class Openings {
 public:
  void add(uint64_t id) {
    std::lock_guard lock(mutex_);
    ++count_[id];
  }
  bool removeLast(uint64_t id) {
    std::lock_guard lock(mutex_);
    if (--count_[id] > 0) return false;
    count_.erase(id);
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, int> count_;
};

Openings& openings() {
  static const Lasting<Openings> once;
  return *once;
}

void raise(std::atomic<uint64_t>& value, uint64_t to) {
  uint64_t now = value.load();
  while (now < to && !value.compare_exchange_weak(now, to)) {
  }
}

}  // namespace

std::shared_ptr<Event> Event::create(const std::shared_ptr<Context>& context, unsigned flags) {
  constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  require((flags & ~kKnown) == 0, CUDA_ERROR_INVALID_VALUE);
  bool interprocess = (flags & CU_EVENT_INTERPROCESS) != 0;
  // "CU_EVENT_INTERPROCESS must be specified along with CU_EVENT_DISABLE_TIMING."
  require(!interprocess || (flags & CU_EVENT_DISABLE_TIMING) != 0, CUDA_ERROR_INVALID_VALUE);
  std::shared_ptr<Event> event(new Event(context, flags));
  if (interprocess) {
    Process& process = Process::instance();
    event->shared_ = process.machine().createEvent(process.device(context->device).index);
    require(event->shared_.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
  }
  return event;
}

std::shared_ptr<Event> Event::open(const std::shared_ptr<Context>& context, const SharedName& name) {
  Process& process = Process::instance();
  Machine& machine = process.machine();
  bool known = name.slot >= 0 && name.slot < kMostEvents && machine.event(name).id == name.id;
  require(!known || machine.event(name).process != machine.slot(), CUDA_ERROR_INVALID_CONTEXT);  // this process's own
  int device = 0;
  std::optional<SharedName> shared = machine.openEvent(name, device);
  require(shared.has_value(), CUDA_ERROR_INVALID_HANDLE);
  openings().add(name.id);
  std::shared_ptr<Event> event(new Event(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  event->shared_ = shared;
  event->opened_ = true;
  require(process.ordinal(device) >= 0, CUDA_ERROR_INVALID_HANDLE);
  return event;
}

Event::~Event() {
  if (!shared_) return;
  if (!opened_ || openings().removeLast(shared_->id)) Process::instance().machine().closeEvent(*shared_, !opened_);
}

EventRecord* Event::record() const {
  return shared_ ? &Process::instance().machine().event(*shared_) : nullptr;
}

std::shared_ptr<Operation> Event::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

void Event::record(const std::shared_ptr<Stream>& stream, std::optional<CUresult> failure) {
  auto operation = std::make_shared<Operation>();
  operation->evenAfterFailure = true;
  CUresult result = failure.value_or(CUDA_SUCCESS);
  if (EventRecord* shared = record()) {
    uint64_t number = shared->recorded.fetch_add(1) + 1;
    shared->recorders = static_cast<uint32_t>(Process::instance().machine().slot()) + 1;
    operation->across.hurried = [shared, number] { return shared->wanted.load() >= number; };
    operation->work = [self = shared_from_this(), shared, number, result] {
      raise(shared->completed, number);
      return result;
    };
  } else {
    operation->work = [result] { return result; };
  }
  {
    std::lock_guard lock(mutex_);
    last_ = operation;
  }
  Process::instance().schedule.queue(stream, operation);
}

bool Event::complete() {
  EventRecord* shared = record();
  std::shared_ptr<Operation> mine = last();
  Schedule& schedule = Process::instance().schedule;
  int polls;
  {
    std::lock_guard lock(mutex_);
    polls = polls_;
  }
  bool done = schedule.done(mine, polls);
  if (shared != nullptr) {
    uint64_t number = shared->recorded.load();
    done = shared->completed.load() >= number;
    // Three fruitless queries count as waiting, as they do within a process.
    polls = done ? 0 : std::max(polls, polls_ + 1);
    if (polls >= 3) raise(shared->wanted, number);
  }
  std::lock_guard lock(mutex_);
  polls_ = polls;
  return done;
}

void Event::wait() {
  EventRecord* shared = record();
  if (shared == nullptr) {
    Process::instance().schedule.waitFor(last());
    return;
  }
  uint64_t number = shared->recorded.load();
  raise(shared->wanted, number);
  if (std::shared_ptr<Operation> mine = last()) Process::instance().schedule.want(mine);
  for (int rounds = 1; shared->completed.load() < number; ++rounds) {
    std::this_thread::sleep_for(std::chrono::microseconds(rounds < 20 ? 20 : 200));
    if (rounds % 250 == 0) Process::instance().machine().sweep();  // completes what dead processes recorded
  }
}

void Event::makeWait(const std::shared_ptr<Stream>& stream) {
  auto operation = std::make_shared<Operation>();
  operation->evenAfterFailure = true;
  if (EventRecord* shared = record()) {
    uint64_t number = shared->recorded.load();
    if (shared->completed.load() >= number) return;
    operation->across.reached = [self = shared_from_this(), shared, number] {
      return shared->completed.load() >= number;
    };
    operation->across.hurry = [shared, number] { raise(shared->wanted, number); };
  }
  if (std::shared_ptr<Operation> mine = last()) operation->after.push_back(mine);
  if (operation->after.empty() && !operation->across.reached) return;  // never recorded: nothing to wait for
  Process::instance().schedule.queue(stream, operation);
}

float Event::elapsed(Event& start, Event& end) {
  std::shared_ptr<Operation> first = start.last(), second = end.last();
  bool timed = ((start.flags_ | end.flags_) & CU_EVENT_DISABLE_TIMING) == 0;
  require(timed && first && second, CUDA_ERROR_INVALID_HANDLE);
  Schedule& schedule = Process::instance().schedule;
  int polls = 0;
  require(schedule.done(first, polls) && schedule.done(second, polls), CUDA_ERROR_NOT_READY);
  return std::chrono::duration<float, std::milli>(second->finished - first->finished).count();
}

}  // namespace simulator
