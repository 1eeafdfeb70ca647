#include "environment.h"

#include <cstring>
#include <stdexcept>
#include <system_error>

namespace cuda_ipc {

void Probe::run(Lane&) {
  Opened opened = openLibrary(path_);
  library_ = opened.library;
  problem_ = opened.problem;
  if (library_ == nullptr) return;
  try {
    devices_ = devicesOf(*library_);
  } catch (const Failure& failure) {
    problem_ = {"driver-failed", std::string(failure.call) + ": " + nameOf(*library_, failure.code)};
  }
}

Environment::Environment(Napi::Env env) : env_(env) {
  napi_value name = Napi::String::New(env, "cuda_ipc");
  auto collect = [](napi_env env, napi_value, void* context, void*) {
    // Without an environment it is ending, and has collected already.
    if (env != nullptr) static_cast<Environment*>(context)->settle();
  };
  napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this,
                                                       collect, &finished_);
  NAPI_THROW_IF_FAILED_VOID(env, status);
  napi_unref_threadsafe_function(env, finished_);
  lanes_ = std::make_unique<Lanes>([finished = finished_] {
    // It fails only when the environment is ending, and then the lanes undo the jobs.
    napi_call_threadsafe_function(finished, nullptr, napi_tsfn_nonblocking);
  });
  // After the function above was made, and so run before it is taken down.
  napi_add_env_cleanup_hook(env, &Environment::end, this);
}

Environment::~Environment() = default;

void Environment::end(void* environment) { static_cast<Environment*>(environment)->end(); }

void Environment::end() {
  lanes_.reset();
  pending_.clear();
  if (cuda_) {
    // The main thread's end is the process's, and that of all it has; what it forgot is left for whoever looks for leaks.
    if (worker_) releaseHeld();
    cuda_->contexts.releaseUnused(cuda_->held);
  }
  napi_release_threadsafe_function(finished_, napi_tsfn_abort);
}

void Environment::releaseHeld() {
  auto [held, contexts] = std::tie(cuda_->held, cuda_->contexts);
  auto each = [&contexts = contexts, &held = held](int ordinal, auto work) {
    try {
      CurrentContext current(contexts.library(), contexts.of(ordinal));
      contexts.library().cuCtxSynchronize();  // nothing may still use what is freed
      Queue queue(contexts, held, ordinal, nullptr, nullptr);
      work(queue);
      queue.settle();
    } catch (const Failure&) {
      // No one is left who could be told.
    }
  };
  for (const auto& [base, opening] : held.mappings.all()) {
    for (size_t count = 0; count < opening.second; ++count) {
      each(opening.first, [base = base](Queue& queue) { closeHandle(queue, base); });
    }
  }
  for (const auto& [pointer, allocation] : held.allocations.all()) {
    // Another process may have it mapped, and freeing it under the mapping is undefined: it stays until the process ends.
    if (allocation.exported) continue;
    each(allocation.ordinal, [pointer = pointer](Queue& queue) { release(queue, pointer); });
  }
  for (const auto& [event, handle] : held.events.all()) {
    each(handle.ordinal, [event = event](Queue& queue) { destroyEvent(queue, event); });
  }
  for (const auto& [stream, handle] : held.streams.all()) {
    each(handle.ordinal, [stream = stream](Queue& queue) { destroyStream(queue, stream); });
  }
}

template <class Kind>
void Environment::start(std::unique_ptr<Kind> job, Napi::Function done, std::vector<Napi::ObjectReference> views) {
  // The process stays alive while a call is under way, and only then.
  if (pending_.empty()) napi_ref_threadsafe_function(env_, finished_);
  auto settled = [this, job = job.get()](const Napi::FunctionReference& done) { settle(*job, done); };
  const Job* key = job.get();
  pending_.emplace(key, Pending{Napi::Persistent(done), settled, std::move(views)});
  try {
    lanes_->submit(std::move(job));
  } catch (const std::system_error& error) {
    pending_.erase(key);
    if (pending_.empty()) napi_unref_threadsafe_function(env_, finished_);
    throw Napi::Error::New(env_, std::string("no native thread can be started: ") + error.what());
  }
}

void Environment::settle() {
  for (std::unique_ptr<Job>& job : lanes_->collect()) {
    auto found = pending_.find(job.get());
    Pending pending = std::move(found->second);
    pending_.erase(found);
    if (pending_.empty()) napi_unref_threadsafe_function(env_, finished_);
    try {
      pending.settle(pending.done);
    } catch (const Napi::Error&) {
      // The worker thread is being terminated, and takes no results any more.
      lanes_->giveBack(std::move(job));
    }
  }
}

// probe(path, worker, done): { problem, detail } or { version, devices }
void Environment::probe(const Napi::CallbackInfo& info) {
  worker_ = info[1].As<Napi::Boolean>().Value();
  start(std::make_unique<Probe>(info[0].As<Napi::String>().Utf8Value()), info[2].As<Napi::Function>(), {});
}

void Environment::settle(const Probe& probe, const Napi::FunctionReference& done) {
  Napi::Object outcome = Napi::Object::New(env_);
  if (!probe.problem().kind.empty()) {
    outcome.Set("problem", probe.problem().kind);
    outcome.Set("detail", probe.problem().detail);
    done.Call({outcome});
    return;
  }
  if (!cuda_) cuda_ = std::make_unique<Cuda>(*probe.library());
  outcome.Set("version", Napi::Number::New(env_, probe.library()->version));
  Napi::Array devices = Napi::Array::New(env_);
  for (const DeviceInfo& info : probe.devices()) {
    Napi::Object device = Napi::Object::New(env_);
    device.Set("ordinal", Napi::Number::New(env_, info.ordinal));
    device.Set("uuid", info.uuid);
    device.Set("name", info.name);
    device.Set("totalMemory", Napi::Number::New(env_, static_cast<double>(info.totalMemory)));
    device.Set("pciBusId", info.pciBusId);
    device.Set("mig", Napi::Boolean::New(env_, info.mig));
    device.Set("major", Napi::Number::New(env_, info.major));
    device.Set("minor", Napi::Number::New(env_, info.minor));
    device.Set("virtualMemory", Napi::Boolean::New(env_, info.virtualMemory));
    device.Set("memoryPools", Napi::Boolean::New(env_, info.memoryPools));
    devices.Set(devices.Length(), device);
  }
  outcome.Set("devices", devices);
  done.Call({outcome});
}

// submit(ordinal, words, views, stream, wait, done): an error as errorOf makes it, or undefined and the words of the results
void Environment::submit(const Napi::CallbackInfo& info) {
  if (!cuda_) throw Napi::Error::New(env_, "the driver isn't open");
  Batch::Request request;
  request.ordinal = info[0].As<Napi::Number>().Int32Value();
  auto words = info[1].As<Napi::BigUint64Array>();
  request.words.assign(words.Data(), words.Data() + words.ElementLength());
  auto given = info[2].As<Napi::Array>();
  std::vector<Napi::ObjectReference> views;
  for (uint32_t i = 0; i < given.Length(); ++i) {
    auto view = given.Get(i).As<Napi::Uint8Array>();
    request.views.push_back({view.Data(), view.ByteLength()});
    views.push_back(Napi::Persistent(view.As<Napi::Object>()));
  }
  bool lossless = false;
  request.stream = reinterpret_cast<CUstream>(info[3].As<Napi::BigInt>().Uint64Value(&lossless));
  request.wait = info[4].As<Napi::Boolean>().Value();
  try {
    auto batch = std::make_unique<Batch>(cuda_->contexts, cuda_->held, std::move(request));
    start(std::move(batch), info[5].As<Napi::Function>(), std::move(views));
  } catch (const std::invalid_argument& error) {
    throw Napi::TypeError::New(env_, error.what());
  }
}

void Environment::settle(const Batch& batch, const Napi::FunctionReference& done) {
  if (!batch.failures().empty()) {
    done.Call({errorOf(env_, cuda_->contexts.library(), batch.failures())});
    return;
  }
  const std::vector<uint64_t>& results = batch.results();
  Napi::BigUint64Array words = Napi::BigUint64Array::New(env_, results.size());
  if (!results.empty()) std::memcpy(words.Data(), results.data(), results.size() * sizeof(uint64_t));
  done.Call({env_.Undefined(), words});
}

// held(): counts, as src/driver/driver.ts has them
Napi::Value Environment::held(const Napi::CallbackInfo&) {
  Napi::Object counts = Napi::Object::New(env_);
  size_t allocations = 0, bytes = 0, mappings = 0, streams = 0, events = 0;
  if (cuda_) {
    for (const auto& [pointer, allocation] : cuda_->held.allocations.all()) ++allocations, bytes += allocation.bytes;
    for (const auto& [base, opening] : cuda_->held.mappings.all()) mappings += opening.second;
    streams = cuda_->held.streams.all().size();
    events = cuda_->held.events.all().size();
  }
  auto set = [&](const char* name, size_t count) {
    counts.Set(name, Napi::Number::New(env_, static_cast<double>(count)));
  };
  set("allocations", allocations);
  set("allocatedBytes", bytes);
  set("mappings", mappings);
  set("streams", streams);
  set("events", events);
  set("pending", pending_.size());
  return counts;
}

}  // namespace cuda_ipc
