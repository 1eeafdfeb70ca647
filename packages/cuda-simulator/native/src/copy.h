// Copies and sets: where their bytes are, when they run, and what the caller waits for.
//
// Rules: https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html
#pragma once
#include <cstring>
#include <optional>
#include <vector>

#include "address_space.h"
#include "call.h"
#include "host_memory.h"
#include "schedule.h"

namespace simulator {

// Rows of bytes: `height` of them, each `width` bytes long, the next one `pitch` bytes behind the start of the last.
struct Shape {
  uint64_t width;
  uint64_t height;
};

// One end of a copy.
class Place {
 public:
  enum class Kind { kDevice, kPinned, kPageable };

  // Device memory, or page-locked host memory by its device pointer. Throws CUDA_ERROR_INVALID_VALUE unless all rows lie
  // in one allocation.
  static Place device(CUdeviceptr pointer, Shape shape, uint64_t pitch, bool write);
  // Host memory. A device pointer is none.
  static Place host(const void* pointer, Shape shape, uint64_t pitch);
  // Whatever the pointer is, by unified addressing.
  static Place any(uint64_t pointer, Shape shape, uint64_t pitch, bool write);
  // Bytes that the simulator keeps for the copy.
  static Place staged(std::shared_ptr<std::vector<unsigned char>> bytes, uint64_t pitch);

  Kind kind() const { return kind_; }
  bool onDevice() const { return kind_ == Kind::kDevice; }
  uint64_t pitch() const { return pitch_; }
  // The bytes from `offset` on, and how many of them lie side by side.
  std::pair<unsigned char*, uint64_t> at(uint64_t offset) const;
  void addStorages(std::vector<Storage*>& storages) const;
  bool stillThere() const;
  // The same place, from `offset` bytes on.
  Place from(uint64_t offset) const;

 private:
  Kind kind_ = Kind::kPageable;
  uint64_t start_ = 0;  // added to every offset
  uint64_t pitch_ = 0;
  std::vector<Piece> pieces_;
  std::shared_ptr<HostBlock> block_;
  std::shared_ptr<std::vector<unsigned char>> staged_;
  unsigned char* bytes_ = nullptr;
};

// Runs or queues a copy as the documentation says for where its ends are. Without a stream it is the synchronous function,
// in the legacy default stream.
void copy(Call& call, const Place& destination, const Place& source, Shape shape,
          const std::shared_ptr<Stream>& stream, bool synchronous);

// Queues a set of `unit` bytes, over and over.
void set(Call& call, CUdeviceptr destination, uint64_t pitch, uint32_t value, unsigned unit, uint64_t width,
         uint64_t height, const std::shared_ptr<Stream>& stream, bool synchronous);

}  // namespace simulator
