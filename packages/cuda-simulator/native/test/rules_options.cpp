#include "rules_options.h"

namespace rules {

const char* const Options::kHelp = R"(rules [OPTIONS]      checks that a CUDA driver keeps the rules that the CUDA simulator keeps

  --driver LIBRARY   the driver, such as /usr/lib/x86_64-linux-gnu/libcuda.so.1 (libcuda.so.1)
  --runtime LIBRARY  the runtime, such as /usr/local/cuda/lib64/libcudart.so.12; without one its rules are skipped
  --simulator FOLDER the simulator's libraries, with every rule, also those that need one of its settings
  --only TEXT        rules whose group and name have this in them
  --group NAME       rules of this group
  --list             what there is, with the page of the documentation, and why other drivers are spared it
  --help

Prints a line a rule (https://testanything.org), with the page of the documentation that it follows, and what a broken one
found. Exits with 0 if every rule holds, 1 if one doesn't, and 2 if nothing could be checked.
)";

Options::Options(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    std::string option = arguments[i];
    if (option == "--help" || option == "-h") mode = Mode::kHelp;
    else if (option == "--list") mode = Mode::kList;
    else if (option == "--look") mode = Mode::kLook;
    else if (option == "--simulated") simulated = true;
    else if (i + 1 == count) mode = Mode::kUsage;
    else if (option == "--driver") driver = arguments[++i];
    else if (option == "--runtime") runtime = arguments[++i];
    else if (option == "--group") group = arguments[++i];
    else if (option == "--only") only = arguments[++i];
    else if (option == "--simulator") {
      std::string folder = arguments[++i];
      driver = folder + "/libcuda.so.1";
      runtime = folder + "/libcudart.so.12";
      simulated = true;
    } else if (option == "--rule" || option == "--role") {
      mode = option == "--rule" ? Mode::kRule : Mode::kRole;
      name = arguments[++i];
    } else {
      mode = Mode::kUsage;
    }
    if (mode == Mode::kUsage) return;
  }
}

std::vector<std::string> Options::forChild() const {
  std::vector<std::string> arguments = {"rules", "--driver", driver};
  if (!runtime.empty()) arguments.insert(arguments.end(), {"--runtime", runtime});
  if (simulated) arguments.push_back("--simulated");
  return arguments;
}

}  // namespace rules
