// What processes share, and that nothing of it stays: joining, leaving, dying, and too little shared memory.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <sched.h>

#include "../src/machine_state.h"
#include "rules.h"

using namespace rules;

namespace {

int filesOf(const std::string& machine) {
  int found = 0;
  DIR* folder = opendir("/dev/shm");
  while (const dirent* entry = readdir(folder)) {
    if (std::string(entry->d_name).find("." + machine) != std::string::npos) ++found;
  }
  closedir(folder);
  return found;
}

std::string machine() { return std::getenv("CUDA_SIMULATOR_MACHINE"); }

/** The file that the processes of this machine share. */
std::string segment(const std::string& folder = "/dev/shm") {
  return folder + "/cuda-simulator." + std::to_string(geteuid()) + "." + machine();
}

bool lockBytes(int file, off_t byte) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_start = byte;
  range.l_len = 1;
  return fcntl(file, F_OFD_SETLK, &range) == 0;
}

/** Whether someone waits for a lock on it: in /proc/locks such a line has an arrow, and the file's inode. */
bool isWaitedFor(int file) {
  struct stat status {};
  fstat(file, &status);
  std::string inode = ":" + std::to_string(status.st_ino) + " ";
  for (const std::string& line : linesOf("/proc/locks")) {
    if (line.find("->") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

PAGE("native/README.md#how-it-works", "is about the simulator itself");

ROLE(holdsMemory) {
  start();
  allocate(1 << 20);
  allocate(1 << 20);
  tell(1);
  hear<int>();
}

RULE("a killed process's memory is free again") {
  start();
  Peer other("holdsMemory");
  other.receive<int>();
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(total - free, size_t{2} << 20);
  other.kill();
  WORKS(cuda.cuMemFree_v2(allocate(1)));
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(free, total);
}

RULE("the next start clears up what was left when all were killed") {
  std::string other = machine() + "-x";
  {
    Peer one("holdsMemory", {"CUDA_SIMULATOR_MACHINE=" + other}), two("holdsMemory", {"CUDA_SIMULATOR_MACHINE=" + other});
    one.receive<int>();
    two.receive<int>();
    GIVES(filesOf(other), 5);  // the control segment and four allocations
    one.kill();
    two.kill();
  }
  GIVES(filesOf(other), 5);
  WORKS(cuda.cuInit(0));  // on another machine, even
  GIVES(filesOf(other), 0);
}

RULE("a machine whose processes live is left alone") {
  std::string other = machine() + "-x";
  Peer one("holdsMemory", {"CUDA_SIMULATOR_MACHINE=" + other});
  one.receive<int>();
  WORKS(cuda.cuInit(0));
  GIVES(filesOf(other), 3);
}

ROLE(joinsAndLeaves) {
  start();
  CUdeviceptr pointer = allocate(4096);
  fill(pointer, 1, 4096);
  HOLDS(all(read(pointer, 4096), 1));
  WORKS(cuda.cuMemFree_v2(pointer));
}

RULE("processes may join and leave at once, all the time") {
  for (int round = 0; round < 25; ++round) {
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 4; ++i) peers.push_back(std::make_unique<Peer>("joinsAndLeaves"));
  }
}

ROLE(works) {
  start();
  tell(1);
  for (;;) {
    CUdeviceptr pointer = allocate(10000);
    fill(pointer, 1, 10000);
    WORKS(cuda.cuMemFree_v2(pointer));
  }
}

RULE("a process may be killed in the middle of anything") {
  start();
  for (int round = 0; round < 30; ++round) {
    Peer other("works");
    other.receive<int>();
    usleep(static_cast<useconds_t>(200 * round));
    other.kill();
  }
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemFree_v2(allocate(1)));
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(free, total);
}

RULE("what a process left half done that was killed in the middle of a change is put right") {
  start();
  int file = open(segment().c_str(), O_RDWR | O_CLOEXEC);
  void* mapped = mmap(nullptr, sizeof(simulator::MachineState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  HOLDS(mapped != MAP_FAILED);
  auto* state = static_cast<simulator::MachineState*>(mapped);
  // As if it had just charged for an allocation.
  state->lockHolder = simulator::kMostProcesses;
  state->used[0] += 1 << 20;
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(free, total);
  munmap(mapped, sizeof(simulator::MachineState));
  close(file);
}

ROLE(triesToStart) { tell(cuda.cuInit(0)); }

RULE("a process with other settings can't join", "CUDA_SIMULATOR_MEMORY=64MiB") {
  WORKS(cuda.cuInit(0));
  Peer same("triesToStart");
  GIVES(same.receive<CUresult>(), CUDA_SUCCESS);
  Peer other("triesToStart", {"CUDA_SIMULATOR_MEMORY=32MiB"});
  GIVES(other.receive<CUresult>(), CUDA_ERROR_SYSTEM_NOT_READY);
}

RULE("a control segment that is too short is another version's, and isn't touched") {
  char folder[] = "/tmp/rules-XXXXXX";  // where no other start takes it for a dead machine's
  HOLDS(mkdtemp(folder) != nullptr);
  int file = open(segment(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  start();
  int whole = open(segment().c_str(), O_RDONLY | O_CLOEXEC);
  char beginning[100];  // which is as it should be
  HOLDS(read(whole, beginning, sizeof beginning) == sizeof beginning);
  HOLDS(write(file, beginning, sizeof beginning) == sizeof beginning);
  close(whole);
  HOLDS(lockBytes(file, 0));  // a process of that version lives
  Peer other("triesToStart", {"CUDA_SIMULATOR_SHM=" + std::string(folder)});
  GIVES(other.receive<CUresult>(), CUDA_ERROR_SYSTEM_NOT_READY);
  struct stat status {};
  HOLDS(fstat(file, &status) == 0 && status.st_size == 100);
  close(file);
  unlink(segment(folder).c_str());
  rmdir(folder);
}

RULE("a process that opened a machine which the last one was just leaving begins it anew") {
  char folder[] = "/tmp/rules-XXXXXX";
  HOLDS(mkdtemp(folder) != nullptr);
  int file = open(segment(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // Of the one that leaves: it is alive, and changes the tables.
  HOLDS(lockBytes(file, 0) && lockBytes(file, simulator::kTablesByte));
  Peer other("holdsMemory", {"CUDA_SIMULATOR_SHM=" + std::string(folder)});
  while (!isWaitedFor(file)) usleep(1000);
  unlink(segment(folder).c_str());
  close(file);
  other.receive<int>();
  HOLDS(access(segment(folder).c_str(), F_OK) == 0);
  other.send(1);
  other.wait();
  rmdir(folder);
}

RULE("settings that can't be read are refused") {
  for (const char* setting : {"CUDA_SIMULATOR_DEVICES=many", "CUDA_SIMULATOR_MEMORY=1 GB", "CUDA_SIMULATOR_DELAY=5",
                              "CUDA_SIMULATOR_FAULTS=cuMemAlloc=2", "CUDA_SIMULATOR_STRICT=yes",
                              "CUDA_SIMULATOR_MACHINE=a/b"}) {
    Peer other("triesToStart", {setting});
    GIVES(other.receive<CUresult>(), CUDA_ERROR_SYSTEM_NOT_READY);
  }
}

ROLE(startsInSmallMemory) {
  // A mount namespace of its own with a /dev/shm of 64 MiB, as in a container.
  bool small = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64m") == 0;
  tell(small);
  if (!small) return;
  FILE* output = std::freopen("/dev/shm/output", "w", stderr);
  CUresult result = cuda.cuInit(0);
  std::fflush(output);
  std::vector<std::string> printed = linesOf("/dev/shm/output");
  std::string text = printed.empty() ? "" : printed[0];
  bool clear = text.find("--shm-size") != std::string::npos && text.find("64 MiB") != std::string::npos &&
               text.find("CUDA_SIMULATOR_MEMORY") != std::string::npos;
  struct stat status {};
  bool untouched = stat(segment().c_str(), &status) != 0;
  tell(result);
  tell(clear);
  tell(untouched);
}

RULE("too little shared memory is said before anything is touched") {
  Peer other("startsInSmallMemory");
  if (!other.receive<bool>()) {
    std::printf("#   needs to mount, and may not: not checked\n");
    return;
  }
  GIVES(other.receive<CUresult>(), CUDA_ERROR_SYSTEM_NOT_READY);
  HOLDS(other.receive<bool>());
  HOLDS(other.receive<bool>());
}

ROLE(forksAndIsKilled) {
  start();
  allocate(1 << 20);
  pid_t child = fork();
  if (child == 0) {
    tell(getpid());
    sleep(30);
    _exit(0);
  }
  hear<int>();
}

RULE("a killed process is dead even if a forked child of its lives") {
  start();
  Peer other("forksAndIsKilled");
  auto child = other.receive<pid_t>();
  other.kill();
  WORKS(cuda.cuMemFree_v2(allocate(1)));
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(free, total);
  if (child > 0) kill(child, SIGKILL);
}
