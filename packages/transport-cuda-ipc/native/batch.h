// A list of operations that one native thread carries out in order. Its rules are in src/driver/batch.ts.
#pragma once
#include <optional>
#include <vector>

#include "queue.h"
#include "worker.h"

namespace cuda_ipc {

// As src/driver/operations.ts numbers them.
enum class Operation : uint64_t {
  kAlloc = 1,
  kFree,
  kCopy,
  kCopy2D,
  kCopyPeer,
  kCopyFromHost,
  kCopyToHost,
  kFill,
  kAddressRange,
  kAttributes,
  kIpcHandle,
  kIpcOpen,
  kIpcClose,
  kWaitForStream,
  kCreateStream,
  kDestroyStream,
  kSynchronizeStream,
  kQueryStream,
  kCreateEvent,
  kDestroyEvent,
  kRecordEvent,
  kWaitForEvent,
  kSynchronizeEvent,
  kQueryEvent,
  kMemoryInfo,
  kGranularity,
  kSynchronize,
};

// The code and up to nine operands, of which a pointer takes two.
constexpr size_t kOperationWords = 10;
constexpr size_t kResultWords = 8;

// Memory of the host, which JavaScript keeps alive until the batch is collected.
struct HostView {
  void* data;
  size_t bytes;
};

class Batch : public Job {
 public:
  struct Request {
    int ordinal = 0;
    std::vector<uint64_t> words;
    std::vector<HostView> views;
    CUstream stream = nullptr;  // the native thread's own if there is none
    bool wait = true;           // for the end of what was queued
  };

  // Throws std::invalid_argument for words that src/driver/batch.ts doesn't write.
  Batch(Contexts& contexts, Held& held, Request request);

  Wait wait() const override { return wait_; }
  void run(Lane& lane) override;
  void undo(Lane& lane) override;

  const std::vector<FailedOperation>& failures() const { return failures_; }
  // kResultWords for each operation.
  const std::vector<uint64_t>& results() const { return results_; }

 private:
  // What the batch has made and not ended.
  struct Made {
    Operation by;
    uint64_t value;
  };
  using Operands = const uint64_t*;

  void check();
  void runIn(Queue& queue);
  void perform(Queue& queue, size_t index, Operation operation, Operands operands, uint64_t* result);
  void settle(Queue& queue, size_t index);
  void undoIn(Queue& queue);
  void fail(const Failure& failure, std::optional<size_t> index);
  uint64_t pointer(Operands operands) const;
  bool hasOperand(Operands operands) const;
  void made(Operation by, uint64_t value) { made_.push_back({by, value}); }
  void ended(Operation by, uint64_t value);
  template <class Work>
  void withQueue(Lane& lane, Work work);

  Contexts& contexts_;
  Held& held_;
  const Request request_;
  Wait wait_ = Wait::kNothing;
  std::vector<uint64_t> results_;
  std::vector<bool> succeeded_;
  std::vector<Made> made_;
  std::vector<FailedOperation> failures_;
};

}  // namespace cuda_ipc
