// Failed calls of the driver: thrown as a Failure, and turned into an error of JavaScript in one place.
#pragma once
#include <napi.h>

#include <optional>
#include <string>
#include <vector>

#include "library.h"

namespace cuda_ipc {

struct Failure {
  CUresult code;
  const char* call;            // the function's name, which is a literal
  const char* text = nullptr;  // where this addon refused it and not the driver
};

// Calls a function of the driver. Throws what it returns.
template <class Signature, class... Arguments>
void call(const Function<Signature>& function, Arguments... arguments) {
  CUresult result = function(arguments...);
  if (result != CUDA_SUCCESS) throw Failure{result, function.name};
}

// Calls a function that ends something which has an address. One that fails is called once more, so that an error that
// belonged to earlier work doesn't leave behind what was to end; the error is thrown all the same. A second call for
// something that has ended is safe with addresses, which the driver checks, but not with handles, which it follows.
template <class Signature, class... Arguments>
void callToEnd(bool& ended, const Function<Signature>& function, Arguments... arguments) {
  CUresult result = function(arguments...);
  ended = result == CUDA_SUCCESS || function(arguments...) == CUDA_SUCCESS;
  if (result != CUDA_SUCCESS) throw Failure{result, function.name};
}

// A failure, and the operation of a batch that it belongs to.
struct FailedOperation {
  Failure failure;
  std::optional<size_t> operation;
};

// An Error with driverCode, driverName, driverText, call, operation, and the later failures as `failures`.
Napi::Value errorOf(Napi::Env env, const Library& library, const std::vector<FailedOperation>& failures);

}  // namespace cuda_ipc
