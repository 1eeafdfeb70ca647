// Events, of this process and interprocess ones.
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "machine.h"
#include "schedule.h"

namespace simulator {

class Event : public std::enable_shared_from_this<Event> {
 public:
  static std::shared_ptr<Event> create(const std::shared_ptr<Context>& context, unsigned flags);
  // Another process's.
  static std::shared_ptr<Event> open(const std::shared_ptr<Context>& context, const SharedName& name);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  CUevent handle = nullptr;
  const std::weak_ptr<Context>& context() const { return context_; }
  const std::optional<SharedName>& shared() const { return shared_; }
  bool opened() const { return opened_; }

  void record(const std::shared_ptr<Stream>& stream, std::optional<CUresult> failure);
  bool complete();
  void wait();
  void makeWait(const std::shared_ptr<Stream>& stream);
  // Milliseconds. Throws CUDA_ERROR_INVALID_HANDLE if one wasn't recorded or takes no times, CUDA_ERROR_NOT_READY.
  static float elapsed(Event& start, Event& end);

 private:
  Event(std::weak_ptr<Context> context, unsigned flags) : context_(std::move(context)), flags_(flags) {}
  EventRecord* record() const;
  std::shared_ptr<Operation> last() const;
  std::weak_ptr<Context> context_;
  const unsigned flags_;
  std::optional<SharedName> shared_;
  bool opened_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<Operation> last_;  // the latest recording by this process
  int polls_ = 0;
};

}  // namespace simulator
