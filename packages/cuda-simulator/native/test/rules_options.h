// The command line of `rules`.
#pragma once
#include <string>
#include <vector>

namespace rules {

struct Options {
  static const char* const kHelp;

  enum class Mode { kRunAll, kList, kHelp, kUsage, kLook, kRule, kRole };  // the last three for its own child processes

  Options() = default;
  Options(int count, char** arguments);

  // The program's name and what its children are told as well.
  std::vector<std::string> forChild() const;

  Mode mode = Mode::kRunAll;
  std::string driver = "libcuda.so.1";
  std::string runtime;
  bool simulated = false;
  std::string group;
  std::string only;
  std::string name;  // of a rule, by its number, or of a role
};

}  // namespace rules
