#include "context.h"

#include "event.h"
#include "process.h"
#include "trace.h"

namespace simulator {

std::shared_ptr<Context> Context::create(int device, unsigned flags, bool primary) {
  std::shared_ptr<Context> context(new Context(device, flags, primary));
  context->legacy_ = std::make_shared<Stream>(StreamKind::kLegacy, CU_STREAM_DEFAULT, 0);
  context->handle = Process::instance().contexts.add(context);
  Process::instance().schedule.open(*context, context->legacy_);
  return context;
}

void Context::check() const {
  require(!destroyed.load(std::memory_order_acquire), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  int failed = error.load(std::memory_order_acquire);
  require(failed == CUDA_SUCCESS, static_cast<CUresult>(failed));
}

void Context::fail(CUresult code) {
  int none = CUDA_SUCCESS;
  if (!error.compare_exchange_strong(none, code)) return;
  TraceLine("failure").address("context", reinterpret_cast<uint64_t>(handle)).signedNumber("result", code).write();
}

std::shared_ptr<Stream> Context::perThreadStream() {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Stream>& stream = perThread_[std::this_thread::get_id()];
  if (!stream) {
    // "The per-thread default stream ... will synchronize with the legacy default stream."
    stream = std::make_shared<Stream>(StreamKind::kBlocking, CU_STREAM_DEFAULT, 0);
    Process::instance().schedule.open(*this, stream);
  }
  return stream;
}

bool Context::enablePeer(CUcontext peer) {
  std::lock_guard lock(mutex_);
  return peers_.insert(peer).second;
}

bool Context::disablePeer(CUcontext peer) {
  std::lock_guard lock(mutex_);
  return peers_.erase(peer) == 1;
}

void Context::destroy() {
  if (destroyed.exchange(true)) return;
  Process& process = Process::instance();
  process.schedule.waitForContext(*this);
  process.contexts.take(handle);
  for (const std::shared_ptr<Range>& range : process.addresses.all()) {
    if (range->context.lock().get() != this) continue;
    if (process.addresses.remove(range->base)) process.freeStorage(*range->storage);
  }
  for (const auto& [streamHandle, stream] : process.streams.all()) {
    if (stream->context.lock().get() == this) process.streams.take(streamHandle);
  }
  for (const auto& [eventHandle, event] : process.events.all()) {
    if (event->context().lock().get() == this) process.events.take(eventHandle);
  }
  process.schedule.closeAll(*this);
}

std::vector<std::shared_ptr<Context>>& contextStack() {
  static thread_local std::vector<std::shared_ptr<Context>> stack;
  return stack;
}

Context& currentContext() {
  auto& stack = contextStack();
  require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
  stack.back()->check();
  return *stack.back();
}

std::shared_ptr<Context> findContext(CUcontext handle) {
  Process& process = Process::instance();
  std::shared_ptr<Context> context = process.contexts.find(handle);
  if (context) return context;
  throw Failure(process.contexts.issued(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT);
}

std::shared_ptr<Stream> findStream(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return currentContext().legacyStream();
  if (handle == CU_STREAM_PER_THREAD) return currentContext().perThreadStream();
  std::shared_ptr<Stream> stream = Process::instance().streams.find(handle);
  require(stream != nullptr, CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<Context> context = stream->context.lock();
  require(context != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  context->check();
  return stream;
}

std::shared_ptr<Context> PrimaryContexts::retain(int device) {
  std::lock_guard lock(mutex_);
  Primary& primary = primaries_[device];
  if (!primary.context) primary.context = Context::create(device, primary.flags, true);
  ++primary.users;
  return primary.context;
}

void PrimaryContexts::release(int device) {
  std::shared_ptr<Context> last;
  {
    std::lock_guard lock(mutex_);
    Primary& primary = primaries_[device];
    require(primary.users > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--primary.users == 0) last = std::move(primary.context);
  }
  if (last) last->destroy();
}

void PrimaryContexts::reset(int device) {
  std::shared_ptr<Context> context;
  {
    std::lock_guard lock(mutex_);
    context = std::move(primaries_[device].context);
  }
  if (context) context->destroy();
}

void PrimaryContexts::state(int device, unsigned& flags, bool& active) {
  std::lock_guard lock(mutex_);
  const Primary& primary = primaries_[device];
  flags = primary.context ? primary.context->flags.load() : primary.flags;
  active = primary.context != nullptr;
}

void PrimaryContexts::setFlags(int device, unsigned flags) {
  std::lock_guard lock(mutex_);
  Primary& primary = primaries_[device];
  primary.flags = flags;
  if (primary.context) primary.context->flags = flags;
}

}  // namespace simulator
