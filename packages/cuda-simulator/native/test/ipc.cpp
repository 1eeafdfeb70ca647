// Memory between processes, and which devices a process sees.
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "rules.h"

using namespace rules;

namespace {

CUipcMemHandle handleOf(CUdeviceptr pointer) {
  CUipcMemHandle handle{};
  WORKS(cuda.cuIpcGetMemHandle(&handle, pointer));
  return handle;
}

CUresult open(const CUipcMemHandle& handle, CUdeviceptr* pointer) {
  return cuda.cuIpcOpenMemHandle_v2(pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

}  // namespace

// Allocates and fills 1000 bytes with 42, tells the handle, frees when told to, and goes when told to.
ROLE(exporter) {
  start();
  CUdeviceptr pointer = allocate(1000);
  fill(pointer, 42, 1000);
  tell(handleOf(pointer));
  if (hear<int>() == 1) {
    CUresult freed = cuda.cuMemFree_v2(pointer);
    tell(freed);
    hear<int>();
  }
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html");

RULE("another process's memory is mapped, read, written and let go") {
  start();
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0, base = 0;
  WORKS(open(handle, &pointer));
  HOLDS(faults(pointer));
  HOLDS(all(read(pointer, 1000), 42));
  fill(pointer, 43, 500);
  size_t size = 0;
  WORKS(cuda.cuMemGetAddressRange_v2(&base, &size, pointer + 500));
  GIVES(base, pointer);
  HOLDS(simulated() ? size == 1000 : size >= 1000);
  unsigned type = 0, legacy = 1;
  WORKS(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
  GIVES(type, 2u);
  WORKS(cuda.cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer));
  GIVES(legacy, 0u);
  GIVES(cuda.cuIpcGetMemHandle(&handle, pointer), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuIpcCloseMemHandle(pointer + 1), CUDA_ERROR_INVALID_VALUE);
  WORKS(cuda.cuIpcCloseMemHandle(pointer));
  GIVES(cuda.cuIpcCloseMemHandle(pointer), CUDA_ERROR_INVALID_VALUE);
  char byte = 0;
  GIVES(cuda.cuMemcpyDtoH_v2(&byte, pointer, 1), CUDA_ERROR_INVALID_VALUE);
}

RULE("a handle names a whole allocation") {
  start();
  CUdeviceptr pointer = allocate(1000);
  CUipcMemHandle whole = handleOf(pointer), part = handleOf(pointer + 600);
  HOLDS(std::memcmp(&whole, &part, sizeof whole) == 0);
  CUipcMemHandle none{};
  GIVES(cuda.cuIpcGetMemHandle(&none, 0x1000), CUDA_ERROR_INVALID_VALUE);
}

RULE("a handle can't be opened in its own process") {
  start();
  CUdeviceptr pointer = 0;
  GIVES(open(handleOf(allocate(1000)), &pointer), CUDA_ERROR_INVALID_CONTEXT);
}

RULE("a second opening is counted and gives the same pointer") {
  start();
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr first = 0, second = 0;
  WORKS(open(handle, &first));
  WORKS(open(handle, &second));
  GIVES(second, first);
  WORKS(cuda.cuIpcCloseMemHandle(first));
  HOLDS(all(read(first, 1000), 42));
  start();  // but only one context per device may have it open
  GIVES(open(handle, &second), CUDA_ERROR_INVALID_CONTEXT);
  WORKS(cuda.cuIpcCloseMemHandle(first));
  WORKS(open(handle, &second));
  WORKS(cuda.cuIpcCloseMemHandle(second));
}

RULE("opening needs its flag and a context") {
  WORKS(cuda.cuInit(0));
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  GIVES(open(handle, &pointer), CUDA_ERROR_INVALID_CONTEXT);
  start();
  GIVES(cuda.cuIpcOpenMemHandle_v2(&pointer, handle, 0), CUDA_ERROR_INVALID_VALUE);
}

RULE("a damaged handle opens nothing", STRICTER("what is in a handle is the driver's business")) {
  start();
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  for (unsigned i = 0; i < 64; ++i) {
    CUipcMemHandle damaged = handle;
    damaged.reserved[i] ^= 0x10;
    GIVES(open(damaged, &pointer), CUDA_ERROR_INVALID_VALUE);
  }
  WORKS(open(handle, &pointer));
}

RULE("a freed allocation's handle opens nothing", STRICTER("it is undefined")) {
  start();
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  other.send(1);
  GIVES(other.receive<CUresult>(), CUDA_SUCCESS);
  CUdeviceptr pointer = 0;
  GIVES(open(handle, &pointer), CUDA_ERROR_INVALID_VALUE);
}

RULE("memory that is freed while mapped turns to poison, and that is a hazard", "CUDA_SIMULATOR_TRACE=@") {
  start();
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  WORKS(open(handle, &pointer));
  other.send(1);
  GIVES(other.receive<CUresult>(), CUDA_SUCCESS);
  HOLDS(all(read(pointer, 1000), 0xDB));
  CUdeviceptr again = 0;
  GIVES(open(handle, &again), CUDA_ERROR_INVALID_VALUE);  // though it is mapped still
  GIVES(count(traceLines(), {"\"type\":\"hazard\""}), 1);
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  HOLDS(free < total);  // still held by the mapping
  WORKS(cuda.cuIpcCloseMemHandle(pointer));
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(free, total);
}

RULE("in strict mode memory that is mapped elsewhere can't be freed", "CUDA_SIMULATOR_STRICT=1") {
  start();
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  WORKS(open(handle, &pointer));
  other.send(1);
  GIVES(other.receive<CUresult>(), CUDA_ERROR_ILLEGAL_STATE);
  HOLDS(all(read(pointer, 1000), 42));
  WORKS(cuda.cuIpcCloseMemHandle(pointer));
}

RULE("a killed process's memory is poison for those that map it", STRICTER("it is undefined")) {
  start();
  CUdeviceptr pointer = 0;
  CUipcMemHandle handle{};
  Peer other("exporter");
  handle = other.receive<CUipcMemHandle>();
  WORKS(open(handle, &pointer));
  other.kill();
  CUdeviceptr another = allocate(1);  // clears up after the dead
  HOLDS(all(read(pointer, 1000), 0xDB));
  WORKS(cuda.cuIpcCloseMemHandle(pointer));
  GIVES(open(handle, &another), CUDA_ERROR_INVALID_VALUE);
}

RULE("closing a mapping before queued work has used it is a fault", "CUDA_SIMULATOR_DELAY=lazy") {
  start();
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0, mine = allocate(1000);
  WORKS(open(handle, &pointer));
  WORKS(cuda.cuMemcpyDtoD_v2(mine, pointer, 1000));
  WORKS(cuda.cuIpcCloseMemHandle(pointer));
  GIVES(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

RULE("a handle from another PID namespace is refused", KNOB("CUDA_SIMULATOR_PID_NAMESPACE")) {
  start();
  Peer other("exporter", {"CUDA_SIMULATOR_PID_NAMESPACE=container"});
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  GIVES(open(handle, &pointer), CUDA_ERROR_INVALID_CONTEXT);
}

RULE("a handle from another host is refused", KNOB("CUDA_SIMULATOR_HOST")) {
  start();
  Peer other("exporter", {"CUDA_SIMULATOR_HOST=elsewhere"});
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  GIVES(open(handle, &pointer), CUDA_ERROR_INVALID_VALUE);
}

RULE("memory of a device that isn't visible can't be opened", DEVICES(2), "CUDA_VISIBLE_DEVICES=1") {
  start();
  Peer other("exporter", {"CUDA_VISIBLE_DEVICES=0"});
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  GIVES(open(handle, &pointer), CUDA_ERROR_INVALID_VALUE);
}

RULE("memory is opened on the device on which it lies, however it is numbered", DEVICES(2)) {
  start(0);
  Peer other("exporter", {"CUDA_VISIBLE_DEVICES=1,0"});  // its first is our second
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  int peers = 0;
  WORKS(cuda.cuDeviceCanAccessPeer(&peers, 0, 1));
  if (peers == 0) GIVES(open(handle, &pointer), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  start(1);
  WORKS(open(handle, &pointer));
  int device = -1;
  WORKS(cuda.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
  GIVES(device, 1);
  HOLDS(all(read(pointer, 1000), 42));
}

RULE("or from a peer's context, where devices are peers", DEVICES(2), "CUDA_SIMULATOR_PEERS=1") {
  start(1);
  Peer other("exporter");
  auto handle = other.receive<CUipcMemHandle>();
  CUdeviceptr pointer = 0;
  WORKS(open(handle, &pointer));
  HOLDS(all(read(pointer, 1000), 42));
}

namespace {

int visible(std::vector<CUuuid>& uuids) {
  WORKS(cuda.cuInit(0));
  int devices = 0;
  WORKS(cuda.cuDeviceGetCount(&devices));
  for (int i = 0; i < devices; ++i) {
    uuids.emplace_back();
    WORKS(cuda.cuDeviceGetUuid_v2(&uuids.back(), i));
  }
  return devices;
}

std::string text(const CUuuid& uuid) {
  std::string all = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", uuid.bytes[i]);
    all += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(two);
  }
  return all;
}

}  // namespace

ROLE(tellsUuids) {
  std::vector<CUuuid> uuids;
  tell(visible(uuids));
  for (const CUuuid& uuid : uuids) tell(uuid);
}

PAGE("https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables");

RULE("CUDA_VISIBLE_DEVICES chooses and renumbers devices, by number and by UUID", DEVICES(4)) {
  std::vector<CUuuid> all;
  HOLDS(simulated() ? visible(all) == 4 : visible(all) >= 4);
  auto same = [&](const std::string& setting, std::vector<size_t> expected) {
    Peer other("tellsUuids", {"CUDA_VISIBLE_DEVICES=" + setting});
    auto devices = other.receive<int>();
    GIVES(devices, static_cast<int>(expected.size()));
    for (int i = 0; i < devices; ++i) {
      auto uuid = other.receive<CUuuid>();
      if (static_cast<size_t>(i) < expected.size()) {
        HOLDS(std::memcmp(&uuid, &all[expected[static_cast<size_t>(i)]], 16) == 0);
      }
    }
  };
  same("2,0", {2, 0});
  same(text(all[3]) + ",1", {3, 1});
  same(text(all[2]).substr(0, 14), {2});
  same("1,77,2", {1});  // an invalid entry hides itself and those behind it
  same("0,-1,2", {0});
}

ROLE(hasNoDevice) { tell(cuda.cuInit(0)); }

RULE("without a visible device there is none") {
  for (const char* setting : {"CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=-1", "CUDA_VISIBLE_DEVICES=GPU-zzzz"}) {
    Peer other("hasNoDevice", {setting});
    GIVES(other.receive<CUresult>(), CUDA_ERROR_NO_DEVICE);
  }
}
