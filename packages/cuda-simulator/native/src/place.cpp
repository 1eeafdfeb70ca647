#include <algorithm>

#include "copy.h"
#include "process.h"

namespace simulator {
namespace {

// From the first byte of the first row to behind the last byte of the last. Throws if the shape has no such number.
uint64_t extent(Shape shape, uint64_t pitch) {
  if (shape.width == 0 || shape.height == 0) return 0;
  require(shape.height == 1 || pitch >= shape.width, CUDA_ERROR_INVALID_VALUE);
  uint64_t rows = 0, all = 0;
  bool fits = !__builtin_mul_overflow(shape.height - 1, pitch, &rows) && !__builtin_add_overflow(rows, shape.width, &all);
  require(fits, CUDA_ERROR_INVALID_VALUE);
  return all;
}

}  // namespace

Place Place::device(CUdeviceptr pointer, Shape shape, uint64_t pitch, bool write) {
  uint64_t size = extent(shape, pitch);
  if (Process::instance().host.find(pointer, size)) return host(reinterpret_cast<const void*>(pointer), shape, pitch);
  Place place;
  place.kind_ = Kind::kDevice;
  place.pitch_ = pitch;
  place.pieces_ = Process::instance().addresses.resolve(pointer, size, write);
  return place;
}

Place Place::host(const void* pointer, Shape shape, uint64_t pitch) {
  uint64_t size = extent(shape, pitch);
  auto address = reinterpret_cast<uint64_t>(pointer);
  require(pointer != nullptr || size == 0, CUDA_ERROR_INVALID_VALUE);
  require(Process::instance().addresses.find(address) == nullptr, CUDA_ERROR_INVALID_VALUE);
  Place place;
  place.pitch_ = pitch;
  place.bytes_ = static_cast<unsigned char*>(const_cast<void*>(pointer));
  place.block_ = Process::instance().host.find(address, size);
  place.kind_ = place.block_ ? Kind::kPinned : Kind::kPageable;
  return place;
}

Place Place::any(uint64_t pointer, Shape shape, uint64_t pitch, bool write) {
  if (Process::instance().addresses.find(pointer)) return device(pointer, shape, pitch, write);
  return host(reinterpret_cast<const void*>(pointer), shape, pitch);
}

Place Place::staged(std::shared_ptr<std::vector<unsigned char>> bytes, uint64_t pitch) {
  Place place;
  place.bytes_ = bytes->data();
  place.staged_ = std::move(bytes);
  place.pitch_ = pitch;
  return place;
}

std::pair<unsigned char*, uint64_t> Place::at(uint64_t offset) const {
  offset += start_;
  if (kind_ != Kind::kDevice) return {bytes_ + offset, UINT64_MAX};
  for (const Piece& piece : pieces_) {
    if (offset < piece.size) return {piece.range->storage->bytes() + piece.offset + offset, piece.size - offset};
    offset -= piece.size;
  }
  throw Failure(CUDA_ERROR_INVALID_VALUE);
}

void Place::addStorages(std::vector<Storage*>& storages) const {
  for (const Piece& piece : pieces_) storages.push_back(piece.range->storage.get());
}

bool Place::stillThere() const {
  if (block_ && block_->gone()) return false;
  return std::none_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.range->removed.load(); });
}

Place Place::from(uint64_t offset) const {
  Place place = *this;
  place.start_ += offset;
  return place;
}

}  // namespace simulator
