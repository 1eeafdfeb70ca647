/** `rotate`, for processes that load it by its file. */
export { rotate as default } from "./gpu-tesseracts.js";
