// The fixture `arrays` in TypeScript: gives back arrays whose schema fixes the dtype, the rank or the sizes.
import type { DType } from "@tesseract-ts/core";
import { z } from "zod";
import { array, defineTesseract } from "../../../src/index.js";

const any = <D extends DType>(dtype: D) => array(dtype, "any rank").nullish();

const fields = z.object({
  float16: any("float16"),
  float32: any("float32"),
  float64: any("float64"),
  int8: any("int8"),
  int16: any("int16"),
  int32: any("int32"),
  int64: any("int64"),
  uint8: any("uint8"),
  uint16: any("uint16"),
  uint32: any("uint32"),
  uint64: any("uint64"),
  bool: any("bool"),
  complex64: any("complex64"),
  complex128: any("complex128"),
  scalar: array("float64", []).nullish(),
  vector: array("float64", [null]).nullish(),
  matrix: array("float64", [2, 3]).nullish(),
  columns: array("int64", [null, 3]).nullish(),
  rank5: array("float32", [null, null, null, null, null]).nullish(),
});

export default defineTesseract({ name: "arrays", inputs: fields, outputs: fields, apply: (inputs) => inputs });
