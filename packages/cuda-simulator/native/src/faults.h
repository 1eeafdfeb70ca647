// Faults on demand (CUDA_SIMULATOR_FAULTS): which call of which function fails, stalls, or is this process's last.
//
//   cuMemAlloc@3=2                  the third call returns code 2 and does nothing
//   cuIpcOpenMemHandle@1=stall:500ms  the first call takes half a second longer
//   cuMemcpy*@5=die                 the process is killed in its fifth call of any such function
//   cuMemsetD8Async@*=700           every call
//   async:cuMemcpyDtoDAsync@2=719   the second call succeeds, and the work that it queued fails
//
// Several are separated by commas. A function is named without the version at its end (cuMemAlloc, not cuMemAlloc_v2).
#pragma once
#include <atomic>
#include <deque>
#include <optional>
#include <string>

#include "config.h"
#include "cuda.h"

namespace simulator {

class Faults {
 public:
  // Those of this library and process. A specification that can't be read leaves a `problem`.
  static Faults& configured();
  explicit Faults(const std::string& specification);

  bool any() const { return !rules_.empty(); }
  const std::string& problem() const { return problem_; }

  // What befalls this call of `function`: stalls and deaths happen in here; a code is to be returned.
  std::optional<CUresult> strike(const char* function);

  // The code with which the work that this call queues is to fail.
  std::optional<CUresult> strikeWork(const char* function);

 private:
  enum class Effect { kCode, kStall, kDie };
  struct Rule {
    bool work = false;
    std::string function;
    uint64_t call = 0;  // 0: every one
    Effect effect = Effect::kCode;
    CUresult code = CUDA_SUCCESS;
    Nanoseconds stall{0};
    std::atomic<uint64_t> seen{0};
  };
  bool parse(std::string text, Rule& rule);
  static bool falls(Rule& rule, const char* function);

  std::deque<Rule> rules_;  // a deque, since an atomic doesn't move
  std::string problem_;
};

}  // namespace simulator
