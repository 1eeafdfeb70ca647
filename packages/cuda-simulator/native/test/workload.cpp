// Random work in several processes, compared step by step with a simple model of what CUDA promises: allocate, set, copy,
// export, open, read, close, free and kill, with random delays. RULES_SEEDS tells how many runs (20 by default).
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "rules.h"

using namespace rules;

namespace {

enum class Step : int { kAllocate, kSet, kCopy, kOpen, kClose, kRead, kFree, kUsed, kEnd };

struct Command {
  Step step;
  CUdeviceptr pointer;
  CUdeviceptr other;
  uint64_t size;
  int value;
  CUipcMemHandle handle;
};

struct Answer {
  CUresult result;
  CUdeviceptr pointer;
  uint64_t number;
  CUipcMemHandle handle;
};

// The byte that all of a buffer has, or -1 if not all are the same.
int uniform(CUdeviceptr pointer, size_t size) {
  std::vector<unsigned char> bytes = read(pointer, size);
  return all(bytes, bytes[0]) ? bytes[0] : -1;
}

}  // namespace

ROLE(worker) {
  start();
  CUstream streams[2] = {};
  for (CUstream& stream : streams) WORKS(cuda.cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  unsigned turn = 0;
  for (;;) {
    Command command{};
    if (!hear(&command, sizeof command)) return;
    Answer answer{};
    switch (command.step) {
      case Step::kAllocate:
        answer.result = cuda.cuMemAlloc_v2(&answer.pointer, command.size);
        if (answer.result == CUDA_SUCCESS) answer.result = cuda.cuIpcGetMemHandle(&answer.handle, answer.pointer);
        break;
      case Step::kSet:
        // In the one stream or the other; the legacy stream's next piece of work comes after both.
        answer.result = cuda.cuMemsetD8Async(command.pointer, static_cast<unsigned char>(command.value), command.size,
                                             streams[turn++ % 2]);
        if (answer.result == CUDA_SUCCESS) answer.result = cuda.cuCtxSynchronize();
        break;
      case Step::kCopy:
        answer.result = cuda.cuMemcpyDtoD_v2(command.pointer, command.other, command.size);
        if (answer.result == CUDA_SUCCESS) answer.result = cuda.cuCtxSynchronize();
        break;
      case Step::kOpen:
        answer.result = cuda.cuIpcOpenMemHandle_v2(&answer.pointer, command.handle, 1);
        break;
      case Step::kClose:
        answer.result = cuda.cuIpcCloseMemHandle(command.pointer);
        break;
      case Step::kRead:
        answer.number = static_cast<uint64_t>(uniform(command.pointer, command.size));
        break;
      case Step::kFree:
        answer.result = cuda.cuMemFree_v2(command.pointer);
        break;
      case Step::kUsed: {
        size_t free = 0, total = 0;
        answer.result = cuda.cuMemGetInfo_v2(&free, &total);
        answer.number = total - free;
        break;
      }
      case Step::kEnd:
        return;
    }
    tell(answer);
  }
}

namespace {

constexpr int kWorkers = 3;
constexpr uint64_t kMemory = 4 << 20;

struct Mapping {
  CUdeviceptr pointer;
  int openings;
};

struct Buffer {
  int owner;
  CUdeviceptr pointer;
  uint64_t size;
  int value;
  bool freed;
  CUipcMemHandle handle;
  std::map<int, Mapping> mappings;  // by worker
};

// What CUDA promises, and the processes that must keep to it.
class Model {
 public:
  explicit Model(unsigned seed) : random_(seed) {
    for (int i = 0; i < kWorkers; ++i) workers_.push_back(launch());
  }
  ~Model() {
    for (auto& worker : workers_) worker->send(Command{Step::kEnd, 0, 0, 0, 0, {}});
  }

  void step() {
    int worker = pick(kWorkers);
    Buffer* buffer = buffers_.empty() ? nullptr : &buffers_[static_cast<size_t>(pick(static_cast<int>(buffers_.size())))];
    int what = pick(100);
    if (what < 25 || buffer == nullptr) allocate(worker);
    else if (what < 40) set(*buffer);
    else if (what < 50) copy(worker, *buffer);
    else if (what < 65) open(worker, *buffer);
    else if (what < 80) readAll(*buffer);
    else if (what < 88) close(worker, *buffer);
    else if (what < 98) free(*buffer);
    else kill(worker);
    GIVES(ask(pick(kWorkers), Command{Step::kUsed, 0, 0, 0, 0, {}}).number, used());
    forgetGone();
  }

 private:
  std::unique_ptr<Peer> launch() {
    return std::make_unique<Peer>("worker", Environment{"CUDA_SIMULATOR_SEED=" + std::to_string(random_())});
  }
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  Answer ask(int worker, const Command& command) {
    workers_[static_cast<size_t>(worker)]->send(command);
    return workers_[static_cast<size_t>(worker)]->receive<Answer>();
  }
  static uint64_t pages(uint64_t size) { return (size + 4095) / 4096 * 4096; }
  uint64_t used() const {
    uint64_t sum = 0;
    for (const Buffer& buffer : buffers_) {
      if (!buffer.freed || !buffer.mappings.empty()) sum += pages(buffer.size);
    }
    return sum;
  }

  void allocate(int worker) {
    uint64_t size = static_cast<uint64_t>(1 + pick(pick(4) == 0 ? 900000 : 20000));
    Answer answer = ask(worker, {Step::kAllocate, 0, 0, size, 0, {}});
    bool fits = used() + pages(size) <= kMemory;
    GIVES(answer.result, fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    if (answer.result == CUDA_SUCCESS) buffers_.push_back({worker, answer.pointer, size, 0xCD, false, answer.handle, {}});
  }
  void set(Buffer& buffer) {
    int value = pick(256), writer = buffer.owner;
    CUdeviceptr pointer = buffer.pointer;
    if (!buffer.mappings.empty() && (buffer.freed || pick(2) == 0)) {
      writer = buffer.mappings.begin()->first;
      pointer = buffer.mappings.begin()->second.pointer;
    } else if (buffer.freed) {
      return;
    }
    GIVES(ask(writer, {Step::kSet, pointer, 0, buffer.size, value, {}}).result, CUDA_SUCCESS);
    buffer.value = value;
  }
  // Of a mapping into an allocation of one's own.
  void copy(int worker, Buffer& source) {
    auto mapping = source.mappings.find(worker);
    if (mapping == source.mappings.end()) return;
    for (Buffer& target : buffers_) {
      if (target.owner != worker || target.freed || target.size > source.size) continue;
      GIVES(ask(worker, {Step::kCopy, target.pointer, mapping->second.pointer, target.size, 0, {}}).result, CUDA_SUCCESS);
      target.value = source.value;
      return;
    }
  }
  void open(int worker, Buffer& buffer) {
    Answer answer = ask(worker, {Step::kOpen, 0, 0, 0, 0, buffer.handle});
    CUresult expected = buffer.freed             ? CUDA_ERROR_INVALID_VALUE
                        : buffer.owner == worker ? CUDA_ERROR_INVALID_CONTEXT
                                                 : CUDA_SUCCESS;
    GIVES(answer.result, expected);
    if (answer.result != CUDA_SUCCESS) return;
    auto [mapping, first] = buffer.mappings.insert({worker, {answer.pointer, 0}});
    ++mapping->second.openings;
    GIVES(answer.pointer, mapping->second.pointer);
  }
  void readAll(const Buffer& buffer) {
    if (!buffer.freed) expectValue(buffer.owner, buffer.pointer, buffer);
    for (const auto& [worker, mapping] : buffer.mappings) expectValue(worker, mapping.pointer, buffer);
  }
  void expectValue(int worker, CUdeviceptr pointer, const Buffer& buffer) {
    GIVES(static_cast<int>(ask(worker, {Step::kRead, pointer, 0, buffer.size, 0, {}}).number), buffer.value);
  }
  void close(int worker, Buffer& buffer) {
    auto mapping = buffer.mappings.find(worker);
    if (mapping == buffer.mappings.end()) return;
    GIVES(ask(worker, {Step::kClose, mapping->second.pointer, 0, 0, 0, {}}).result, CUDA_SUCCESS);
    if (--mapping->second.openings == 0) buffer.mappings.erase(mapping);
  }
  void free(Buffer& buffer) {
    if (buffer.freed) return;
    GIVES(ask(buffer.owner, {Step::kFree, buffer.pointer, 0, 0, 0, {}}).result, CUDA_SUCCESS);
    gone(buffer);
  }
  void gone(Buffer& buffer) {
    buffer.freed = true;
    if (!buffer.mappings.empty()) buffer.value = 0xDB;
  }
  void kill(int worker) {
    workers_[static_cast<size_t>(worker)]->kill();
    for (Buffer& buffer : buffers_) {
      if (buffer.owner == worker && !buffer.freed) gone(buffer);
      buffer.mappings.erase(worker);
    }
    workers_[static_cast<size_t>(worker)] = launch();
    ask(worker, {Step::kUsed, 0, 0, 0, 0, {}});  // it has joined, and so buried its predecessor
  }
  void forgetGone() {
    std::vector<Buffer> left;
    for (Buffer& buffer : buffers_) {
      if (!buffer.freed || !buffer.mappings.empty()) left.push_back(buffer);
    }
    buffers_ = left;
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<Peer>> workers_;
  std::vector<Buffer> buffers_;
};

}  // namespace

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html");

RULE("random work in several processes is as the model says", "CUDA_SIMULATOR_MEMORY=4MiB", "CUDA_SIMULATOR_DELAY=0..300us") {
  WORKS(cuda.cuInit(0));  // stays, so that the machine does
  const char* setting = std::getenv("RULES_SEEDS");
  int seeds = setting == nullptr ? 20 : std::atoi(setting);
  alarm(0);
  for (int seed = 1; seed <= seeds; ++seed) {
    Model model(static_cast<unsigned>(seed));
    for (int i = 0; i < 80; ++i) model.step();
  }
}
