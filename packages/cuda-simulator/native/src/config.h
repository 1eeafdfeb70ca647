// What the environment asks of the simulator. Read once per process and library, at the first call.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace simulator {

using Nanoseconds = std::chrono::nanoseconds;

// How long after it was queued a piece of asynchronous work starts, unless something waits for it sooner.
struct Delay {
  bool lazy = false;  // only when something waits for it
  Nanoseconds least = std::chrono::milliseconds(1);
  Nanoseconds most = std::chrono::milliseconds(1);
};

struct Config {
  std::string machine = "default";         // CUDA_SIMULATOR_MACHINE
  std::string host;                        // CUDA_SIMULATOR_HOST
  std::string pidNamespace;                // CUDA_SIMULATOR_PID_NAMESPACE
  std::optional<int> devices;              // CUDA_SIMULATOR_DEVICES
  std::optional<uint64_t> memory;          // CUDA_SIMULATOR_MEMORY, bytes of each device
  Delay delay;                             // CUDA_SIMULATOR_DELAY
  uint64_t seed = 0;                       // CUDA_SIMULATOR_SEED
  bool strict = false;                     // CUDA_SIMULATOR_STRICT: hazards are errors
  bool leaks = false;                      // CUDA_SIMULATOR_LEAKS: the leak report goes to stderr too
  bool peers = false;                      // CUDA_SIMULATOR_PEERS: devices can access each other's memory
  std::string trace;                       // CUDA_SIMULATOR_TRACE
  std::string faults;                      // CUDA_SIMULATOR_FAULTS
  std::optional<std::string> visible;      // CUDA_VISIBLE_DEVICES
  std::string shmFolder = "/dev/shm";      // CUDA_SIMULATOR_SHM, for a test of one that is too small
  std::string problem;                     // the first setting that can't be read, and what it may be
};

const Config& config();

constexpr int kDefaultDevices = 1;
constexpr uint64_t kDefaultMemory = uint64_t{1} << 30;

// "256MiB", "2GiB", "4096": bytes, or nothing.
std::optional<uint64_t> parseSize(const std::string& text);

// "0", "500us", "5ms", "2s": a duration, or nothing.
std::optional<Nanoseconds> parseDuration(const std::string& text);

}  // namespace simulator
