export { defineJaxTesseract, type JaxInputs, type JaxTesseractOptions } from "./define.js";
