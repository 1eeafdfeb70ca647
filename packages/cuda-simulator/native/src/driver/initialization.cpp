// Initialization, versions, error texts, and finding functions by name.
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__INITIALIZE.html, group__CUDA__VERSION.html,
// group__CUDA__ERROR.html, group__CUDA__DRIVER__ENTRY__POINT.html
#include <dlfcn.h>

#include <string>

#include "entry.h"

using namespace simulator;

namespace {

constexpr int kDriverVersion = 12040;

// This library's newest version of a function; nullptr if it has none.
void* newest(const std::string& symbol) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&newest), &info) == 0) return nullptr;
  // Already loaded: the handle is one more reference to what stays loaded anyway.
  static void* const self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (self == nullptr) return nullptr;
  for (const char* version : {"_v2", ""}) {
    if (void* found = dlsym(self, (symbol + version).c_str())) {
      Dl_info where{};
      if (dladdr(found, &where) != 0 && where.dli_fbase == info.dli_fbase) return found;
    }
  }
  return nullptr;
}

enum SymbolStatus : int { kFound = 0, kNotFound = 1, kVersionNotSufficient = 2 };
constexpr uint64_t kPerThreadDefaultStream = 2;

CUresult findFunction(const char* symbol, void** function, uint64_t flags, int* status) {
  given(function) = nullptr;
  given(symbol);
  require(flags < 4, CUDA_ERROR_INVALID_VALUE);
  // Per-thread default streams are reached by CU_STREAM_PER_THREAD; the variants with that default aren't here.
  bool found = flags != kPerThreadDefaultStream && (*function = newest(symbol)) != nullptr;
  if (status != nullptr) *status = found ? kFound : kNotFound;
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuInit(unsigned flags) {
  return call(
      "cuInit",
      [&](Call&) {
        require(flags == 0, CUDA_ERROR_INVALID_VALUE);
        return process().initialize();
      },
      Before::kAnything);
}

CUDA_SIMULATOR_EXPORT CUresult cuDriverGetVersion(int* version) {
  return call(
      "cuDriverGetVersion",
      [&](Call&) {
        given(version) = kDriverVersion;
        return CUDA_SUCCESS;
      },
      Before::kAnything);
}

CUDA_SIMULATOR_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* found = findError(error);
  *name = found == nullptr ? nullptr : found->driverName;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUDA_SIMULATOR_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* found = findError(error);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUDA_SIMULATOR_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int, uint64_t flags) {
  return call(
      "cuGetProcAddress", [&](Call&) { return findFunction(symbol, function, flags, nullptr); }, Before::kAnything);
}

CUDA_SIMULATOR_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, uint64_t flags, int* status) {
  return call(
      "cuGetProcAddress", [&](Call&) { return findFunction(symbol, function, flags, status); }, Before::kAnything);
}
