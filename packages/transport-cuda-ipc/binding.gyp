{
  "targets": [
    {
      "target_name": "cuda_ipc",
      "conditions": [
        ["OS == 'linux'", {
          "sources": [
            "native/addon.cc",
            "native/batch.cc",
            "native/device.cc",
            "native/environment.cc",
            "native/held.cc",
            "native/ipc.cc",
            "native/library.cc",
            "native/memory.cc",
            "native/result.cc",
            "native/stream.cc",
            "native/vmm.cc",
            "native/worker.cc"
          ],
          "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
          "defines": ["NAPI_VERSION=8", "NAPI_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED",
                      "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
          "cflags_cc": ["-std=c++17", "-Wall", "-Wextra", "-fexceptions", "-fvisibility=hidden"],
          "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20"],
          # Never unloaded: a worker thread's end may unload an addon whose native threads are ending.
          "ldflags": ["-pthread", "-Wl,-z,nodelete"],
          "libraries": ["-ldl"]
        }, {
          # There is no CUDA IPC; the package says so when it is used.
          "type": "none"
        }]
      ]
    }
  ]
}
