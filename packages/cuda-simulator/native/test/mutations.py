"""Breaks each rule in the simulator on purpose and expects a test to fail.

    python3 mutations.py [--folder FOLDER] [--only PART] [--slice I/N]

FOLDER (native/build/mutations) is made if need be; the sources are copied there, never changed in place. A whole run also
tells which rules no mutation broke, and fails if there are any: a test that nothing can break proves nothing. A slice is every
N-th mutation, the I-th first.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent

# What is broken, where, what stands there, what takes its place, and the groups of rules of which one must fail.
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
    ("legacy and blocking streams wait for each other", "src/schedule.cpp", "if (ordered && other->last && !other->last->done) list.push_back(other->last);", "(void)ordered;", "streams"),
    ("non-blocking streams don't", "src/schedule.cpp", "if (context && stream.kind != StreamKind::kNonBlocking) {", "if (context) {", "streams"),
    ("pageable memory is staged", "src/copy.cpp", "schedule.queue(stream, transfer(destination, stage(source, shape), shape, failure));\n  } else {", "schedule.queue(stream, transfer(destination, source, shape, failure));\n  } else {", "streams"),
    ("a large copy waits for what is before it", "src/schedule.cpp", "return (!stream->last || stream->last->done) && orderedBefore(*stream).empty();", "return true;", "streams"),
    ("a device copy doesn't block", "src/copy.cpp", "    schedule.queue(stream, transfer(destination, source, shape, failure));\n  } else if (!destination.onDevice() &&", "    run(stream, destination, source, shape, failure);\n  } else if (!destination.onDevice() &&", "streams"),
    ("a set doesn't block", "src/copy.cpp", "if (place.onDevice() || !synchronous) {", "if (!synchronous) {", "streams"),
    ("freed before use is a fault", "src/copy.cpp", "if (!inUse.allThere() || !destination.stillThere() || !source.stillThere()) return CUDA_ERROR_ILLEGAL_ADDRESS;", "", "streams ipc"),
    ("a failure stays", "src/context.cpp", "require(failed == CUDA_SUCCESS, static_cast<CUresult>(failed));", "(void)failed;", "streams"),
    ("events order streams", "src/event.cpp", "if (std::shared_ptr<Operation> mine = last()) operation->after.push_back(mine);", "", "streams"),
    ("a process that died completes its events", "src/machine.cpp", "record.completed.store(record.recorded.load());", "{}", "events"),
    ("another process can hurry work on", "src/schedule.cpp", "if (operation->across.hurried()) {", "if (false) {", "events"),
    ("not in its own process", "src/driver/ipc.cpp", "require(!found->own, CUDA_ERROR_INVALID_CONTEXT);", "if (found->own) machine.map(name);", "ipc"),
    ("openings are counted", "src/driver/ipc.cpp", "if (--mapping->openings > 0) return CUDA_SUCCESS;", "", "ipc"),
    ("handles are checked", "src/ipc_handle.cpp", "bool whole = layout.magic == kMagic && layout.what == what && layout.checksum == checksumOf(layout);", "bool whole = layout.magic == kMagic && layout.what == what;", "ipc"),
    ("freed memory can't be opened", "src/machine_tables.cpp", "record.inode != 0 && record.freed == 0 &&", "record.inode != 0 &&", "ipc"),
    ("what is freed is known to be", "src/machine_tables.cpp", "  record.freed = 1;\n", "", "ipc"),
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
    ("nothing before cuInit", "src/call.cpp", "if (before == Before::kInit) Process::instance().checkUsable();", "(void)before;", "contexts"),
    ("contexts are a stack", "src/driver/context.cpp", "    if (!stack.empty()) stack.pop_back();\n    if (context)", "    if (context)", "contexts"),
    ("a reset destroys", "src/context.cpp", "context = std::move(primaries_[device].context);", "(void)device;", "contexts"),
    ("a primary context has flags", "src/context.cpp", "  primary.flags = flags;\n", "", "contexts"),
    ("what isn't there isn't found", "src/driver/initialization.cpp", "return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;", "return CUDA_SUCCESS;", "contexts"),
    ("errors have texts", "src/driver/initialization.cpp", "*text = found == nullptr ? nullptr : found->text;", "*text = \"\";", "contexts"),
    ("allocations are aligned", "src/address_space.cpp", "base_ = (base_ + alignment - 1) / alignment * alignment;", "base_ = (base_ + alignment - 1) / alignment * alignment + 8;", "memory"),
    ("memory is charged", "src/machine_tables.cpp", "state_->used[device] += charged;", "", "memory workload"),
    ("copies end where they should", "src/place.cpp", "place.start_ += offset;", "place.start_ += offset / 2;", "memory"),
    ("sets write whole units", "src/copy.cpp", "std::memcpy(bytes + at, &value, unit);", "std::memcpy(bytes + at, &value, 1);", "memory"),
    ("sets are aligned", "src/copy.cpp", "require(destination % unit == 0 && (height <= 1 || pitch % unit == 0), CUDA_ERROR_INVALID_VALUE);", "", "memory"),
    ("rows have a pitch", "src/copy.cpp", "moveRow(destination, row * destination.pitch(), source", "moveRow(destination, row * shape.width, source", "memory"),
    ("allocations end", "src/address_space.cpp", "return pointer - range->base < range->size ? range : nullptr;", "return range;", "memory"),
    ("what CUDA doesn't know has no attributes", "src/driver/pointers.cpp", "require(block != nullptr, CUDA_ERROR_INVALID_VALUE);  // memory that", "if (block == nullptr) return put(data, 0u);  // memory that", "memory"),
    ("page-locked memory is registered once", "src/host_memory.cpp", "require(!overlaps, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);", "(void)overlaps;", "memory"),
    ("what was registered isn't freed", "src/host_memory.cpp", "require(found != blocks_.end() && !found->second->registered(), CUDA_ERROR_INVALID_VALUE);", "require(found != blocks_.end(), CUDA_ERROR_INVALID_VALUE);", "memory"),
    ("devices differ", "src/visible_devices.cpp", "std::to_string(index) + \"/\" + std::to_string(half)", "std::to_string(half)", "memory ipc"),
    ("each device has memory of its own", "src/machine.cpp", "return state_->used[device];", "return state_->used[0];", "memory"),
    ("peers by setting only", "src/driver/device.cpp", "one != other && config().peers", "one != other", "memory"),
    ("peer access is enabled once", "src/driver/device.cpp", "require(context.enablePeer(peer), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);", "context.enablePeer(peer);", "memory"),
    ("a copy to pageable memory is waited for", "src/copy.cpp", "} else if (synchronous || toPageable) {", "} else if (synchronous) {", "streams"),
    ("a synchronous copy from pinned memory is waited for", "src/copy.cpp", "} else if (synchronous || toPageable) {", "} else if (toPageable) {", "streams"),
    ("the end of a pageable copy is late", "src/copy.cpp", "uint64_t later = std::min(shape.width, kStillOnItsWay);", "uint64_t later = 0;", "streams"),
    ("blocking streams are apart", "src/schedule.cpp", ": other->kind == StreamKind::kLegacy;", ": true;", "streams"),
    ("streams keep their order", "src/schedule.cpp", "  stream.operations.push_back(operation);", "  stream.operations.push_front(operation);", "streams"),
    ("waiting hurries", "src/schedule.cpp", "    next->wanted = true;\n", "", "streams"),
    ("polling a stream counts", "src/schedule.cpp", "if (config().delay.lazy && ++stream->polls >= kPollsThatCount) {", "if (false) {", "streams"),
    ("polling an event counts", "src/schedule.cpp", "if (config().delay.lazy && ++polls >= kPollsThatCount) {", "if (false) {", "events"),
    ("a destroyed stream finishes", "src/schedule.cpp", "while (!stream->operations.empty() || !stream->closing) {", "while (!stream->closing) {", "streams"),
    ("pinned memory that is gone is a fault", "src/place.cpp", "if (block_ && block_->gone()) return false;", "", "streams"),
    ("no host function after a failure", "src/schedule.cpp", "(operation->evenAfterFailure || context.error.load() == CUDA_SUCCESS)", "true", "streams"),
    ("callbacks learn of a failure", "src/driver/streams.cpp", "int status = context ? context->error.load() : CUDA_SUCCESS;", "int status = CUDA_SUCCESS;", "streams"),
    ("priorities are clamped", "src/driver/streams.cpp", "std::max(-5, std::min(0, priority))", "priority", "streams"),
    ("a stream is a queue", "src/schedule.cpp", "changed_.wait(lock, [&] { return stream->operations.front() == operation && readyToRun(*operation); });", "", "streams"),
    ("an event isn't done at once", "src/driver/events.cpp", "if (!event->complete()) return CUDA_ERROR_NOT_READY;", "", "events"),
    ("untimed events have no times", "src/event.cpp", "bool timed = ((start.flags_ | end.flags_) & CU_EVENT_DISABLE_TIMING) == 0;", "bool timed = true;", "events"),
    ("times of what is done only", "src/event.cpp", "require(schedule.done(first, polls) && schedule.done(second, polls), CUDA_ERROR_NOT_READY);", "(void)polls;", "events"),
    ("events belong to contexts", "src/driver/events.cpp", "require(event->context().lock() == stream->context.lock(), CUDA_ERROR_INVALID_HANDLE);", "", "events"),
    ("interprocess events have no times", "src/event.cpp", "require(!interprocess || (flags & CU_EVENT_DISABLE_TIMING) != 0, CUDA_ERROR_INVALID_VALUE);", "", "events"),
    ("an event isn't opened at home", "src/event.cpp", "require(!known || machine.event(name).process != machine.slot(), CUDA_ERROR_INVALID_CONTEXT);", "", "events"),
    ("a wait reaches other processes", "src/event.cpp", "operation->across.reached = [self = shared_from_this(), shared, number] {\n      return shared->completed.load() >= number;\n    };", "", "events"),
    ("one context a device has it open", "src/driver/ipc.cpp", "require(mapping->context.lock().get() == &context, CUDA_ERROR_INVALID_CONTEXT);", "", "ipc"),
    ("opening needs its flag", "src/driver/ipc.cpp", "require(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_VALUE);", "(void)flags;", "ipc"),
    ("only the start is closed", "src/driver/ipc.cpp", "mapping->openings > 0 && mapping->base == pointer;", "mapping->openings > 0;", "ipc"),
    ("a handle is for the whole", "src/driver/ipc.cpp", "bool has = range != nullptr &&", "bool has = range != nullptr && range->base == pointer &&", "ipc runtime"),
    ("hosts are apart", "src/machine_files.cpp", "std::string host = config.host.empty() ? \"\" : \"+\" + config.host;", "std::string host;", "ipc"),
    ("memory is opened where it lies", "src/driver/ipc.cpp", "require(device == context.device || config().peers, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);", "", "ipc"),
    ("or by peers", "src/driver/ipc.cpp", "device == context.device || config().peers", "device == context.device", "ipc"),
    ("a hazard is recorded", "src/process.cpp", "recordHazard(*machine_, what, storage.name(), storage.size());", "", "ipc"),
    ("what the dead had is poison", "src/machine.cpp", "record.freed == 0) letGo(slot, false);", "record.freed == 0) record.freed = 1;", "ipc"),
    ("closed or unmapped before use is a fault", "src/place.cpp", "return std::none_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.range->removed.load(); });", "return true;", "ipc virtual_memory"),
    ("no visible device is an error", "src/process.cpp", "if (devices_.empty()) {", "if (false) {", "ipc"),
    ("virtual memory comes in granules", "src/virtual_memory.cpp", "return size > 0 && size % kGranularity == 0;", "return size > 0;", "virtual_memory"),
    ("maps don't overlap", "src/virtual_memory.cpp", "require(apart, CUDA_ERROR_ALREADY_MAPPED);", "(void)apart;", "virtual_memory"),
    ("maps side by side are one range", "src/address_space.cpp", "require(reservation == nullptr || reservation == range->reservation.get(), CUDA_ERROR_INVALID_VALUE);", "require(reservation == nullptr, CUDA_ERROR_INVALID_VALUE);", "virtual_memory"),
    ("mapped twice is one memory", "src/virtual_memory.cpp", "  range->storage = std::move(storage);\n  range->device", "  range->storage = Storage::allocate(process.machine(), storage->device(), size, MemoryKind::kVirtual);\n  range->device", "virtual_memory"),
    ("handles are counted", "src/virtual_memory.cpp", "if (--found->second > 0) return;", "--found->second;", "virtual_memory"),
    ("exports are asked for", "src/virtual_memory.cpp", "  require(exportable(*storage), CUDA_ERROR_INVALID_VALUE);\n", "", "virtual_memory"),
    ("read access is no more", "src/virtual_memory.cpp", "changed->readOnly = flags == CU_MEM_ACCESS_FLAGS_PROT_READ;", "changed->readOnly = false;", "virtual_memory"),
    ("pool memory has no legacy handle", "src/driver/ipc.cpp", "range->storage->kind() == MemoryKind::kPlain && !range->storage->imported();", "true;", "pools"),
    ("pools have limits", "src/pool.cpp", "require(most_ == 0 || (size <= most_ && used_ + wholePages(size) <= wholePages(most_)), CUDA_ERROR_OUT_OF_MEMORY);", "", "pools"),
    ("pools count", "src/pool.cpp", "  used_ -= size;\n", "  (void)size;\n", "pools"),
    ("freed by a stream before another's use is a fault", "src/copy.cpp", "if (!inUse.allThere() || !destination.stillThere()) return CUDA_ERROR_ILLEGAL_ADDRESS;", "", "pools"),
    ("the runtime makes a context current", "src/runtime/runtime.cpp", "  check(makeCurrent(chosenDevice));\n}\n\nvoid setDevice", "}\n\nvoid setDevice", "runtime"),
    ("a device is a thread's", "src/runtime/runtime.cpp", "thread_local int chosenDevice = 0;", "int chosenDevice = 0;", "runtime"),
    ("the current context is used", "src/runtime/runtime.cpp", "if (result == CUDA_SUCCESS) return;", "if (result == CUDA_SUCCESS) return check(makeCurrent(current));", "runtime"),
    ("after a reset there is a new context", "src/runtime/runtime.cpp", "if (result != CUDA_ERROR_CONTEXT_IS_DESTROYED) return result;", "return result;", "runtime"),
    ("directions are checked", "src/runtime/memory.cpp", "      require(!isDevice(destination) && !isDevice(source), CUDA_ERROR_INVALID_VALUE);\n      return cuMemcpy(", "      return cuMemcpy(", "runtime"),
    ("the last error is a thread's", "src/runtime/runtime.cpp", "thread_local int last = CUDA_SUCCESS;", "int last = CUDA_SUCCESS;", "runtime"),
    ("faults strike the runtime too", "src/runtime/runtime.h", "if (fault) result = *fault;", "if (false) result = *fault;", "runtime"),
    ("a machine's settings are its first process's", "src/machine.cpp", "wholePages(config.memory.value_or(state_->memory)) != state_->memory) {", "false) {", "machine"),
    ("a short segment isn't mapped", "src/machine.cpp", "if (!holdsState(file_)) {", "if (false) {", "machine"),
    ("settings are read or refused", "src/config.cpp", "if (config.problem.empty()) config.problem = std::string(name)", "if (false) config.problem = std::string(name)", "machine"),
    ("a forked child holds no lock", "src/process.cpp", "process.machine_->forget();", "", "machine"),
    ("living machines are left alone", "src/machine_files.cpp", "if (othersLock(file, 0, kMostProcesses)) continue;", "", "machine"),
    ("tables are recounted after a death", "src/machine_locked.h", "    machine.recount();\n    machine.buryDead();\n    machine.recount();\n", "", "machine"),
    ("joining holds a lock", "src/machine.cpp", "} while (!sameFile(machine->file_, machine->name_));", "} while (false);", "machine"),
    ("calls stall", "src/faults.cpp", "std::this_thread::sleep_for(rule.stall);", "", "instruments"),
    ("processes die", "src/faults.cpp", "} else if (rule.effect == Effect::kDie) {", "} else if (false) {", "instruments"),
    ("queued work fails", "src/faults.cpp", "if (rule.work && falls(rule, function) && !code) code = rule.code;", "(void)rule, (void)function;", "instruments"),
    ("calls have durations", "src/call.cpp", ".number(\"duration\", duration)", ".number(\"duration\", 0 * duration)", "instruments"),
    ("calls have bytes", "src/call.cpp", "if (bytes_) line.number(\"bytes\", *bytes_);", "", "instruments"),
    ("copies have a direction", "src/copy.cpp", "call.direction(directionOf(destination, source));", "call.direction(\"HtoH\");", "instruments"),
    ("what was freed doesn't leak", "src/process.cpp", "    ++count;\n    bytes += size;", "    count += 2;\n    bytes += size;", "instruments"),
]


# Rules in which a mutation makes something wait for ever end after this many seconds.
PATIENCE = "8"

# What only chance would break: they are about what several processes do at the same moment.
BY_CHANCE = {"machine: processes may join and leave at once, all the time"}


def run(command: list) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"RULES_SECONDS": PATIENCE, "RULES_SEEDS": "3"})


def build(folder: Path) -> bool:
    ran = run(["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", "cuda", "cudart"])
    if ran.returncode != 0:
        print(ran.stdout[-2000:], ran.stderr[-2000:])
    return ran.returncode == 0


def broken(built: Path, groups: str) -> set[str]:
    """The rules that don't hold."""
    names = set()
    for group in groups.split():
        ran = run([built / "bin" / "rules", "--simulator", built / "lib", "--group", group])
        names |= set(re.findall(r"^not ok \d+ - (.*) \[", ran.stdout, re.MULTILINE))
    return names


def rules(built: Path) -> set[str]:
    ran = run([built / "bin" / "rules", "--simulator", built / "lib", "--list"])
    return set(re.findall(r"^\d+ - (.*) \[", ran.stdout, re.MULTILINE))


def copy_sources(to: Path) -> None:
    """Writes what differs, and only that, so that what an earlier run has built is built again where it must be."""
    files = [Path("CMakeLists.txt")]
    for part in ("src", "test", "tools"):
        files += [path.relative_to(NATIVE) for path in (NATIVE / part).rglob("*") if path.is_file()]
    for file in files:
        content = (NATIVE / file).read_bytes()
        copy = to / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_bytes() != content:
            copy.write_bytes(content)


def main(folder: Path, part: str, first: int, every: int) -> int:
    source, built = folder / "source", folder / "build"
    copy_sources(source)
    configure = ["cmake", "-S", source, "-B", built, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-Wno-error -w", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    if shutil.which("ninja") and not built.exists():
        configure += ["-G", "Ninja"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    if not build(built) or run(["cmake", "--build", built, "--target", "rules"]).returncode != 0:
        return 2
    survivors = 0
    everything = broken_rules = set()
    chosen = [mutation for mutation in MUTATIONS if part in mutation[0]][first - 1 :: every]
    for what, file, old, new, groups in chosen:
        path = source / file
        text = path.read_text()
        if text.count(old) != 1:
            print(f"not ok - {what}: {file} has {text.count(old)} times: {old[:60]}")
            survivors += 1
            continue
        path.write_text(text.replace(old, new))
        try:
            found = broken(built, groups) if build(built) else None
        finally:
            path.write_text(text)
        if not found:
            survivors += 1
            print(f"not ok - {what}: {'it does not build' if found is None else 'every rule holds'}", flush=True)
            continue
        broken_rules = broken_rules | found
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        print(f"ok - {what}: {min(found)}{more}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutations were found")
    if len(chosen) == len(MUTATIONS):
        everything = rules(built) - broken_rules - BY_CHANCE
        for rule in sorted(everything):
            print(f"not ok - no mutation breaks {rule}")
    return 1 if survivors or everything else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=NATIVE / "build" / "mutations")
    parser.add_argument("--only", default="")
    parser.add_argument("--slice", default="1/1")
    arguments = parser.parse_args()
    number, count = map(int, arguments.slice.split("/"))
    sys.exit(main(arguments.folder, arguments.only, number, count))
