#include "machine_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace simulator {
namespace {

struct flock byteRange(short type, off_t first, off_t count) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = first;
  range.l_len = count;
  return range;
}

std::string userPrefix() { return "cuda-simulator." + std::to_string(geteuid()) + "."; }

std::vector<std::string> filesIn(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
  if (!directory) return names;
  while (const dirent* entry = readdir(directory.get())) {
    std::string name = entry->d_name;
    if (name.rfind(prefix, 0) == 0) names.push_back(name);
  }
  return names;
}

off_t sizeOf(const File& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 ? status.st_size : -1;
}

bool isNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

File::~File() {
  if (fd_ >= 0) close(fd_);
}

MappedBytes::~MappedBytes() {
  if (at_ != nullptr) munmap(at_, size_);
}

MappedBytes MappedBytes::shared(const File& file, size_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  return at == MAP_FAILED ? MappedBytes() : MappedBytes(at, size);
}

MappedBytes MappedBytes::unreadable(size_t size, uint64_t wanted) {
  void* at = mmap(reinterpret_cast<void*>(wanted), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? MappedBytes() : MappedBytes(at, size);
}

std::string machineFile(const Config& config) {
  std::string host = config.host.empty() ? "" : "+" + config.host;
  return config.shmFolder + "/" + userPrefix() + config.machine + host;
}

std::string allocationFile(const std::string& machine, uint64_t id) { return machine + "." + std::to_string(id); }

bool holdsState(const File& segment) { return sizeOf(segment) >= static_cast<off_t>(sizeof(MachineState)); }

bool isEmpty(const File& segment) { return sizeOf(segment) == 0; }

bool lockByte(const File& file, off_t byte) {
  struct flock range = byteRange(F_WRLCK, byte, 1);
  int result;
  do {
    result = fcntl(file.get(), F_OFD_SETLKW, &range);
  } while (result < 0 && errno == EINTR);
  return result == 0;
}

bool tryLockByte(const File& file, off_t byte, bool shared) {
  struct flock range = byteRange(shared ? F_RDLCK : F_WRLCK, byte, 1);
  return fcntl(file.get(), F_OFD_SETLK, &range) == 0;
}

void unlockByte(const File& file, off_t byte) {
  struct flock range = byteRange(F_UNLCK, byte, 1);
  fcntl(file.get(), F_OFD_SETLK, &range);
}

bool othersLock(const File& file, off_t first, off_t count) {
  struct flock range = byteRange(F_WRLCK, first, count);
  return fcntl(file.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

void unlinkAllocations(const std::string& machine) {
  size_t slash = machine.rfind('/');
  std::string folder = machine.substr(0, slash);
  std::string prefix = machine.substr(slash + 1) + ".";
  for (const std::string& name : filesIn(folder, prefix)) {
    if (isNumber(name.substr(prefix.size()))) unlink((folder + "/" + name).c_str());
  }
}

void clearUpDeadMachines(const Config& config) {
  std::string prefix = userPrefix();
  for (const std::string& name : filesIn(config.shmFolder, prefix)) {
    if (name.find('.', prefix.size()) != std::string::npos) continue;  // an allocation's file
    std::string path = config.shmFolder + "/" + name;
    File file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    // Whoever sets a machine up, joins or leaves it holds this lock, so that none is taken away under them.
    if (!file || !tryLockByte(file, kTablesByte)) continue;
    if (othersLock(file, 0, kMostProcesses)) continue;
    unlinkAllocations(path);
    unlink(path.c_str());
  }
}

uint64_t randomNumber() {
  uint64_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

uint64_t hashOf(const void* bytes, size_t size) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
  }
  return hash;
}

}  // namespace simulator
