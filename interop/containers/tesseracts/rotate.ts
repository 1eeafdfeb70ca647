/** The Tesseract `rotate`, whose arrays stay on the GPU, for an image. */
export { rotate as default } from "../../src/gpu-tesseracts.js";
