/** Transports for worker processes, which find their folder by the environment. */
import { host } from "@tesseract-ts/transport-host";
import { fakeGpu } from "../fake-gpu.js";

export default () => [fakeGpu(process.env.FAKE_GPU_FOLDER ?? ""), host()];
