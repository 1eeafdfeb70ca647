#include "visible_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "machine_files.h"

namespace simulator {
namespace {

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The device that an entry names; -1 if it names none, or more than one.
int deviceOf(const std::string& entry, const std::string& machine, int devices) {
  if (entry.rfind("GPU-", 0) == 0) {
    int match = -1;
    for (int device = 0; device < devices; ++device) {
      if (uuidText(deviceUuid(machine, device)).rfind(entry, 0) != 0) continue;
      if (match >= 0) return -1;
      match = device;
    }
    return match;
  }
  if (entry.empty() || entry.size() > 4 || entry.find_first_not_of("0123456789") != std::string::npos) return -1;
  int device = std::stoi(entry);
  return device < devices ? device : -1;
}

}  // namespace

CUuuid deviceUuid(const std::string& machine, int index) {
  CUuuid uuid{};
  for (int half = 0; half < 2; ++half) {
    uint64_t hash = hashOf(machine + "/" + std::to_string(index) + "/" + std::to_string(half));
    hash = (hash ^ (hash >> 31)) * 0x94d049bb133111eb;  // so that similar names don't give similar numbers
    hash ^= hash >> 29;
    std::memcpy(uuid.bytes + 8 * half, &hash, sizeof hash);
  }
  uuid.bytes[6] = static_cast<unsigned char>((uuid.bytes[6] & 0x0f) | 0x40);  // version 4, variant 1 (RFC 9562)
  uuid.bytes[8] = static_cast<unsigned char>((uuid.bytes[8] & 0x3f) | 0x80);
  return uuid;
}

std::string uuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(uuid.bytes[i]));
    text += two;
  }
  return text;
}

std::vector<int> visibleDevices(const std::optional<std::string>& setting, const std::string& machine, int devices) {
  std::vector<int> visible;
  if (!setting) {
    for (int device = 0; device < devices; ++device) visible.push_back(device);
    return visible;
  }
  for (size_t begin = 0; begin <= setting->size();) {
    size_t end = std::min(setting->find(',', begin), setting->size());
    int device = deviceOf(trimmed(setting->substr(begin, end - begin)), machine, devices);
    bool again = std::find(visible.begin(), visible.end(), device) != visible.end();
    if (device < 0 || again) break;
    visible.push_back(device);
    begin = end + 1;
  }
  return visible;
}

}  // namespace simulator
