// The trace: one JSON object a line, each written by one write(2) to a file opened with O_APPEND, so that the lines of
// several processes and threads don't mix.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace simulator {

// One line under construction. Every line has `type`, `time` (ns since 1970), `pid` and `tid`.
class TraceLine {
 public:
  explicit TraceLine(const char* type);
  TraceLine& text(const char* name, const std::string& value);
  TraceLine& number(const char* name, uint64_t value);
  TraceLine& signedNumber(const char* name, int64_t value);
  TraceLine& address(const char* name, uint64_t value);  // as a hexadecimal string: JSON numbers end at 2^53
  TraceLine& truth(const char* name, bool value);
  void write();

 private:
  TraceLine& name(const char* name);
  std::string line_;
};

// Whether CUDA_SIMULATOR_TRACE names a file that can be written.
bool tracing();

// How long a call takes, for its line. It reads no clock without a trace.
class TraceTimer {
 public:
  TraceTimer();
  uint64_t nanoseconds() const;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace simulator
