// A Tesseract whose arrays stay on the GPU.
export { rotate as default } from "../gpu-tesseracts.js";
