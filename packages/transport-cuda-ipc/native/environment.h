// All that the addon has for one environment: the main thread, or one worker thread. It ends with it.
#pragma once
#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "batch.h"
#include "library.h"
#include "worker.h"

namespace cuda_ipc {

// Loads the driver and describes its devices.
class Probe : public Job {
 public:
  explicit Probe(std::string path) : path_(std::move(path)) {}
  Wait wait() const override { return Wait::kNothing; }
  void run(Lane& lane) override;
  void undo(Lane&) override {}

  const Library* library() const { return library_; }
  const Problem& problem() const { return problem_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }

 private:
  const std::string path_;
  const Library* library_ = nullptr;
  Problem problem_;
  std::vector<DeviceInfo> devices_;
};

class Environment {
 public:
  explicit Environment(Napi::Env env);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void probe(const Napi::CallbackInfo& info);
  void submit(const Napi::CallbackInfo& info);
  Napi::Value held(const Napi::CallbackInfo& info);

 private:
  // What belongs to JavaScript while a job is under way. The result goes to a function, since a promise that can't be settled
  // any more, when a worker thread is terminated, would never be freed.
  struct Pending {
    Napi::FunctionReference done;
    std::function<void(const Napi::FunctionReference&)> settle;
    std::vector<Napi::ObjectReference> views;
  };
  // What there is once the driver is open.
  struct Cuda {
    explicit Cuda(const Library& library) : contexts(library) {}
    Held held;
    Contexts contexts;
  };

  static void end(void* environment);
  template <class Kind>
  void start(std::unique_ptr<Kind> job, Napi::Function done, std::vector<Napi::ObjectReference> views);
  void settle();
  void settle(const Probe& probe, const Napi::FunctionReference& done);
  void settle(const Batch& batch, const Napi::FunctionReference& done);
  void end();
  void releaseHeld();

  const Napi::Env env_;
  bool worker_ = false;  // a worker thread, whose end isn't the process's
  napi_threadsafe_function finished_ = nullptr;
  std::unordered_map<const Job*, Pending> pending_;
  std::unique_ptr<Cuda> cuda_;
  std::unique_ptr<Lanes> lanes_;
};

}  // namespace cuda_ipc
