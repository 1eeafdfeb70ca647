/** What to do about a check of a GPU transport that the Tesseract's side refused: it gives a reason, and no hint. */

/** In this order, by words of the reason: those of docs/containers.md. */
const hints: readonly (readonly [words: RegExp, hint: string])[] = [
  [
    /could not find cuda runtime library/i,
    "The Tesseract's environment lacks libcudart: add nvidia-cuda-runtime-cu12 (or -cu13) to its requirements.",
  ],
  [
    /the server can't use/i,
    "It is the Tesseract's side that lacks this: does its container have the GPU (--gpus all), and the driver?",
  ],
  [
    /this process can('t|not) see/i,
    "Give both sides that GPU (--gpus, CUDA_VISIBLE_DEVICES). On two machines it is never the same one.",
  ],
  [
    /out of memory/i,
    "The Tesseract's GPU is full: end what holds it, or lower TESSERACT_CUDA_IPC_POOL_FRACTION on both sides.",
  ],
  [
    /invalid (device context|argument)/i,
    "Run both containers with --ipc=host; if that isn't enough, with --pid=host too.",
  ],
  [/doesn't exist|isn't one$/i, "Does a proxy in between pass on POST /check_gpu_transport? Let it, or go around it."],
  [/has other bytes/i, "Nothing that you do should bring this about: please report it."],
];

export const hintFor = (reason: string): string | undefined => hints.find(([words]) => words.test(reason))?.[1];
