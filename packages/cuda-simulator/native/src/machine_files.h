// The names of a machine's files and the locks on its control segment.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "config.h"
#include "machine_state.h"

namespace simulator {

// A file descriptor that is closed.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Mapped memory that is unmapped.
class MappedBytes {
 public:
  MappedBytes() = default;
  MappedBytes(void* at, size_t size) : at_(at), size_(size) {}
  MappedBytes(MappedBytes&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedBytes& operator=(MappedBytes&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedBytes();
  unsigned char* bytes() const { return static_cast<unsigned char*>(at_); }
  size_t size() const { return size_; }
  explicit operator bool() const { return at_ != nullptr; }

  // A file's bytes, shared with its other mappings, all pages there at once; empty if that fails.
  static MappedBytes shared(const File& file, size_t size);
  // Addresses that nothing can be read from or written to; empty if there are no more.
  static MappedBytes unreadable(size_t size, uint64_t wanted = 0);

 private:
  void* at_ = nullptr;
  size_t size_ = 0;
};

std::string machineFile(const Config& config);                  // path of the control segment
std::string allocationFile(const std::string& machine, uint64_t id);

// Whether a segment is as large as this version's: touching what lies behind a file's end is a SIGBUS.
bool holdsState(const File& segment);
// It was just made, and isn't set up yet.
bool isEmpty(const File& segment);

// Waits until this process alone has the byte. False if the file system can't lock.
bool lockByte(const File& file, off_t byte);
bool tryLockByte(const File& file, off_t byte, bool shared = false);
void unlockByte(const File& file, off_t byte);
// Whether someone else has any of `count` bytes locked.
bool othersLock(const File& file, off_t first, off_t count);

// Unlinks every allocation file of a machine.
void unlinkAllocations(const std::string& machine);

// Unlinks what machines of this user left whose processes were all killed.
void clearUpDeadMachines(const Config& config);

uint64_t randomNumber();
uint64_t hashOf(const void* bytes, size_t size);
inline uint64_t hashOf(const std::string& text) { return hashOf(text.data(), text.size()); }

}  // namespace simulator
