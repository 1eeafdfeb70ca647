// Virtual memory.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "rules.h"

using namespace rules;

namespace {

constexpr size_t kUnit = 2 << 20;

CUmemAllocationProp properties(bool exportable = false) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  if (exportable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}

CUmemGenericAllocationHandle create(size_t size, bool exportable = false) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = properties(exportable);
  WORKS(cuda.cuMemCreate(&handle, size, &prop, 0));
  return handle;
}

CUdeviceptr reserve(size_t size) {
  CUdeviceptr pointer = 0;
  WORKS(cuda.cuMemAddressReserve(&pointer, size, 0, 0, 0));
  return pointer;
}

CUresult access(CUdeviceptr pointer, size_t size, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  CUmemAccessDesc description{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};
  return cuda.cuMemSetAccess(pointer, size, &description, 1);
}

size_t freeMemory() {
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  return free;
}

}  // namespace

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html");

RULE("virtual memory is reserved, created, mapped and made accessible, in that order") {
  start();
  size_t granularity = 0;
  CUmemAllocationProp prop = properties();
  WORKS(cuda.cuMemGetAllocationGranularity(&granularity, &prop, 0));
  HOLDS(simulated() ? granularity == kUnit : kUnit % granularity == 0);
  CUdeviceptr pointer = reserve(2 * kUnit);
  HOLDS(faults(pointer));
  if (simulated()) GIVES(cuda.cuMemsetD8_v2(pointer, 1, 10), CUDA_ERROR_INVALID_VALUE);  // a GPU may fault later
  CUmemGenericAllocationHandle handle = create(kUnit);
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, handle, 0));
  if (simulated()) GIVES(cuda.cuMemsetD8_v2(pointer, 1, 10), CUDA_ERROR_INVALID_VALUE);  // no access yet
  unsigned long long flags = 9;
  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  WORKS(cuda.cuMemGetAccess(&flags, &location, pointer));
  GIVES(flags, 0u);
  WORKS(access(pointer, kUnit));
  WORKS(cuda.cuMemGetAccess(&flags, &location, pointer));
  GIVES(flags, 3u);
  fill(pointer, 1, kUnit);
  HOLDS(all(read(pointer, kUnit), 1));
  if (simulated()) GIVES(cuda.cuMemsetD8_v2(pointer + kUnit, 1, 10), CUDA_ERROR_INVALID_VALUE);  // reserved, not mapped
  WORKS(access(pointer, kUnit, CU_MEM_ACCESS_FLAGS_PROT_READ));
  if (simulated()) GIVES(cuda.cuMemsetD8_v2(pointer, 1, 10), CUDA_ERROR_INVALID_VALUE);
  HOLDS(all(read(pointer, 10), 1));
  HOLDS(faults(pointer));
  WORKS(cuda.cuMemUnmap(pointer, kUnit));
  WORKS(cuda.cuMemRelease(handle));
  WORKS(cuda.cuMemAddressFree(pointer, 2 * kUnit));
}

RULE("sizes are multiples of the granularity, and maps don't overlap") {
  start();
  CUdeviceptr pointer = 0;
  GIVES(cuda.cuMemAddressReserve(&pointer, 1000, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = properties();
  GIVES(cuda.cuMemCreate(&handle, 1000, &prop, 0), CUDA_ERROR_INVALID_VALUE);
  pointer = reserve(2 * kUnit);
  handle = create(kUnit);
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, handle, 0));
  GIVES(cuda.cuMemMap(pointer, kUnit, 0, handle, 0), CUDA_ERROR_ALREADY_MAPPED);
  GIVES(cuda.cuMemMap(pointer + 2 * kUnit, kUnit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemUnmap(pointer, 2 * kUnit), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemAddressFree(pointer, 2 * kUnit), CUDA_ERROR_INVALID_VALUE);  // something is mapped there
  GIVES(cuda.cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
}

RULE("maps side by side are one range for a copy") {
  start();
  CUdeviceptr pointer = reserve(2 * kUnit);
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, create(kUnit), 0));
  WORKS(cuda.cuMemMap(pointer + kUnit, kUnit, 0, create(kUnit), 0));
  WORKS(access(pointer, 2 * kUnit));
  fill(pointer + kUnit - 50, 8, 100);
  HOLDS(all(read(pointer + kUnit - 50, 100), 8));
  CUdeviceptr base = 0;
  size_t size = 0;
  WORKS(cuda.cuMemGetAddressRange_v2(&base, &size, pointer + kUnit + 1));
  GIVES(base, pointer + kUnit);
}

RULE("one allocation mapped twice is the same memory") {
  start();
  CUdeviceptr one = reserve(kUnit), other = reserve(kUnit);
  CUmemGenericAllocationHandle handle = create(kUnit);
  WORKS(cuda.cuMemMap(one, kUnit, 0, handle, 0));
  WORKS(cuda.cuMemMap(other, kUnit, 0, handle, 0));
  WORKS(access(one, kUnit));
  WORKS(access(other, kUnit));
  fill(one, 3, 100);
  HOLDS(all(read(other, 100), 3));
}

RULE("memory is freed with its last handle and its last map") {
  start();
  size_t before = freeMemory();
  CUdeviceptr pointer = reserve(kUnit);
  CUmemGenericAllocationHandle handle = create(kUnit), again = 0;
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, handle, 0));
  WORKS(access(pointer, kUnit));
  WORKS(cuda.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(pointer + 5)));
  GIVES(again, handle);
  WORKS(cuda.cuMemRelease(handle));
  WORKS(cuda.cuMemRelease(handle));
  if (simulated()) GIVES(cuda.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);  // undefined elsewhere
  fill(pointer, 1, kUnit);
  if (simulated()) GIVES(freeMemory(), before - kUnit);
  WORKS(cuda.cuMemUnmap(pointer, kUnit));
  if (simulated()) GIVES(freeMemory(), before);
}

RULE("unmapping before queued work has used the memory is a fault", "CUDA_SIMULATOR_DELAY=lazy") {
  start();
  CUdeviceptr pointer = reserve(kUnit);
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, create(kUnit), 0));
  WORKS(access(pointer, kUnit));
  WORKS(cuda.cuMemsetD8_v2(pointer, 1, 10));
  WORKS(cuda.cuMemUnmap(pointer, kUnit));
  GIVES(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

RULE("virtual memory has no legacy handle") {
  start();
  CUdeviceptr pointer = reserve(kUnit);
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, create(kUnit), 0));
  WORKS(access(pointer, kUnit));
  CUipcMemHandle handle{};
  GIVES(cuda.cuIpcGetMemHandle(&handle, pointer), CUDA_ERROR_INVALID_VALUE);
  unsigned legacy = 1;
  WORKS(cuda.cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer));
  GIVES(legacy, 0u);
}

// A descriptor can be inherited: the child opens it by /proc, which makes another open file of the same inode, as
// sending it over a socket would keep the same one. Both are tried.
ROLE(importer) {
  start();
  int socket = hear<int>();
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  HOLDS(recvmsg(socket, &message, 0) == 1);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  CUmemGenericAllocationHandle handle = 0;
  WORKS(cuda.cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(fd);
  CUdeviceptr pointer = reserve(kUnit);
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, handle, 0));
  WORKS(access(pointer, kUnit));
  HOLDS(all(read(pointer, kUnit), 21));
  fill(pointer, 22, kUnit);
  tell(1);
  hear<int>();
  HOLDS(all(read(pointer, 100), 22));  // it lives as long as this process holds it
  WORKS(cuda.cuMemUnmap(pointer, kUnit));
  WORKS(cuda.cuMemRelease(handle));
  WORKS(cuda.cuMemAddressFree(pointer, kUnit));
}

RULE("an allocation goes to another process as a file descriptor") {
  start();
  size_t before = freeMemory();
  CUmemGenericAllocationHandle handle = create(kUnit, true);
  CUdeviceptr pointer = reserve(kUnit);
  WORKS(cuda.cuMemMap(pointer, kUnit, 0, handle, 0));
  WORKS(access(pointer, kUnit));
  fill(pointer, 21, kUnit);
  int fd = -1;
  WORKS(cuda.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  int sockets[2];
  HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  dup2(sockets[1], 20);
  Peer other("importer");
  other.send(20);
  // Let go of before it is imported: the descriptor alone holds it.
  char byte = 1;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  WORKS(cuda.cuMemUnmap(pointer, kUnit));
  WORKS(cuda.cuMemRelease(handle));
  HOLDS(sendmsg(sockets[0], &message, 0) == 1);
  close(fd);
  GIVES(other.receive<int>(), 1);
  if (simulated()) GIVES(freeMemory(), before - kUnit);
  other.send(1);
  HOLDS(other.wait() == 0);
  if (simulated()) GIVES(freeMemory(), before);
}

RULE("only what was created for it can be exported") {
  start();
  int fd = -1;
  GIVES(cuda.cuMemExportToShareableHandle(&fd, create(kUnit), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle handle = 0;
  GIVES(cuda.cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(0), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        CUDA_ERROR_INVALID_VALUE);
}
