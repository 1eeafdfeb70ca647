// Runs rules, each in a process of its own.
#include "rules.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "rules_options.h"

namespace rules {
namespace {

std::vector<Rule>& allRules() {
  static std::vector<Rule> list;
  return list;
}
std::vector<Role>& allRoles() {
  static std::vector<Role> list;
  return list;
}

const Section* currentSection = nullptr;
Options options;
void* driver = nullptr;
void* runtime = nullptr;
int problems = 0;
constexpr int kToRole = 3, kFromRole = 4;  // file descriptors of a role
constexpr int kLacksFunction = 5;  // exit status of a rule that called a function that the driver doesn't have
constexpr int kUsable = 10;        // exit status of a look at a driver, plus its number of devices

// A rule that takes longer has failed.
unsigned patience() {
  const char* seconds = std::getenv("RULES_SECONDS");
  return seconds == nullptr ? 120 : static_cast<unsigned>(std::atoi(seconds));
}

[[noreturn]] void lacks(const char* function) {
  std::printf("#   the driver has no %s\n", function);
  std::fflush(stdout);
  std::_Exit(kLacksFunction);
}

void* open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  std::fprintf(stderr, "%s\n", dlerror());
  std::exit(2);
}

void load() {
  driver = open(options.driver);
  if (!options.runtime.empty()) runtime = open(options.runtime);
#define RULES_FUNCTION(name)                                             \
  cuda.name = reinterpret_cast<decltype(&::name)>(dlsym(driver, #name)); \
  if (cuda.name == nullptr) cuda.name = reinterpret_cast<decltype(&::name)>(+[] { lacks(#name); });
#include "functions.inc"
#undef RULES_FUNCTION
}

[[noreturn]] void become(const std::vector<std::string>& mode, const Environment& environment) {
  for (const std::string& setting : environment) {
    size_t equals = setting.find('=');
    setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
  std::vector<std::string> arguments = options.forChild();
  arguments.insert(arguments.end(), mode.begin(), mode.end());
  std::vector<char*> list;
  for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  execv("/proc/self/exe", list.data());
  std::_Exit(3);
}

// Files in shared memory of a machine.
int leftovers(const std::string& machine) {
  int found = 0;
  DIR* folder = opendir("/dev/shm");
  if (folder == nullptr) return 0;
  while (const dirent* entry = readdir(folder)) {
    std::string name = entry->d_name;
    if (name.find("." + machine) == std::string::npos) continue;
    std::printf("#   left in /dev/shm: %s\n", name.c_str());
    ++found;
  }
  closedir(folder);
  return found;
}

bool startsWith(const std::string& text, const std::string& start) { return text.compare(0, start.size(), start) == 0; }

// What stands behind `start`, if that is what the need starts with.
std::string behind(const std::string& need, const std::string& start) {
  return startsWith(need, start) ? need.substr(start.size()) : "";
}

// Why a rule doesn't hold for a driver that isn't the simulator; empty if it does.
std::string reasonToSkip(const Rule& rule, int devices) {
  if (simulated()) return "";
  if (*rule.section->onlySimulated != 0) return rule.section->onlySimulated;
  for (const std::string& need : rule.needs) {
    if (startsWith(need, "STRICTER=")) return "the simulator is stricter than CUDA: " + behind(need, "STRICTER=");
    if (startsWith(need, "KNOB=")) return "needs a setting of the simulator, " + behind(need, "KNOB=");
    if (startsWith(need, "CUDA_SIMULATOR_")) return "needs a setting of the simulator, " + need;
    std::string count = behind(need, "DEVICES=");
    if (!count.empty() && std::atoi(count.c_str()) > devices) {
      return "needs " + count + " devices, and there " + (devices == 1 ? "is " : "are ") + std::to_string(devices);
    }
  }
  return "";
}

Environment environmentOf(const Rule& rule, const std::string& machine, const std::string& trace) {
  Environment environment = {"CUDA_SIMULATOR_MACHINE=" + machine};
  for (const std::string& need : rule.needs) {
    if (startsWith(need, "STRICTER=") || startsWith(need, "KNOB=")) continue;
    std::string devices = behind(need, "DEVICES="), helpful = behind(need, "?");
    if (need == "CUDA_SIMULATOR_TRACE=@") environment.push_back("CUDA_SIMULATOR_TRACE=" + trace);
    else if (!devices.empty()) environment.push_back("CUDA_SIMULATOR_DEVICES=" + devices);
    else if (!helpful.empty()) environment.push_back(helpful);
    else environment.push_back(need);
  }
  if (simulated()) return environment;
  Environment kept;
  for (const std::string& setting : environment) {
    if (!startsWith(setting, "CUDA_SIMULATOR_") || startsWith(setting, "CUDA_SIMULATOR_MACHINE=")) kept.push_back(setting);
  }
  return kept;
}

enum class Outcome { kPassed, kFailed, kSkipped };

std::string title(size_t number, const Rule& rule) {
  return std::to_string(number + 1) + " - " + rule.section->group + ": " + rule.name + " [" + rule.section->page + "]";
}

Outcome skipped(size_t number, const Rule& rule, const std::string& why) {
  std::printf("ok %s # SKIP %s\n", title(number, rule).c_str(), why.c_str());
  return Outcome::kSkipped;
}

Outcome run(size_t number, const Rule& rule, int devices) {
  std::string why = reasonToSkip(rule, devices);
  if (!why.empty()) return skipped(number, rule, why);
  std::string machine = "rules-" + std::to_string(getpid()) + "-" + std::to_string(number);
  std::string trace = "/tmp/" + machine + ".trace";
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) become({"--rule", std::to_string(number)}, environmentOf(rule, machine, trace));
  int status = 0;
  waitpid(child, &status, 0);
  bool lacking = WIFEXITED(status) && WEXITSTATUS(status) == kLacksFunction && !simulated();
  bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!good && WIFSIGNALED(status)) std::printf("#   ended by signal %d\n", WTERMSIG(status));
  if (leftovers(machine) > 0) good = false;
  unlink(trace.c_str());
  if (lacking) return skipped(number, rule, "the driver lacks a function");
  std::printf("%s %s\n", good ? "ok" : "not ok", title(number, rule).c_str());
  return good ? Outcome::kPassed : Outcome::kFailed;
}

bool chosen(const Rule& rule) {
  if (!options.group.empty() && rule.section->group != options.group) return false;
  return (rule.section->group + ": " + rule.name).find(options.only) != std::string::npos;
}

// Without a library for the runtime there is nothing to run its rules on.
bool needsRuntime(const Rule& rule) { return rule.section->group == "runtime"; }

void list() {
  for (size_t i = 0; i < allRules().size(); ++i) {
    const Rule& rule = allRules()[i];
    if (!chosen(rule)) continue;
    std::string why = reasonToSkip(rule, 1);
    std::printf("%s%s\n", title(i, rule).c_str(), why.empty() ? "" : (" # " + why).c_str());
  }
}

// In a process of its own, as everything that calls the driver: says what is tested, and exits with the number of devices.
[[noreturn]] void look() {
  load();
  int version = 0, devices = 0;
  cuda.cuDriverGetVersion(&version);
  CUresult result = cuda.cuInit(0);
  if (result != CUDA_SUCCESS) {
    const char* name = "";
    cuda.cuGetErrorName(result, &name);
    std::fprintf(stderr, "%s can't be used: cuInit gives %d (%s)\n", options.driver.c_str(), result, name);
    std::_Exit(1);
  }
  cuda.cuDeviceGetCount(&devices);
  char device[128] = "none";
  cuda.cuDeviceGetName(device, sizeof device, 0);
  std::printf("# %s for CUDA %d.%d; devices: %d; the first: %s\n", options.driver.c_str(), version / 1000, version % 1000 / 10,
              devices, device);
  std::exit(kUsable + devices);
}

// How many devices the driver has, or -1 if it is of no use.
int lookFromOutside() {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) become({"--look"}, {"CUDA_SIMULATOR_MACHINE=rules-" + std::to_string(getpid())});
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) std::fprintf(stderr, "%s ended by signal %d\n", options.driver.c_str(), WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) >= kUsable ? WEXITSTATUS(status) - kUsable : -1;
}

int runAll() {
  int devices = simulated() ? 0 : lookFromOutside();
  if (devices < 0) return 2;
  int counts[3] = {};
  for (size_t i = 0; i < allRules().size(); ++i) {
    const Rule& rule = allRules()[i];
    if (!chosen(rule)) continue;
    Outcome outcome = needsRuntime(rule) && options.runtime.empty()
                          ? skipped(i, rule, "needs a runtime: --runtime /path/to/libcudart.so.12")
                          : run(i, rule, devices);
    ++counts[static_cast<int>(outcome)];
  }
  std::printf("# %d passed, %d failed, %d skipped\n", counts[0], counts[1], counts[2]);
  if (counts[0] + counts[1] + counts[2] == 0) {
    std::fprintf(stderr, "no rule is called so\n");
    return 2;
  }
  return counts[1] == 0 ? 0 : 1;
}

sigjmp_buf faulted;
void onFault(int) { siglongjmp(faulted, 1); }

}  // namespace

Driver cuda;

Section::Section(const char* file, const char* page_, const char* onlySimulated_) : page(page_), onlySimulated(onlySimulated_) {
  std::string path = file;
  size_t start = path.rfind('/') + 1;  // 0 if there is none
  group = path.substr(start, path.rfind('.') - start);
  currentSection = this;
}

AddRule::AddRule(const char* name, void (*check)(), Environment needs) {
  allRules().push_back({name, check, std::move(needs), currentSection});
}

AddRole::AddRole(const char* name, void (*play)()) { allRoles().push_back({name, play}); }

void broken(const char* file, int line, const std::string& what) {
  ++problems;
  std::printf("#   %s:%d: %s\n", file, line, what.c_str());
  std::fflush(stdout);
}

bool simulated() { return options.simulated; }

void* runtimeLibrary() { return runtime; }

Peer::Peer(const char* role, Environment environment) {
  for (const std::string& setting : environment) {
    if (!simulated() && startsWith(setting, "CUDA_SIMULATOR_")) broken(__FILE__, __LINE__, "the rule doesn't say that it needs " + setting);
  }
  int to[2], from[2];
  // No other process gets them, or the end of this one wouldn't be the end of its pipes.
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    // Out of the way first: either may have a number that the other is to get.
    int in = fcntl(to[0], F_DUPFD_CLOEXEC, 100), out = fcntl(from[1], F_DUPFD_CLOEXEC, 100);
    dup2(in, kToRole);
    dup2(out, kFromRole);
    become({"--role", role}, environment);
  }
  close(to[0]);
  close(from[1]);
  out_ = to[1];
  in_ = from[0];
}

Peer::~Peer() {
  if (pid_ < 0) return;
  int status = wait();
  if (status == 0) return;
  std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                        : "status " + std::to_string(WEXITSTATUS(status));
  broken(__FILE__, __LINE__, "the other process ended with " + how);
}

void Peer::write(const void* bytes, size_t size) {
  if (::write(out_, bytes, size) != static_cast<ssize_t>(size)) broken(__FILE__, __LINE__, "the other process is gone");
}

void Peer::read(void* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = ::read(in_, static_cast<char*>(bytes) + done, size - done);
    if (got <= 0) return broken(__FILE__, __LINE__, "the other process says nothing");
    done += static_cast<size_t>(got);
  }
}

void Peer::kill() {
  ::kill(pid_, SIGKILL);
  wait();
}

int Peer::wait() {
  close(out_);
  int status = 0;
  waitpid(pid_, &status, 0);
  close(in_);
  pid_ = -1;
  return status;
}

void tell(const void* bytes, size_t size) {
  if (::write(kFromRole, bytes, size) != static_cast<ssize_t>(size)) std::exit(4);
}

bool hear(void* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = ::read(kToRole, static_cast<char*>(bytes) + done, size - done);
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

CUcontext start(int device) {
  CUcontext context = nullptr;
  WORKS(cuda.cuInit(0));
  WORKS(cuda.cuCtxCreate_v2(&context, 0, device));
  return context;
}

bool faults(uint64_t address) {
  struct sigaction before {}, now {};
  now.sa_handler = onFault;
  sigaction(SIGSEGV, &now, &before);
  volatile bool fault = true;
  if (sigsetjmp(faulted, 1) == 0) {
    volatile char byte = *reinterpret_cast<volatile char*>(address);
    (void)byte;
    fault = false;
  }
  sigaction(SIGSEGV, &before, nullptr);
  return fault;
}

std::vector<unsigned char> read(CUdeviceptr pointer, size_t size) {
  std::vector<unsigned char> bytes(size);
  WORKS(cuda.cuMemcpyDtoH_v2(bytes.data(), pointer, size));
  return bytes;
}

bool all(const std::vector<unsigned char>& bytes, unsigned char value) {
  for (unsigned char byte : bytes) {
    if (byte != value) return false;
  }
  return true;
}

CUdeviceptr allocate(size_t size) {
  CUdeviceptr pointer = 0;
  WORKS(cuda.cuMemAlloc_v2(&pointer, size));
  return pointer;
}

void fill(CUdeviceptr pointer, unsigned char value, size_t size) {
  WORKS(cuda.cuMemsetD8_v2(pointer, value, size));
  WORKS(cuda.cuCtxSynchronize());
}

std::vector<std::string> linesOf(const char* path) {
  std::vector<std::string> lines;
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "r"), std::fclose);
  if (!file) return lines;
  std::string line;
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    lines.push_back(line);
    line.clear();
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::vector<std::string> traceLines() { return linesOf(std::getenv("CUDA_SIMULATOR_TRACE")); }

int count(const std::vector<std::string>& lines, const std::vector<std::string>& parts) {
  int found = 0;
  for (const std::string& line : lines) {
    bool hasAll = true;
    for (const std::string& part : parts) hasAll = hasAll && line.find(part) != std::string::npos;
    found += hasAll ? 1 : 0;
  }
  return found;
}

}  // namespace rules

int main(int count, char** arguments) {
  using namespace rules;
  options = Options(count, arguments);
  switch (options.mode) {
    case Options::Mode::kHelp:
      std::printf("%s", Options::kHelp);
      return 0;
    case Options::Mode::kUsage:
      std::fprintf(stderr, "%s", Options::kHelp);
      return 2;
    case Options::Mode::kList:
      list();
      return 0;
    case Options::Mode::kLook:
      look();
    case Options::Mode::kRule:
      alarm(patience());
      load();
      allRules()[static_cast<size_t>(std::atoi(options.name.c_str()))].check();
      return problems == 0 ? 0 : 1;
    case Options::Mode::kRole:
      alarm(patience());
      load();
      for (const Role& role : allRoles()) {
        if (options.name == role.name) role.play();
      }
      return problems == 0 ? 0 : 1;
    case Options::Mode::kRunAll:
      return runAll();
  }
}
