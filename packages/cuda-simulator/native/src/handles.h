// What the driver hands out for its objects. A handle is a number made up to look like a pointer, never an object's
// address, and none is given twice: a stale or invented one is always recognized, and host code that follows it faults.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "cuda.h"

namespace simulator {

template <class T, class Handle>
class Handles {
 public:
  explicit Handles(uint64_t kind) : first_(kind << 40), next_(first_) {}

  Handle add(std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    next_ += 16;
    objects_[next_] = std::move(object);
    return toHandle(next_);
  }
  std::shared_ptr<T> find(Handle handle) const {
    std::shared_lock lock(mutex_);
    auto found = objects_.find(toNumber(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  // Takes it out: of several threads that destroy the same object, one gets it.
  std::shared_ptr<T> take(Handle handle) {
    std::unique_lock lock(mutex_);
    auto found = objects_.find(toNumber(handle));
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  // Whether it was ever given out.
  bool issued(Handle handle) const {
    std::shared_lock lock(mutex_);
    uint64_t number = toNumber(handle);
    return number > first_ && number <= next_ && number % 16 == 0;
  }
  std::vector<std::pair<Handle, std::shared_ptr<T>>> all() const {
    std::shared_lock lock(mutex_);
    std::vector<std::pair<Handle, std::shared_ptr<T>>> list;
    for (const auto& [number, object] : objects_) list.emplace_back(toHandle(number), object);
    return list;
  }

 private:
  static Handle toHandle(uint64_t number) {
    if constexpr (std::is_pointer_v<Handle>) return reinterpret_cast<Handle>(number);
    else return number;
  }
  static uint64_t toNumber(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) return reinterpret_cast<uint64_t>(handle);
    else return handle;
  }

  const uint64_t first_;
  uint64_t next_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<T>> objects_;
};

}  // namespace simulator
