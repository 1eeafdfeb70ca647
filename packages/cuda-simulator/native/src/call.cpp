#include "call.h"

#include "process.h"

namespace simulator {

std::optional<CUresult> Call::workFailure() const {
  if (!Faults::configured().any()) return std::nullopt;
  return Faults::configured().strikeWork(function_);
}

void Call::trace(const char* library, int result) const {
  uint64_t duration = timer_.nanoseconds();
  TraceLine line("call");
  line.text("library", library).text("function", function_);
  if (bytes_) line.number("bytes", *bytes_);
  if (direction_ != nullptr) line.text("direction", direction_);
  if (async_) line.truth("async", *async_);
  for (int i = 0; i < addresses_; ++i) line.address(address_[i].name, address_[i].value);
  line.number("duration", duration).signedNumber("result", result).write();
}

void checkMayCall(Before before) {
  // "The host function must not make any CUDA API calls. Attempting to use a CUDA API may result in
  // CUDA_ERROR_NOT_PERMITTED" (cuLaunchHostFunc; here it does).
  require(!inHostFunction(), CUDA_ERROR_NOT_PERMITTED);
  if (before == Before::kInit) Process::instance().checkUsable();
}

}  // namespace simulator
