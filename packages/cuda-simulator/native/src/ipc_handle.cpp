#include "ipc_handle.h"

#include <cstring>

#include "config.h"
#include "errors.h"

namespace simulator {
namespace {

struct Layout {
  uint32_t magic;
  Shares what;
  uint64_t machine;
  uint32_t pidNamespace;
  uint32_t slot;
  uint64_t id;
  uint8_t secret[16];
  uint64_t reserved;
  uint64_t checksum;  // of all before it
};
static_assert(sizeof(Layout) == 64, "the size of CUipcMemHandle and CUipcEventHandle");

constexpr uint32_t kMagic = 0x31435049;  // "IPC1"

uint64_t checksumOf(const Layout& layout) { return hashOf(&layout, offsetof(Layout, checksum)); }

uint32_t pidNamespace() { return static_cast<uint32_t>(hashOf(config().pidNamespace)); }

}  // namespace

void writeHandle(unsigned char (&handle)[64], Shares what, Machine& machine, const SharedName& name) {
  Layout layout{};
  layout.magic = kMagic;
  layout.what = what;
  layout.machine = machine.secret();
  layout.pidNamespace = pidNamespace();
  layout.slot = static_cast<uint32_t>(name.slot);
  layout.id = name.id;
  std::memcpy(layout.secret, name.secret.data(), name.secret.size());
  layout.checksum = checksumOf(layout);
  std::memcpy(handle, &layout, sizeof layout);
}

SharedName readHandle(const unsigned char (&handle)[64], Shares what, Machine& machine, CUresult damaged) {
  Layout layout{};
  std::memcpy(&layout, handle, sizeof layout);
  bool whole = layout.magic == kMagic && layout.what == what && layout.checksum == checksumOf(layout);
  require(whole && layout.machine == machine.secret(), damaged);
  require(layout.pidNamespace == pidNamespace(), CUDA_ERROR_INVALID_CONTEXT);
  SharedName name{static_cast<int>(layout.slot), layout.id, {}};
  std::memcpy(name.secret.data(), layout.secret, name.secret.size());
  return name;
}

}  // namespace simulator
