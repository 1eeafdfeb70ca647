// The one place that knows error codes by name, and that turns a CUresult into an exception inside the libraries.
#pragma once
#include <exception>

#include "cuda.h"

namespace simulator {

struct ErrorText {
  int code;
  const char* driverName;
  const char* runtimeName;
  const char* text;
};

// The entry of a code, or nullptr for a code that CUDA doesn't have.
const ErrorText* findError(int code);

// Thrown anywhere below an entry point, caught by it, and returned as the call's result.
class Failure : public std::exception {
 public:
  explicit Failure(CUresult code) : code_(code) {}
  CUresult code() const { return code_; }
  const char* what() const noexcept override {
    const ErrorText* error = findError(code_);
    return error == nullptr ? "unknown CUDA error" : error->text;
  }

 private:
  CUresult code_;
};

inline void require(bool holds, CUresult otherwise) {
  if (!holds) throw Failure(otherwise);
}

}  // namespace simulator
