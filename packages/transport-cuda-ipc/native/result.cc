#include "result.h"

namespace cuda_ipc {

namespace {

std::string textOf(const Function<CUresult(CUresult, const char**)>& function, CUresult code, const char* otherwise) {
  const char* text = nullptr;
  return function(code, &text) == CUDA_SUCCESS && text != nullptr ? text : otherwise;
}

void describe(Napi::Object object, const Library& library, const FailedOperation& failed) {
  Napi::Env env = object.Env();
  const auto& [failure, operation] = failed;
  object.Set("driverCode", Napi::Number::New(env, failure.code));
  object.Set("driverName", textOf(library.cuGetErrorName, failure.code, "an unknown error"));
  object.Set("driverText", failure.text != nullptr
                               ? std::string(failure.text)
                               : textOf(library.cuGetErrorString, failure.code, "the driver has no words for it"));
  object.Set("call", failure.call);
  if (failure.text != nullptr) object.Set("ownRefusal", Napi::Boolean::New(env, true));
  if (operation) object.Set("operation", Napi::Number::New(env, static_cast<double>(*operation)));
}

}  // namespace

Napi::Value errorOf(Napi::Env env, const Library& library, const std::vector<FailedOperation>& failures) {
  Napi::Object error = Napi::Error::New(env, "the CUDA driver failed a call").Value();
  describe(error, library, failures.front());
  Napi::Array later = Napi::Array::New(env, failures.size() - 1);
  for (size_t i = 1; i < failures.size(); ++i) {
    Napi::Object object = Napi::Object::New(env);
    describe(object, library, failures[i]);
    later.Set(static_cast<uint32_t>(i - 1), object);
  }
  error.Set("failures", later);
  return error;
}

}  // namespace cuda_ipc
