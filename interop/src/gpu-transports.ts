/** Transports with `cuda_ipc`, for worker processes. */
import { cudaIpc } from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";

export default () => [cudaIpc(), host()];
