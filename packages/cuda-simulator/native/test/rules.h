// A rule is a promise, kept by a function that checks it, and it names the page of CUDA's documentation that it follows.
// Each rule runs in a process of its own, with an environment and a simulated machine of its own, and must leave nothing in
// shared memory. Other processes that a rule needs run a *role* of the same program.
//
// A rule that needs nothing of the simulator's runs on any driver (`rules --driver LIBRARY`). What it asserts beyond the
// documentation is asserted only if `simulated()`.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "../src/driver.h"

namespace rules {

using Environment = std::vector<std::string>;

// Rules that follow one page. Those of a section with a reason are about the simulator alone.
struct Section {
  Section(const char* file, const char* page, const char* onlySimulated = "");
  std::string group;  // the file's name
  const char* page;
  const char* onlySimulated;
};

struct Rule {
  const char* name;
  void (*check)();
  Environment needs;  // settings of its processes' environment, and what the macros below stand for
  const Section* section;
};

struct Role {
  const char* name;
  void (*play)();
};

struct AddRule {
  AddRule(const char* name, void (*check)(), Environment needs = {});
};
struct AddRole {
  AddRole(const char* name, void (*play)());
};

// What was found not to hold; the rule goes on.
void broken(const char* file, int line, const std::string& what);

// Whether the libraries under test are the simulator's, with all its settings.
bool simulated();

// The driver under test.
struct Driver {
#define RULES_FUNCTION(name) decltype(&::name) name;
#include "functions.inc"
#undef RULES_FUNCTION
};
extern Driver cuda;
// The runtime under test.
void* runtimeLibrary();

// Another process that plays a role; they talk through pipes. When it goes, it is waited for.
class Peer {
 public:
  explicit Peer(const char* role, Environment environment = {});
  ~Peer();
  Peer(const Peer&) = delete;
  template <class T>
  void send(const T& value) { write(&value, sizeof value); }
  template <class T>
  T receive() {
    T value{};
    read(&value, sizeof value);
    return value;
  }
  int pid() const { return pid_; }
  void kill();
  int wait();  // its status, as of waitpid

 private:
  void write(const void* bytes, size_t size);
  void read(void* bytes, size_t size);
  int pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

// In a role: the other end.
void tell(const void* bytes, size_t size);
bool hear(void* bytes, size_t size);
template <class T>
void tell(const T& value) { tell(&value, sizeof value); }
template <class T>
T hear() {
  T value{};
  hear(&value, sizeof value);
  return value;
}

// A context of its own, current to this thread.
CUcontext start(int device = 0);
// Whether reading the address faults.
bool faults(uint64_t address);
// The bytes at a device pointer, by a synchronous copy.
std::vector<unsigned char> read(CUdeviceptr pointer, size_t size);
bool all(const std::vector<unsigned char>& bytes, unsigned char value);
CUdeviceptr allocate(size_t size);
void fill(CUdeviceptr pointer, unsigned char value, size_t size);  // and waits
// A file's lines. (Not by a stream of C++: that would double the size of the program.)
std::vector<std::string> linesOf(const char* path);
// The lines of this rule's trace, if its environment has CUDA_SIMULATOR_TRACE=@ (a file that only it uses).
std::vector<std::string> traceLines();
int count(const std::vector<std::string>& lines, const std::vector<std::string>& parts);

template <class T>
std::string shown(const T& value) {
  if constexpr (std::is_pointer_v<T>) return std::to_string(reinterpret_cast<uint64_t>(value));
  else if constexpr (std::is_enum_v<T>) return std::to_string(static_cast<long long>(value));
  else if constexpr (std::is_arithmetic_v<T>) return std::to_string(value);
  else return value;
}

}  // namespace rules

#define RULES_JOIN2(a, b) a##b
#define RULES_JOIN(a, b) RULES_JOIN2(a, b)

// What a rule may need beside settings. A setting of the simulator's is something that other drivers don't have.
#define DEVICES(count) "DEVICES=" #count             // this many, of the simulator or there anyway
#define IF_SIMULATED(setting) "?" setting            // makes the rule more likely to be broken; not needed
#define KNOB(setting) "KNOB=" setting                // for other processes of the rule
#define STRICTER(than) "STRICTER=" than              // documented otherwise, or not at all

#define PAGE(...) static const rules::Section RULES_JOIN(section, __LINE__)(__FILE__, __VA_ARGS__)
#define RULE(...) RULES_RULE(RULES_JOIN(rule, __LINE__), __VA_ARGS__)
#define RULES_RULE(id, name, ...)                                      \
  static void id();                                                    \
  static const rules::AddRule RULES_JOIN(add, id)(name, id, {__VA_ARGS__}); \
  static void id()
#define ROLE(id)                                                \
  static void id();                                             \
  static const rules::AddRole RULES_JOIN(addRole, id)(#id, id); \
  static void id()
#define HOLDS(condition) \
  do {                   \
    if (!(condition)) rules::broken(__FILE__, __LINE__, #condition); \
  } while (0)
#define GIVES(expression, expected)                                                                          \
  do {                                                                                                       \
    auto rulesGot = (expression);                                                                            \
    if (!(rulesGot == (expected)))                                                                           \
      rules::broken(__FILE__, __LINE__, std::string(#expression) + " gives " + rules::shown(rulesGot) + ", not " #expected); \
  } while (0)
#define WORKS(expression) GIVES(expression, CUDA_SUCCESS)
