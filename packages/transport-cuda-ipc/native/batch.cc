#include "batch.h"

#include <algorithm>
#include <stdexcept>

namespace cuda_ipc {

namespace {

// Operations that end something: they wait for what is queued, and are carried out also after a failure.
bool ends(Operation operation) {
  return operation == Operation::kFree || operation == Operation::kIpcClose || operation == Operation::kDestroyStream ||
         operation == Operation::kDestroyEvent;
}

Wait waitOf(Operation operation, const uint64_t* operands) {
  switch (operation) {
    case Operation::kAlloc:
      return static_cast<MemoryKind>(operands[1]) == MemoryKind::kPool ? Wait::kWork : Wait::kNothing;
    case Operation::kFree:
    case Operation::kIpcClose:
      return Wait::kFreeing;
    case Operation::kCopy:
    case Operation::kCopy2D:
    case Operation::kCopyPeer:
    case Operation::kCopyFromHost:
    case Operation::kCopyToHost:
    case Operation::kFill:
    case Operation::kWaitForStream:
    case Operation::kSynchronizeStream:
    case Operation::kWaitForEvent:
    case Operation::kSynchronizeEvent:
      return Wait::kWork;
    default:
      return Wait::kNothing;
  }
}

// Where an operation's pointers are among its operands.
std::vector<size_t> pointersOf(Operation operation) {
  switch (operation) {
    case Operation::kFree:
    case Operation::kCopyFromHost:
    case Operation::kFill:
    case Operation::kAddressRange:
    case Operation::kAttributes:
    case Operation::kIpcHandle:
    case Operation::kIpcClose:
      return {0};
    case Operation::kCopyToHost:
      return {1};
    case Operation::kCopy:
      return {0, 2};
    case Operation::kCopy2D:
    case Operation::kCopyPeer:
      return {0, 3};
    default:
      return {};
  }
}

std::optional<size_t> viewOf(Operation operation) {
  if (operation == Operation::kCopyFromHost) return 2;
  if (operation == Operation::kCopyToHost) return 0;
  return std::nullopt;
}

CUstream streamOf(uint64_t handle) { return reinterpret_cast<CUstream>(handle); }
CUevent eventOf(uint64_t handle) { return reinterpret_cast<CUevent>(handle); }

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

Batch::Batch(Contexts& contexts, Held& held, Request request)
    : contexts_(contexts), held_(held), request_(std::move(request)) {
  check();
  size_t count = request_.words.size() / kOperationWords;
  results_.resize(count * kResultWords);
  succeeded_.resize(count);
}

void Batch::check() {
  const std::vector<uint64_t>& words = request_.words;
  require(words.size() % kOperationWords == 0, "the words of a batch aren't whole operations");
  for (size_t index = 0; index * kOperationWords < words.size(); ++index) {
    Operands operands = &words[index * kOperationWords] + 1;
    auto operation = static_cast<Operation>(operands[-1]);
    require(operation >= Operation::kAlloc && operation <= Operation::kSynchronize, "an operation isn't known");
    require(operation != Operation::kAlloc || operands[1] <= static_cast<uint64_t>(MemoryKind::kPool),
            "a kind of memory isn't known");
    for (size_t at : pointersOf(operation)) require(operands[at] <= index, "an operand is of a later operation");
    if (std::optional<size_t> view = viewOf(operation)) {
      require(operands[*view] < request_.views.size(), "host memory is missing");
    }
    wait_ = std::max(wait_, waitOf(operation, operands));
  }
}

template <class Work>
void Batch::withQueue(Lane& lane, Work work) {
  CurrentContext current(contexts_.library(), contexts_.of(request_.ordinal));
  OwnStream& own = lane.streamOf(contexts_, request_.ordinal);
  CUstream stream = request_.stream == nullptr ? own.stream() : request_.stream;
  Queue queue(contexts_, held_, request_.ordinal, stream, own.event());
  work(queue);
}

void Batch::run(Lane& lane) {
  try {
    withQueue(lane, [this](Queue& queue) { runIn(queue); });
  } catch (const Failure& failure) {
    fail(failure, std::nullopt);  // nothing was begun: there is no context, or no stream
  }
}

void Batch::undo(Lane& lane) {
  try {
    withQueue(lane, [this](Queue& queue) { undoIn(queue); });
  } catch (const Failure&) {
    // Without a context there is nothing left in it.
  }
}

void Batch::runIn(Queue& queue) {
  size_t count = succeeded_.size();
  for (size_t index = 0; index < count; ++index) {
    Operands operands = &request_.words[index * kOperationWords] + 1;
    auto operation = static_cast<Operation>(operands[-1]);
    if (ends(operation)) settle(queue, index);
    if (!failures_.empty() && !(ends(operation) && hasOperand(operands))) continue;
    try {
      perform(queue, index, operation, operands, &results_[index * kResultWords]);
      succeeded_[index] = true;
    } catch (const Failure& failure) {
      fail(failure, index);
    }
  }
  // After a failure in any case: what is undone must not be in use.
  if (request_.wait || !failures_.empty()) settle(queue, count - 1);
  if (!failures_.empty()) undoIn(queue);
}

void Batch::settle(Queue& queue, size_t index) {
  try {
    queue.settle();
  } catch (const Failure& failure) {
    fail(failure, index);
  }
}

// A pointer operand: 0 and the address, or the operation that gives it, counted from 1, and an offset.
uint64_t Batch::pointer(Operands operands) const {
  return operands[0] == 0 ? operands[1] : results_[(operands[0] - 1) * kResultWords] + operands[1];
}

// Whether what an ending operation is to end is there: from before the batch, or made by it.
bool Batch::hasOperand(Operands operands) const {
  auto operation = static_cast<Operation>(operands[-1]);
  bool isPointer = operation == Operation::kFree || operation == Operation::kIpcClose;
  return !isPointer || operands[0] == 0 || succeeded_[operands[0] - 1];
}

void Batch::perform(Queue& queue, size_t index, Operation operation, Operands operands, uint64_t* result) {
  switch (operation) {
    case Operation::kAlloc:
      result[0] = allocate(queue, operands[0], static_cast<MemoryKind>(operands[1]));
      return made(operation, result[0]);
    case Operation::kFree: {
      CUdeviceptr address = pointer(operands);
      ended(Operation::kAlloc, address);
      return release(queue, address);
    }
    case Operation::kCopy:
      return copy(queue, pointer(operands), pointer(operands + 2), operands[4]);
    case Operation::kCopy2D:
      return copyRows(queue, pointer(operands), operands[2], pointer(operands + 3), operands[5], operands[6],
                      operands[7]);
    case Operation::kCopyPeer:
      return copyPeer(queue, pointer(operands), static_cast<int>(operands[2]), pointer(operands + 3),
                      static_cast<int>(operands[5]), operands[6]);
    case Operation::kCopyFromHost: {
      const HostView& view = request_.views[operands[2]];
      return copyFromHost(queue, pointer(operands), view.data, view.bytes);
    }
    case Operation::kCopyToHost: {
      const HostView& view = request_.views[operands[0]];
      return copyToHost(queue, view.data, pointer(operands + 1), view.bytes);
    }
    case Operation::kFill:
      return fill(queue, pointer(operands), static_cast<unsigned char>(operands[2]), operands[3]);
    case Operation::kAddressRange:
      return addressRange(queue, pointer(operands), result);
    case Operation::kAttributes:
      return attributes(queue, pointer(operands), result);
    case Operation::kIpcHandle:
      return exportHandle(queue, pointer(operands), result);
    case Operation::kIpcOpen:
      result[0] = openHandle(queue, operands);
      return made(operation, result[0]);
    case Operation::kIpcClose: {
      CUdeviceptr base = pointer(operands);
      ended(Operation::kIpcOpen, base);
      return closeHandle(queue, base);
    }
    case Operation::kWaitForStream:
      return queue.waitFor(operands[0]);
    case Operation::kCreateStream:
      result[0] = reinterpret_cast<uint64_t>(createStream(queue));
      return made(operation, result[0]);
    case Operation::kDestroyStream:
      return destroyStream(queue, streamOf(operands[0]));
    case Operation::kSynchronizeStream:
      return synchronizeStream(queue, streamOf(operands[0]));
    case Operation::kQueryStream:
      result[0] = queryStream(queue, streamOf(operands[0]));
      return;
    case Operation::kCreateEvent:
      result[0] = reinterpret_cast<uint64_t>(createEvent(queue));
      return made(operation, result[0]);
    case Operation::kDestroyEvent:
      return destroyEvent(queue, eventOf(operands[0]));
    case Operation::kRecordEvent:
      return recordEvent(queue, eventOf(operands[0]), streamOf(operands[1]));
    case Operation::kWaitForEvent:
      return waitForEvent(queue, eventOf(operands[0]));
    case Operation::kSynchronizeEvent:
      return synchronizeEvent(queue, eventOf(operands[0]));
    case Operation::kQueryEvent:
      result[0] = queryEvent(queue, eventOf(operands[0]));
      return;
    case Operation::kMemoryInfo:
      return memoryInfo(queue, result);
    case Operation::kGranularity:
      result[0] = granularity(queue);
      return;
    case Operation::kSynchronize:
      return settle(queue, index);
  }
}

void Batch::ended(Operation by, uint64_t value) {
  // The latest: an opening that is counted twice is undone once for each.
  auto found = std::find_if(made_.rbegin(), made_.rend(),
                            [&](const Made& each) { return each.by == by && each.value == value; });
  if (found != made_.rend()) made_.erase(std::next(found).base());
}

void Batch::undoIn(Queue& queue) {
  while (!made_.empty()) {
    auto [by, value] = made_.back();
    made_.pop_back();
    try {
      switch (by) {
        case Operation::kAlloc:
          release(queue, value);
          break;
        case Operation::kIpcOpen:
          closeHandle(queue, value);
          break;
        case Operation::kCreateStream:
          destroyStream(queue, streamOf(value));
          break;
        case Operation::kCreateEvent:
          destroyEvent(queue, eventOf(value));
          break;
        default:
          break;
      }
    } catch (const Failure& failure) {
      fail(failure, std::nullopt);
    }
  }
  settle(queue, succeeded_.size() - 1);  // stream-ordered memory is freed when its stream gets to it
}

void Batch::fail(const Failure& failure, std::optional<size_t> index) { failures_.push_back({failure, index}); }

}  // namespace cuda_ipc
