#include "trace.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "config.h"

namespace simulator {
namespace {

int openTrace() {
  const std::string& path = config().trace;
  if (path.empty()) return -1;
  int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) std::fprintf(stderr, "cuda-simulator: can't write the trace %s (errno %d)\n", path.c_str(), errno);
  return fd;
}

int traceFile() {
  static const int fd = openTrace();
  return fd;
}

uint64_t threadId() {
  static thread_local const uint64_t id = static_cast<uint64_t>(syscall(SYS_gettid));
  return id;
}

}  // namespace

bool tracing() { return traceFile() >= 0; }

TraceTimer::TraceTimer() {
  if (tracing()) start_ = std::chrono::steady_clock::now();
}

uint64_t TraceTimer::nanoseconds() const {
  auto took = std::chrono::steady_clock::now() - start_;
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
}

TraceLine::TraceLine(const char* type) {
  line_.reserve(256);
  line_ += "{\"type\":\"";
  line_ += type;
  line_ += '"';
  auto now = std::chrono::system_clock::now().time_since_epoch();
  number("time", static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
  number("pid", static_cast<uint64_t>(getpid()));
  number("tid", threadId());
}

TraceLine& TraceLine::name(const char* name) {
  line_ += ",\"";
  line_ += name;
  line_ += "\":";
  return *this;
}

TraceLine& TraceLine::text(const char* key, const std::string& value) {
  name(key);
  line_ += '"';
  for (char c : value) {
    if (c == '"' || c == '\\') {
      line_ += '\\';
      line_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      line_ += escaped;
    } else {
      line_ += c;
    }
  }
  line_ += '"';
  return *this;
}

TraceLine& TraceLine::number(const char* key, uint64_t value) {
  name(key);
  line_ += std::to_string(value);
  return *this;
}

TraceLine& TraceLine::signedNumber(const char* key, int64_t value) {
  name(key);
  line_ += std::to_string(value);
  return *this;
}

TraceLine& TraceLine::address(const char* key, uint64_t value) {
  char hexadecimal[24];
  std::snprintf(hexadecimal, sizeof hexadecimal, "\"0x%llx\"", static_cast<unsigned long long>(value));
  name(key);
  line_ += hexadecimal;
  return *this;
}

TraceLine& TraceLine::truth(const char* key, bool value) {
  name(key);
  line_ += value ? "true" : "false";
  return *this;
}

void TraceLine::write() {
  if (!tracing()) return;
  line_ += "}\n";
  while (::write(traceFile(), line_.data(), line_.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace simulator
