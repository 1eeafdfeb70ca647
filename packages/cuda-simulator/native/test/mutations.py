"""Breaks each rule in the simulator on purpose and expects a test to fail.

    python3 mutations.py BUILD_FOLDER [PART OF A RULE]

BUILD_FOLDER is made if need be; the sources are copied there, never changed in place.
"""

import shutil
import subprocess
import sys
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent

# What is broken, where, what stands there, what takes its place, and the test program that must fail.
MUTATIONS = [
    ("a fresh thread has no context", "src/context.cpp", "static thread_local std::vector", "static std::vector", "contexts"),
    ("destroying takes memory along", "src/context.cpp", "if (process.addresses.remove(range->base)) process.freeStorage", "if (false) process.freeStorage", "contexts"),
    ("a destroyed context is known", "src/context.cpp", "require(!destroyed.load(std::memory_order_acquire), CUDA_ERROR_CONTEXT_IS_DESTROYED);", "", "contexts"),
    ("primary contexts are counted", "src/context.cpp", "if (--primary.users == 0)", "if (primary.users-- > 0)", "contexts"),
    ("no use in a forked child", "src/process.cpp", "process.state_ = CUDA_ERROR_NOT_INITIALIZED;", "", "contexts"),
    ("no calls in a host function", "src/call.cpp", "require(!inHostFunction(), CUDA_ERROR_NOT_PERMITTED);", "", "contexts"),
    ("device memory is unreadable", "src/machine_files.cpp", "size, PROT_NONE, MAP_PRIVATE", "size, PROT_READ, MAP_PRIVATE", "memory"),
    ("fresh memory isn't zeros", "src/storage.cpp", "std::memset(storage->bytes(), kFreshByte, storage->bytes_.size());", "", "memory"),
    ("memory is limited", "src/machine_tables.cpp", "if (size > state_->memory || state_->used[device] + charged > state_->memory) return std::nullopt;", "", "memory"),
    ("copies stay in one allocation", "src/address_space.cpp", "require(reservation == nullptr || reservation == range->reservation.get(), CUDA_ERROR_INVALID_VALUE);\n    reservation = range->reservation.get();\n    uint64_t inside = pointer - range->base;\n    uint64_t part = std::min(size, range->size - inside);", "reservation = range->reservation.get();\n    uint64_t inside = pointer - range->base;\n    uint64_t part = size;", "memory"),
    ("only a start can be freed", "src/driver/memory.cpp", "range->base == pointer && range->openings == 0", "range->openings == 0", "memory"),
    ("work is later", "src/schedule.cpp", "bool itsTime = operation.wanted ||", "bool itsTime = true || operation.wanted ||", "streams"),
    ("and not never", "src/schedule.cpp", "Clock::now() >= operation.due", "false", "streams"),
    ("legacy and blocking streams wait for each other", "src/schedule.cpp", "if (ordered) dependOn(other->last);", "(void)ordered; (void)dependOn;", "streams"),
    ("non-blocking streams don't", "src/schedule.cpp", "if (context && stream.kind != StreamKind::kNonBlocking) {", "if (context) {", "streams"),
    ("pageable memory is staged", "src/copy.cpp", "schedule.queue(stream, transfer(destination, stage(source, shape), shape, failure));\n  } else {", "schedule.queue(stream, transfer(destination, source, shape, failure));\n  } else {", "streams"),
    ("a device copy doesn't block", "src/copy.cpp", "    schedule.queue(stream, transfer(destination, source, shape, failure));\n  } else if (!destination.onDevice() &&", "    run(stream, destination, source, shape, failure);\n  } else if (!destination.onDevice() &&", "streams"),
    ("a set doesn't block", "src/copy.cpp", "if (place.onDevice() || !synchronous) {", "if (!synchronous) {", "streams"),
    ("freed before use is a fault", "src/copy.cpp", "if (!inUse.allThere() || !destination.stillThere() || !source.stillThere()) return CUDA_ERROR_ILLEGAL_ADDRESS;", "", "streams"),
    ("a failure stays", "src/context.cpp", "require(failed == CUDA_SUCCESS, static_cast<CUresult>(failed));", "(void)failed;", "streams"),
    ("events order streams", "src/event.cpp", "if (std::shared_ptr<Operation> mine = last()) operation->after.push_back(mine);", "", "streams"),
    ("a process that died completes its events", "src/machine.cpp", "record.completed.store(record.recorded.load());", "{}", "events"),
    ("another process can hurry work on", "src/schedule.cpp", "if (operation->across.hurried()) {", "if (false) {", "events"),
    ("not in its own process", "src/driver/ipc.cpp", "require(!found->own, CUDA_ERROR_INVALID_CONTEXT);", "if (found->own) machine.map(name);", "ipc"),
    ("openings are counted", "src/driver/ipc.cpp", "if (--mapping->openings > 0) return CUDA_SUCCESS;", "", "ipc"),
    ("handles are checked", "src/ipc_handle.cpp", "bool whole = layout.magic == kMagic && layout.what == what && layout.checksum == checksumOf(layout);", "bool whole = layout.magic == kMagic && layout.what == what;", "ipc"),
    ("freed memory can't be opened", "src/machine_tables.cpp", "record.inode != 0 && record.freed == 0 &&", "record.inode != 0 &&", "ipc"),
    ("freed memory is poison", "src/machine_tables.cpp", "if (bytes) std::memset(bytes.bytes(), kFreedByte, bytes.size());", "", "ipc"),
    ("strict mode refuses", "src/machine_tables.cpp", "if (elsewhere && unlessMapped && !shared) return Release::kRefused;", "", "ipc"),
    ("PID namespaces are apart", "src/ipc_handle.cpp", "require(layout.pidNamespace == pidNamespace(), CUDA_ERROR_INVALID_CONTEXT);", "", "ipc"),
    ("invisible devices can't be opened", "src/driver/ipc.cpp", "require(device >= 0, CUDA_ERROR_INVALID_VALUE);", "device = device < 0 ? context.device : device;", "ipc"),
    ("an invalid entry hides the rest", "src/visible_devices.cpp", "if (device < 0 || again) break;", "if (device < 0 || again) { begin = end + 1; continue; }", "ipc"),
    ("virtual memory needs access", "src/virtual_memory.cpp", "range->accessible = false;", "range->accessible = true;", "virtual_memory"),
    ("a descriptor holds its memory", "src/machine_tables.cpp", "if (file && othersLock(file, 0, 1)) return;", "(void)file;", "virtual_memory"),
    ("virtual memory has no legacy handle", "src/driver/ipc.cpp", "range->storage->kind() == MemoryKind::kPlain && !range->storage->imported();", "true;", "virtual_memory"),
    ("a free waits in its stream", "src/driver/pools.cpp", "process().schedule.queue(stream, operation);", "operation->work();", "pools"),
    ("the dead are buried", "src/machine.cpp", "if (!othersLock(file_, process, 1)) bury(process);", "", "machine"),
    ("dead machines are cleared up", "src/machine.cpp", "  clearUpDeadMachines(config);\n", "", "machine"),
    ("the last to leave removes all", "src/machine.cpp", "    unlinkAllocations(name_);\n    unlink(name_.c_str());\n  }\n}\n\nuint64_t", "  }\n}\n\nuint64_t", "contexts"),
    ("too little shared memory is said", "src/machine.cpp", "if (total == 0 || free >= needed) return \"\";", "return \"\";", "machine"),
    ("faults strike", "src/faults.cpp", "return rule.call == 0 || rule.call == call;", "return rule.call == 0;", "instruments"),
    ("leaks are told", "src/process.cpp", "  reportLeaks();\n", "", "instruments"),
    ("the last error stays", "src/runtime/runtime.h", "if (result != CUDA_SUCCESS) lastError() = result;", "lastError() = result;", "runtime"),
    ("and some for good", "src/runtime/devices.cpp", "if (!staysWithContext(error) || cuCtxGetFlags(&flags) != error) lastError()", "(void)flags; lastError()", "runtime"),
]


def build(source: Path, folder: Path) -> bool:
    ran = subprocess.run(["cmake", "--build", folder], capture_output=True, text=True)
    if ran.returncode != 0:
        print(ran.stdout[-2000:])
    return ran.returncode == 0


def main(folder: Path, part: str) -> int:
    source, built = folder / "source", folder / "build"
    shutil.copytree(NATIVE, source, dirs_exist_ok=True)
    configure = ["cmake", "-S", source, "-B", built, "-DCMAKE_CXX_FLAGS=-Wno-error -w", "-DCMAKE_CXX_FLAGS_RELEASE=-O0"]
    if shutil.which("ninja") and not built.exists():
        configure += ["-G", "Ninja"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    if not build(source, built):
        return 2
    survivors = 0
    for what, file, old, new, program in MUTATIONS:
        if part not in what:
            continue
        path = source / file
        text = path.read_text()
        if text.count(old) != 1:
            print(f"not ok - {what}: {file} has {text.count(old)} times: {old[:60]}")
            survivors += 1
            continue
        path.write_text(text.replace(old, new))
        try:
            if not build(source, built):
                print(f"not ok - {what}: doesn't build")
                survivors += 1
                continue
            library = "libcudart.so.12" if program == "runtime" else "libcuda.so.1"
            try:
                ran = subprocess.run(
                    [built / "bin" / f"rules-{program}", built / "lib" / library], capture_output=True, text=True, timeout=200
                )
                failed = [line for line in ran.stdout.splitlines() if line.startswith("not ok")]
                found = failed[0] if failed else ""
            except subprocess.TimeoutExpired:
                found = "it hangs"
            print(f"{'ok' if found else 'not ok'} - {what}: {found or 'no test fails'}", flush=True)
            survivors += 0 if found else 1
        finally:
            path.write_text(text)
    print(f"{survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
