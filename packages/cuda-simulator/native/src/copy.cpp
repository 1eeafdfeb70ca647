#include "copy.h"

#include <algorithm>

#include "process.h"

namespace simulator {
namespace {

// "For transfers from pageable host memory to device memory ... the function will return once the pageable buffer has been
// copied to the staging memory for DMA transfer to device memory, but the DMA to final destination may not have
// completed." So the last bytes of such a transfer are still on their way here when it returns: this many, as much as the
// programming guide says of copies that are asynchronous to the host altogether.
constexpr uint64_t kStillOnItsWay = 64 << 10;

// From this size on a transfer from pageable memory by the asynchronous function is the same, where nothing is before it in its
// stream: to stage all of it would take twice the time and as much memory again.
constexpr uint64_t kTooLargeToStage = 32 << 20;

void moveRow(const Place& destination, uint64_t to, const Place& source, uint64_t from, uint64_t size) {
  while (size > 0) {
    auto [target, targetSize] = destination.at(to);
    auto [origin, originSize] = source.at(from);
    uint64_t part = std::min({size, targetSize, originSize});
    std::memmove(target, origin, part);
    to += part;
    from += part;
    size -= part;
  }
}

CUresult move(const Place& destination, const Place& source, Shape shape) {
  std::vector<Storage*> storages;
  destination.addStorages(storages);
  source.addStorages(storages);
  InUse inUse(std::move(storages));
  // Freed between the call that queued this and now: what a GPU would answer with a fault in the middle of its work.
  if (!inUse.allThere() || !destination.stillThere() || !source.stillThere()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (uint64_t row = 0; row < shape.height; ++row) {
    moveRow(destination, row * destination.pitch(), source, row * source.pitch(), shape.width);
  }
  return CUDA_SUCCESS;
}

CUresult fill(const Place& destination, uint32_t value, unsigned unit, Shape shape) {
  std::vector<Storage*> storages;
  destination.addStorages(storages);
  InUse inUse(std::move(storages));
  if (!inUse.allThere() || !destination.stillThere()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (uint64_t row = 0; row < shape.height; ++row) {
    for (uint64_t done = 0; done < shape.width;) {
      auto [bytes, size] = destination.at(row * destination.pitch() + done);
      uint64_t part = std::min(shape.width - done, size);
      if (unit == 1) {
        std::memset(bytes, static_cast<int>(value), part);
      } else {
        for (uint64_t at = 0; at < part; at += unit) std::memcpy(bytes + at, &value, unit);  // little-endian
      }
      done += part;
    }
  }
  return CUDA_SUCCESS;
}

const char* directionOf(const Place& destination, const Place& source) {
  if (source.onDevice()) return destination.onDevice() ? "DtoD" : "DtoH";
  return destination.onDevice() ? "HtoD" : "HtoH";
}

std::shared_ptr<Operation> transfer(const Place& destination, const Place& source, Shape shape,
                                    std::optional<CUresult> failure) {
  auto operation = std::make_shared<Operation>();
  operation->work = [=] { return failure ? *failure : move(destination, source, shape); };
  return operation;
}

// The program's bytes as they are now.
Place stage(const Place& source, Shape shape) {
  auto bytes = std::make_shared<std::vector<unsigned char>>();
  bytes->reserve(shape.width * shape.height);
  for (uint64_t row = 0; row < shape.height; ++row) {
    const unsigned char* start = source.at(row * source.pitch()).first;
    bytes->insert(bytes->end(), start, start + shape.width);
  }
  return Place::staged(std::move(bytes), shape.width);
}

void throwFailureOf(const std::shared_ptr<Stream>& stream) {
  if (auto context = stream->context.lock()) context->check();
}

void run(const std::shared_ptr<Stream>& stream, const Place& destination, const Place& source, Shape shape,
         std::optional<CUresult> failure) {
  Process::instance().schedule.runHere(stream, transfer(destination, source, shape, failure));
  throwFailureOf(stream);
}

// A transfer from pageable memory: all but the last bytes now, those later.
void runFromPageable(const std::shared_ptr<Stream>& stream, const Place& destination, const Place& source, Shape shape,
                     std::optional<CUresult> failure) {
  Schedule& schedule = Process::instance().schedule;
  if (shape.height != 1) {
    schedule.waitForStream(stream);
    schedule.queue(stream, transfer(destination, stage(source, shape), shape, failure));
    return;
  }
  uint64_t later = std::min(shape.width, kStillOnItsWay);
  uint64_t now = shape.width - later;
  if (now > 0) schedule.runHere(stream, transfer(destination, source, {now, 1}, std::nullopt));
  else schedule.waitForStream(stream);  // "a stream sync is performed before the copy is initiated"
  throwFailureOf(stream);
  Place rest = stage(source.from(now), {later, 1});
  schedule.queue(stream, transfer(destination.from(now), rest, {later, 1}, failure));
}

}  // namespace

void copy(Call& call, const Place& destination, const Place& source, Shape shape,
          const std::shared_ptr<Stream>& stream, bool synchronous) {
  call.bytes(shape.width * shape.height);
  call.direction(directionOf(destination, source));
  call.async(!synchronous);
  if (shape.width == 0 || shape.height == 0) return;
  std::optional<CUresult> failure = call.workFailure();
  Schedule& schedule = Process::instance().schedule;
  bool fromPageable = source.kind() == Place::Kind::kPageable;
  bool toPageable = destination.kind() == Place::Kind::kPageable;
  if (destination.onDevice() && source.onDevice()) {
    // "For transfers from device memory to device memory, no host-side synchronization is performed."
    schedule.queue(stream, transfer(destination, source, shape, failure));
  } else if (!destination.onDevice() && !source.onDevice() && (synchronous || fromPageable || toPageable)) {
    // "For transfers from any host memory to any host memory, the function is fully synchronous."
    run(stream, destination, source, shape, failure);
  } else if (synchronous && fromPageable) {
    runFromPageable(stream, destination, source, shape, failure);
  } else if (synchronous || toPageable) {
    // From pinned memory it "is synchronous with respect to the host"; to host memory it "will return only once the copy
    // has completed", and the asynchronous function to pageable memory too.
    run(stream, destination, source, shape, failure);
  } else if (fromPageable && shape.height == 1 && shape.width >= kTooLargeToStage && schedule.nothingBefore(stream)) {
    runFromPageable(stream, destination, source, shape, failure);
  } else if (fromPageable) {
    // "For transfers from pageable host memory to device memory, host memory is copied to a staging buffer immediately."
    schedule.queue(stream, transfer(destination, stage(source, shape), shape, failure));
  } else {
    schedule.queue(stream, transfer(destination, source, shape, failure));
  }
}

void set(Call& call, CUdeviceptr destination, uint64_t pitch, uint32_t value, unsigned unit, uint64_t width,
         uint64_t height, const std::shared_ptr<Stream>& stream, bool synchronous) {
  uint64_t rowBytes = 0, bytes = 0;
  bool fits = !__builtin_mul_overflow(width, uint64_t{unit}, &rowBytes) && !__builtin_mul_overflow(rowBytes, height, &bytes);
  require(fits, CUDA_ERROR_INVALID_VALUE);
  require(destination % unit == 0 && (height <= 1 || pitch % unit == 0), CUDA_ERROR_INVALID_VALUE);
  call.bytes(bytes);
  call.async(!synchronous);
  if (bytes == 0) return;
  Place place = Place::device(destination, {rowBytes, height}, pitch, true);
  auto operation = std::make_shared<Operation>();
  operation->work = [=, failure = call.workFailure()] {
    return failure ? *failure : fill(place, value, unit, {rowBytes, height});
  };
  // "The synchronous memset functions are asynchronous with respect to the host except when the target is pinned host
  // memory", and so are the others.
  if (place.onDevice() || !synchronous) {
    Process::instance().schedule.queue(stream, operation);
  } else {
    Process::instance().schedule.runHere(stream, operation);
    throwFailureOf(stream);
  }
}

}  // namespace simulator
