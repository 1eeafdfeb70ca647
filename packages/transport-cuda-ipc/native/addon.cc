// The addon's face to JavaScript: src/driver/addon.ts has its types.
#include <napi.h>

#include "environment.h"

namespace cuda_ipc {

template <class Result, Result (Environment::*method)(const Napi::CallbackInfo&)>
Result of(const Napi::CallbackInfo& info) {
  return (info.Env().GetInstanceData<Environment>()->*method)(info);
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(std::make_unique<Environment>(env).release());
  exports.Set("probe", Napi::Function::New<of<void, &Environment::probe>>(env, "probe"));
  exports.Set("submit", Napi::Function::New<of<void, &Environment::submit>>(env, "submit"));
  exports.Set("held", Napi::Function::New<of<Napi::Value, &Environment::held>>(env, "held"));
  return exports;
}

}  // namespace cuda_ipc

static Napi::Object init(Napi::Env env, Napi::Object exports) { return cuda_ipc::init(env, exports); }
NODE_API_MODULE(cuda_ipc, init)
