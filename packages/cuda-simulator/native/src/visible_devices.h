// Which of a machine's devices a process sees, and in which order.
// https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars (CUDA_VISIBLE_DEVICES)
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cuda.h"

namespace simulator {

// The same for every process on the machine, so that processes that number devices differently can tell them apart.
CUuuid deviceUuid(const std::string& machine, int index);

// "GPU-" and the UUID, as nvidia-smi prints it.
std::string uuidText(const CUuuid& uuid);

// The visible devices' indices. An entry is a number or the beginning of a UUID; "if one of the indices is invalid, only
// the devices whose index precedes the invalid index are visible". Without a setting all are.
std::vector<int> visibleDevices(const std::optional<std::string>& setting, const std::string& machine, int devices);

}  // namespace simulator
