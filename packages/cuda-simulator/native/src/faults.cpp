#include "faults.h"

#include <fnmatch.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "lasting.h"
#include "trace.h"

namespace simulator {
namespace {

// The number that is the whole of `text`.
std::optional<uint64_t> wholeNumber(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 10);
}

}  // namespace

Faults& Faults::configured() {
  static const Lasting<Faults> once(config().faults);
  return *once;
}

Faults::Faults(const std::string& specification) {
  for (size_t begin = 0; begin < specification.size();) {
    size_t end = specification.find(',', begin);
    if (end == std::string::npos) end = specification.size();
    std::string one = specification.substr(begin, end - begin);
    begin = end + 1;
    if (one.empty()) continue;
    if (!parse(one, rules_.emplace_back())) {
      rules_.pop_back();
      problem_ = "CUDA_SIMULATOR_FAULTS has '" + one +
                 "'; a fault is [async:]FUNCTION@N=CODE, =stall:TIME or =die, where N is a number or *";
    }
  }
}

bool Faults::parse(std::string text, Rule& rule) {
  if (text.rfind("async:", 0) == 0) {
    rule.work = true;
    text = text.substr(6);
  }
  size_t at = text.find('@');
  size_t equals = text.find('=', at == std::string::npos ? 0 : at);
  if (at == std::string::npos || equals == std::string::npos || at == 0) return false;
  rule.function = text.substr(0, at);
  std::string call = text.substr(at + 1, equals - at - 1);
  std::string effect = text.substr(equals + 1);
  if (call != "*") {
    auto number = wholeNumber(call);
    if (!number || *number == 0) return false;
    rule.call = *number;
  }
  if (effect == "die") {
    rule.effect = Effect::kDie;
  } else if (effect.rfind("stall:", 0) == 0) {
    auto stall = parseDuration(effect.substr(6));
    if (!stall) return false;
    rule.effect = Effect::kStall;
    rule.stall = *stall;
  } else {
    auto code = wholeNumber(effect);
    if (!code || *code == 0 || *code > 999) return false;
    rule.code = static_cast<CUresult>(*code);
  }
  return !rule.work || rule.effect == Effect::kCode;
}

bool Faults::falls(Rule& rule, const char* function) {
  if (fnmatch(rule.function.c_str(), function, 0) != 0) return false;
  uint64_t call = ++rule.seen;
  return rule.call == 0 || rule.call == call;
}

std::optional<CUresult> Faults::strike(const char* function) {
  std::optional<CUresult> code;
  for (Rule& rule : rules_) {
    if (rule.work || !falls(rule, function)) continue;
    if (rule.effect == Effect::kStall) {
      std::this_thread::sleep_for(rule.stall);
    } else if (rule.effect == Effect::kDie) {
      TraceLine("fault").text("function", function).text("effect", "die").write();
      kill(getpid(), SIGKILL);  // as abruptly as a crash elsewhere: no handler of the program's runs
      pause();
    } else if (!code) {
      code = rule.code;
    }
  }
  return code;
}

std::optional<CUresult> Faults::strikeWork(const char* function) {
  std::optional<CUresult> code;
  for (Rule& rule : rules_) {
    if (rule.work && falls(rule, function) && !code) code = rule.code;
  }
  return code;
}

}  // namespace simulator
