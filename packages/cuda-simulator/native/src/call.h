// What every entry point does around its work: it turns away callers who may not call, deals out faults, catches errors,
// and writes the trace.
#pragma once
#include <new>
#include <optional>
#include <system_error>

#include "errors.h"
#include "faults.h"
#include "trace.h"

namespace simulator {

// One call of an entry point. What it notes goes into the trace.
class Call {
 public:
  explicit Call(const char* function) : function_(function) {}
  void bytes(uint64_t bytes) { bytes_ = bytes; }
  void direction(const char* direction) { direction_ = direction; }  // HtoD, DtoH, DtoD, HtoH
  void async(bool async) { async_ = async; }
  void address(const char* name, uint64_t value) {
    if (addresses_ < kMostAddresses) address_[addresses_++] = {name, value};
  }
  void address(const char* name, const void* value) { address(name, reinterpret_cast<uint64_t>(value)); }

  const char* function() const { return function_; }
  // The code with which the work that this call queues is to fail, if a fault says so.
  std::optional<CUresult> workFailure() const;
  void trace(const char* library, int result) const;

 private:
  static constexpr int kMostAddresses = 4;
  const char* function_;
  TraceTimer timer_;
  const char* direction_ = nullptr;
  std::optional<uint64_t> bytes_;
  std::optional<bool> async_;
  struct Address {
    const char* name;
    uint64_t value;
  };
  Address address_[kMostAddresses];
  int addresses_ = 0;
};

enum class Before { kInit, kAnything };  // what may not be called, and what may, before cuInit

void checkMayCall(Before before);

template <class Body>
CUresult call(const char* function, Body&& body, Before before = Before::kInit) {
  Call call(function);
  CUresult result;
  try {
    checkMayCall(before);
    std::optional<CUresult> fault;
    if (Faults::configured().any()) fault = Faults::configured().strike(function);
    result = fault ? *fault : body(call);
  } catch (const Failure& failure) {
    result = failure.code();
  } catch (const std::bad_alloc&) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error&) {  // no more threads
    result = CUDA_ERROR_OPERATING_SYSTEM;
  }
  if (tracing()) call.trace("driver", result);
  return result;
}

}  // namespace simulator
