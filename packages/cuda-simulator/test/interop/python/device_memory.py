"""Device arrays without a framework: in plain memory, and in the two kinds that have no IPC handle.

Every explicit copy from or to the host goes through `uploaded` and `downloaded`, which count it.
"""

import ctypes
import weakref

import numpy as np
from tesseract_core.runtime.cuda import api
from tesseract_core.runtime.cuda.ipc import IpcDeviceArray

GRANULARITY = 2 << 20

uploads: list[int] = []
downloads: list[int] = []


class DeviceArray:
    """An array somewhere in memory that `owner` keeps, as any framework would show it."""

    def __init__(self, pointer: int, shape: tuple, dtype: np.dtype, device: int, owner: object) -> None:
        self.device = device
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": tuple(shape),
            "typestr": np.dtype(dtype).str,
            "data": (pointer, False),
            "strides": None,
            "version": 3,
        }


class Memory:
    """Bytes on the current device that are given back with the object."""

    def __init__(self, pointer: int, free: object) -> None:
        self.pointer = pointer
        weakref.finalize(self, free)


def plain(size: int) -> Memory:
    pointer = api.malloc(size)
    return Memory(pointer, lambda: api.free(pointer))


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


def driver(name: str, *arguments: object) -> None:
    result = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} gives {result}")


def virtual(size: int) -> Memory:
    size = ctypes.c_size_t((size + GRANULARITY - 1) // GRANULARITY * GRANULARITY)
    location = Location(1, api.get_device())
    properties = Properties(1, 0, location)
    handle, pointer = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    driver("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(properties), ctypes.c_ulonglong(0))
    driver("cuMemAddressReserve", ctypes.byref(pointer), size, ctypes.c_size_t(0), ctypes.c_ulonglong(0), ctypes.c_ulonglong(0))
    driver("cuMemMap", pointer, size, ctypes.c_size_t(0), handle, ctypes.c_ulonglong(0))
    driver("cuMemSetAccess", pointer, size, ctypes.byref(Access(location, 3)), ctypes.c_size_t(1))

    def free() -> None:
        driver("cuMemUnmap", pointer, size)
        driver("cuMemAddressFree", pointer, size)
        driver("cuMemRelease", handle)

    return Memory(pointer.value, free)


def pooled(size: int) -> Memory:
    pointer = ctypes.c_ulonglong()
    driver("cuMemAllocAsync", ctypes.byref(pointer), ctypes.c_size_t(size), None)
    return Memory(pointer.value, lambda: driver("cuMemFreeAsync", pointer, None))


KINDS = {"plain": plain, "virtual": virtual, "pool": pooled}


def empty(shape: tuple, dtype: np.dtype, device: int = 0, memory: str = "plain", before: int = 0) -> object:
    """An array in new memory, `before` bytes behind the memory's start."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size == 0:
        return IpcDeviceArray(0, device, shape, dtype)
    api.set_device(device)
    if memory == "plain" and before == 0:
        return IpcDeviceArray(api.malloc(size), device, shape, dtype)
    owner = KINDS[memory](before + size)
    return DeviceArray(owner.pointer + before, shape, dtype, device, owner)


def pointer_of(array: object) -> int:
    return array.__cuda_array_interface__["data"][0]


def uploaded(values: np.ndarray, **where: object) -> object:
    array = empty(values.shape, values.dtype, **where)
    if values.nbytes > 0:
        values = np.ascontiguousarray(values)
        api.memcpy_host_to_device(pointer_of(array), values.ctypes.data, values.nbytes)
        api.device_synchronize()
        uploads.append(values.nbytes)
    return array


def downloaded(array: IpcDeviceArray) -> np.ndarray:
    if array.nbytes > 0:
        api.set_device(array.device)
        downloads.append(array.nbytes)
    return array.copy_to_host()


def ordinal_of(pointer: int) -> int:
    """The device that the driver says the memory is on."""
    device = ctypes.c_int(-1)
    driver("cuPointerGetAttribute", ctypes.byref(device), ctypes.c_int(9), ctypes.c_ulonglong(pointer))
    return device.value
