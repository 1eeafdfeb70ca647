/** How arrays of other libraries come in. They are recognized by their shape, so that no library is imported. */
import type { DType } from "../arrays/dtype.js";
import type { HostArray } from "../arrays/host-array.js";

/** An array of another library, seen through its adapter. */
export interface AdaptedArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /**
   * The elements in the host's memory, in C order. The result may share the library's memory, so it is only read, and
   * only until the call that it is sent with returns. The library's array stays valid.
   */
  read(): HostArray | Promise<HostArray>;
}

/** Recognizes the arrays of one library. Your own go to `fromUrl` in the option `adapters`. */
export interface ArrayAdapter {
  /** The library's name, for messages. */
  readonly name: string;
  /**
   * @returns undefined if `value` is no array of this library
   * @throws TesseractError UNSUPPORTED_DTYPE if it is one that no Tesseract can take, INVALID_ARRAY if it can't be read
   */
  adapt(value: object): AdaptedArray | undefined;
}
