/** What the operations of a batch will give, to be named before it runs and read afterwards. */
import type { DevicePointer } from "./handles.js";

/** The 64-bit words in which the addon gives the result of one operation. */
export const RESULT_WORDS = 8;

/** The result of an operation of a batch. It is read from the batch's {@link BatchResults}. */
export class Result<T> {
  /** @internal */
  constructor(
    /** The operation's place in its batch. */
    readonly index: number,
    private readonly read: (words: BigUint64Array) => T,
  ) {}

  /** @internal */
  readFrom(words: BigUint64Array): T {
    return this.read(words.subarray(this.index * RESULT_WORDS, (this.index + 1) * RESULT_WORDS));
  }
}

/** An address that an operation will give. Later operations of the same batch can use it already. */
export class PointerResult extends Result<DevicePointer> {
  /** @internal */
  constructor(index: number) {
    super(index, (words) => words[0] as DevicePointer);
  }

  /** The address `bytes` behind it. */
  at(bytes: number): PointerPlace {
    return { of: this, offset: bytes };
  }
}

/** A place within memory that an operation of the same batch will give. */
export interface PointerPlace {
  readonly of: PointerResult;
  /** In bytes. */
  readonly offset: number;
}

/** An address, or one that an earlier operation of the same batch will give. */
export type PointerOperand = DevicePointer | PointerResult | PointerPlace;

/** The results of a batch that succeeded. */
export class BatchResults {
  /** @internal */
  constructor(private readonly words: BigUint64Array) {}

  /** The result of one operation of this batch. */
  get<T>(result: Result<T>): T {
    return result.readFrom(this.words);
  }
}
