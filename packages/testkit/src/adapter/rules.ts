/** The rules that an adapter keeps, as docs/arrays.md explains them. */
import type { Rule } from "../failure.js";

const rule = (text: string): Rule => ({ text, documented: "arrays.md#an-adapter-of-your-own" });

export const rules = {
  recognize: rule("An adapter recognizes its library's arrays and says their dtype and shape, without reading them."),
  read: rule("`read()` gives every element in C order, as a well-formed host array of the dtype and shape announced."),
  stays: rule("The library's array stays valid: it can be read again, and twice at the same time."),
  shares: rule("Memory is shared where the adapter says so, and copied where it says so."),
  back: rule("A host array becomes an array of the library with the same elements."),
  ignore: rule("An adapter leaves everything else alone, and doesn't look into plain objects."),
  refuse: rule("What no Tesseract can take is refused: UNSUPPORTED_DTYPE for its type, INVALID_ARRAY for its state."),
} as const;
