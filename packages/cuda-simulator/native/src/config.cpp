#include "config.h"

#include <cstdlib>

#include "lasting.h"

namespace simulator {
namespace {

constexpr int kMostConfiguredDevices = 16;

// The number that `text` starts with and what follows it; nothing if there is none.
std::optional<std::pair<double, std::string>> numberAndUnit(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  char* end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  return std::make_pair(number, std::string(end));
}

bool isName(const std::string& text) {
  if (text.size() > 48) return false;
  for (char c : text) {
    bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!ok) return false;
  }
  return true;
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<Delay> parseDelay(const std::string& text) {
  Delay delay;
  if (text == "lazy") {
    delay.lazy = true;
    return delay;
  }
  size_t dots = text.find("..");
  auto least = parseDuration(text.substr(0, dots));
  auto most = dots == std::string::npos ? least : parseDuration(text.substr(dots + 2));
  if (!least || !most || *most < *least) return std::nullopt;
  delay.least = *least;
  delay.most = *most;
  return delay;
}

Config read() {
  Config config;
  auto reject = [&](const char* name, const std::string& value, const char* expected) {
    if (config.problem.empty()) config.problem = std::string(name) + " is '" + value + "'; it must be " + expected;
  };
  auto name = [&](const char* variableName, std::string& into) {
    auto value = variable(variableName);
    if (!value || value->empty()) return;
    if (isName(*value)) into = *value;
    else reject(variableName, *value, "up to 48 letters, digits, '-' and '_'");
  };
  auto flag = [&](const char* variableName, bool& into) {
    auto value = variable(variableName);
    if (!value || value->empty()) return;
    if (*value == "1" || *value == "0") into = *value == "1";
    else reject(variableName, *value, "0 or 1");
  };
  name("CUDA_SIMULATOR_MACHINE", config.machine);
  name("CUDA_SIMULATOR_HOST", config.host);
  name("CUDA_SIMULATOR_PID_NAMESPACE", config.pidNamespace);
  flag("CUDA_SIMULATOR_STRICT", config.strict);
  flag("CUDA_SIMULATOR_LEAKS", config.leaks);
  flag("CUDA_SIMULATOR_PEERS", config.peers);
  if (auto value = variable("CUDA_SIMULATOR_DEVICES"); value && !value->empty()) {
    auto parsed = numberAndUnit(*value);
    if (parsed && parsed->second.empty() && parsed->first >= 1 && parsed->first <= kMostConfiguredDevices &&
        parsed->first == static_cast<int>(parsed->first)) {
      config.devices = static_cast<int>(parsed->first);
    } else {
      reject("CUDA_SIMULATOR_DEVICES", *value, "a whole number from 1 to 16");
    }
  }
  if (auto value = variable("CUDA_SIMULATOR_MEMORY"); value && !value->empty()) {
    config.memory = parseSize(*value);
    if (!config.memory || *config.memory == 0) reject("CUDA_SIMULATOR_MEMORY", *value, "a size such as 256MiB or 2GiB");
  }
  if (auto value = variable("CUDA_SIMULATOR_DELAY"); value && !value->empty()) {
    if (auto delay = parseDelay(*value)) config.delay = *delay;
    else reject("CUDA_SIMULATOR_DELAY", *value, "0, a time such as 5ms, a range such as 1ms..20ms, or lazy");
  }
  if (auto value = variable("CUDA_SIMULATOR_SEED"); value && !value->empty()) {
    char* end = nullptr;
    config.seed = std::strtoull(value->c_str(), &end, 0);
    if (*end != '\0') reject("CUDA_SIMULATOR_SEED", *value, "a whole number");
  }
  config.trace = variable("CUDA_SIMULATOR_TRACE").value_or("");
  config.faults = variable("CUDA_SIMULATOR_FAULTS").value_or("");
  config.visible = variable("CUDA_VISIBLE_DEVICES");
  if (auto folder = variable("CUDA_SIMULATOR_SHM"); folder && !folder->empty()) config.shmFolder = *folder;
  return config;
}

}  // namespace

std::optional<uint64_t> parseSize(const std::string& text) {
  auto parsed = numberAndUnit(text);
  if (!parsed) return std::nullopt;
  double unit = 0;
  if (parsed->second.empty() || parsed->second == "B") unit = 1;
  else if (parsed->second == "KiB") unit = 1024.0;
  else if (parsed->second == "MiB") unit = 1024.0 * 1024;
  else if (parsed->second == "GiB") unit = 1024.0 * 1024 * 1024;
  if (unit == 0 || parsed->first * unit > 1e15) return std::nullopt;
  return static_cast<uint64_t>(parsed->first * unit);
}

std::optional<Nanoseconds> parseDuration(const std::string& text) {
  auto parsed = numberAndUnit(text);
  if (!parsed) return std::nullopt;
  double unit = 0;
  if (parsed->second == "ns" || (parsed->second.empty() && parsed->first == 0)) unit = 1;
  else if (parsed->second == "us") unit = 1e3;
  else if (parsed->second == "ms") unit = 1e6;
  else if (parsed->second == "s") unit = 1e9;
  if (unit == 0 || parsed->first * unit > 1e15) return std::nullopt;
  return Nanoseconds(static_cast<int64_t>(parsed->first * unit));
}

const Config& config() {
  static const Lasting<Config> once(read());
  return *once;
}

}  // namespace simulator
