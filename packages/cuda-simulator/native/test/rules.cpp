#include "rules.h"

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

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

std::string libraryPath;
void* loaded = nullptr;
int problems = 0;
constexpr int kToRole = 3, kFromRole = 4;  // file descriptors of a role
constexpr int kRoleSeconds = 120;

void load() {
  loaded = dlopen(libraryPath.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (loaded == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
#define RULES_FUNCTION(name) cuda.name = reinterpret_cast<decltype(&::name)>(dlsym(loaded, #name));
#include "functions.inc"
#undef RULES_FUNCTION
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const Environment& environment) {
  for (const std::string& setting : environment) {
    size_t equals = setting.find('=');
    setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
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

bool run(size_t number, const Rule& rule) {
  std::string machine = "rules-" + std::to_string(getpid()) + "-" + std::to_string(number);
  std::string trace = "/tmp/" + machine + ".trace";
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    Environment environment = {"CUDA_SIMULATOR_MACHINE=" + machine};
    for (const std::string& setting : rule.environment) {
      environment.push_back(setting == "CUDA_SIMULATOR_TRACE=@" ? "CUDA_SIMULATOR_TRACE=" + trace : setting);
    }
    become({"rules", libraryPath, "--rule", std::to_string(number)}, environment);
  }
  int status = 0;
  waitpid(child, &status, 0);
  bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!good && WIFSIGNALED(status)) std::printf("#   ended by signal %d\n", WTERMSIG(status));
  if (leftovers(machine) > 0) good = false;
  unlink(trace.c_str());
  std::printf("%s %zu - %s\n", good ? "ok" : "not ok", number + 1, rule.name);
  return good;
}

sigjmp_buf faulted;
void onFault(int) { siglongjmp(faulted, 1); }

}  // namespace

Driver cuda;

AddRule::AddRule(const char* name, void (*check)(), Environment environment) {
  allRules().push_back({name, check, std::move(environment)});
}

AddRole::AddRole(const char* name, void (*play)()) { allRoles().push_back({name, play}); }

void broken(const char* file, int line, const std::string& what) {
  ++problems;
  std::printf("#   %s:%d: %s\n", file, line, what.c_str());
  std::fflush(stdout);
}

void* library() { return loaded; }

Peer::Peer(const char* role, Environment environment) {
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(to[0], 10);
    dup2(from[1], 11);
    for (int fd = 3; fd < 10; ++fd) close(fd);
    dup2(10, kToRole);
    dup2(11, kFromRole);
    close(10);
    close(11);
    become({"rules", libraryPath, "--role", role}, environment);
  }
  close(to[0]);
  close(from[1]);
  out_ = to[1];
  in_ = from[0];
}

Peer::~Peer() {
  if (pid_ < 0) return;
  int status = wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) broken(__FILE__, __LINE__, "the other process failed");
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

std::vector<std::string> traceLines() {
  std::vector<std::string> lines;
  std::ifstream file(std::getenv("CUDA_SIMULATOR_TRACE"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

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

// rules LIBRARY [PART OF A NAME]
int main(int count, char** arguments) {
  using namespace rules;
  if (count < 2) {
    std::fprintf(stderr, "usage: %s LIBRARY [PART OF A RULE'S NAME]\n", arguments[0]);
    return 2;
  }
  libraryPath = arguments[1];
  std::string mode = count > 3 ? arguments[2] : "";
  if (mode == "--rule") {
    alarm(kRoleSeconds);
    load();
    allRules()[static_cast<size_t>(std::atoi(arguments[3]))].check();
    return problems == 0 ? 0 : 1;
  }
  if (mode == "--role") {
    alarm(kRoleSeconds);
    load();
    for (const Role& role : allRoles()) {
      if (std::strcmp(role.name, arguments[3]) == 0) role.play();
    }
    return problems == 0 ? 0 : 1;
  }
  int failed = 0;
  for (size_t i = 0; i < allRules().size(); ++i) {
    if (count > 2 && std::string(allRules()[i].name).find(arguments[2]) == std::string::npos) continue;
    if (!run(i, allRules()[i])) ++failed;
  }
  std::printf("%d failed\n", failed);
  return failed == 0 ? 0 : 1;
}
