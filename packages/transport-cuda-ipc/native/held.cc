#include "held.h"

namespace cuda_ipc {

void Mappings::add(CUdeviceptr base, int ordinal) {
  std::lock_guard lock(mutex_);
  auto [entry, first] = openings_.try_emplace(base, ordinal, 0);
  ++entry->second.second;
}

bool Mappings::take(CUdeviceptr base, int ordinal) {
  std::lock_guard lock(mutex_);
  auto found = openings_.find(base);
  if (found == openings_.end() || found->second.first != ordinal) return false;
  if (--found->second.second == 0) openings_.erase(found);
  return true;
}

std::map<CUdeviceptr, std::pair<int, size_t>> Mappings::all() const {
  std::lock_guard lock(mutex_);
  return openings_;
}

bool Held::any(int ordinal) const {
  for (const auto& [pointer, allocation] : allocations.all()) {
    if (allocation.ordinal == ordinal) return true;
  }
  for (const auto& [base, opening] : mappings.all()) {
    if (opening.first == ordinal) return true;
  }
  for (const auto& [stream, handle] : streams.all()) {
    if (handle.ordinal == ordinal) return true;
  }
  for (const auto& [event, handle] : events.all()) {
    if (handle.ordinal == ordinal) return true;
  }
  return false;
}

}  // namespace cuda_ipc
