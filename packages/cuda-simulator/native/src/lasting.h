// A value for the rest of the process's life. Threads of the simulator still run while the C++ runtime destroys static
// objects, so nothing that they touch may be one.
#pragma once
#include <new>
#include <utility>

namespace simulator {

template <class T>
class Lasting {
 public:
  template <class... Arguments>
  explicit Lasting(Arguments&&... arguments) : value_(new (place_) T(std::forward<Arguments>(arguments)...)) {}
  Lasting(const Lasting&) = delete;
  Lasting& operator=(const Lasting&) = delete;

  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  alignas(T) unsigned char place_[sizeof(T)];
  T* value_;
};

}  // namespace simulator
