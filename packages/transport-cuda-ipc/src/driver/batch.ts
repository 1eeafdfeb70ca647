/** Operations on a device that are done in order, on one native thread, with one wait at the end. */
import { TesseractError } from "@tesseract-ts/core";
import {
  type AddressRange,
  type DevicePointer,
  type EventHandle,
  IPC_HANDLE_BYTES,
  type IpcHandle,
  type MemoryInfo,
  type MemoryKind,
  type PointerAttributes,
  type StreamHandle,
} from "./handles.js";
import { OPERATION_WORDS, type OperationName, operationCodes, operationTexts } from "./operations.js";
import { type PointerOperand, PointerResult, Result } from "./results.js";
import { type StridedLayout, stridedPieces } from "./strided.js";

const memoryKinds: { readonly [Kind in MemoryKind]: bigint } = { plain: 0n, virtual: 1n, pool: 2n };

export interface OperationOptions {
  /** For errors, what is being done: `opening the memory of array inputs.x from another process`. */
  readonly doing?: string | undefined;
}

/**
 * A list of operations for `CudaDevice.submit`. Nothing happens before it is submitted, and it is submitted once.
 *
 * **Order.** The operations are carried out in order by one native thread; those that queue work (copies, fills) queue
 * it on one stream. Before an operation that ends something (`free`, `ipcClose`, `destroyStream`, `destroyEvent`), and
 * at the end, the thread waits for what has been queued, if anything has since the last wait. So a batch that opens and
 * allocates first, copies then, and closes and frees last waits exactly once, however many arrays it has.
 *
 * **Failure.** A batch has all of its effects or owns nothing. When operation k fails, the rest is skipped, except that
 * every `free`, `ipcClose`, `destroyStream` and `destroyEvent` in it is carried out all the same, if what it ends was
 * there before the batch or was made by it: a batch can be trusted to let go. What was queued is waited for. Then
 * whatever the batch itself had allocated, opened or created is given back, in reverse, and the promise rejects
 * with the first failure ({@link CudaError}, whose `operation` is k). The same happens if a `free` itself fails, and
 * if the environment (a worker thread) ends before it has the results.
 *
 * **Success.** What the batch allocated, opened or created and didn't end is the caller's.
 *
 * @example
 * const batch = new Batch("decoding the outputs of apply");
 * const mapping = batch.ipcOpen(handle, { doing: "opening the memory of array outputs.y from another process" });
 * const own = batch.alloc(bytes);
 * batch.copy(own, mapping.at(offset), bytes);
 * batch.ipcClose(mapping);
 * const pointer = (await device.submit(batch)).get(own);
 */
export class Batch {
  /** With room for more operations; what isn't an operand is 0. */
  private words = new BigUint64Array(8 * OPERATION_WORDS);
  private readonly views: Uint8Array[] = [];
  private readonly texts: (string | undefined)[] = [];
  private readonly names: OperationName[] = [];
  private readonly pointers = new Set<PointerResult>();
  private submitted = false;

  /** @param doing for errors, what the batch as a whole is for: `encoding the inputs of apply` */
  constructor(readonly doing?: string) {}

  /** How many operations there are: a strided copy is several. */
  get length(): number {
    return this.names.length;
  }

  /** Device memory, uninitialized. 0 bytes are the null pointer. */
  alloc(bytes: number, options: OperationOptions & { readonly kind?: MemoryKind } = {}): PointerResult {
    return this.pointer(this.add("alloc", [count(bytes), memoryKinds[options.kind ?? "plain"]], options));
  }

  /** Gives memory of `alloc` back, of whichever kind. The null pointer is passed over. */
  free(pointer: PointerOperand, options: OperationOptions = {}): void {
    this.add("free", this.operand(pointer), options);
  }

  /** On this device; the two places don't overlap. */
  copy(to: PointerOperand, from: PointerOperand, bytes: number, options: OperationOptions = {}): void {
    this.add("copy", [...this.operand(to), ...this.operand(from), count(bytes)], options);
  }

  /** `height` rows of `width` bytes; from one row to the next it is a pitch of bytes, `width` at least. */
  copy2D(
    to: PointerOperand,
    toPitch: number,
    from: PointerOperand,
    fromPitch: number,
    width: number,
    height: number,
    options: OperationOptions = {},
  ): void {
    const sizes = [count(toPitch), ...this.operand(from), count(fromPitch), count(width), count(height)];
    this.add("copy2D", [...this.operand(to), ...sizes], options);
  }

  /**
   * A strided array into C order at `to`, by copies of rows on the device: there is no kernel.
   *
   * @param from where the element with index 0 along each dimension is
   * @throws TesseractError INVALID_ARRAY for strides that overlap, or where it would take more than `atMost` copies
   */
  copyStrided(
    to: PointerOperand,
    from: PointerOperand,
    layout: StridedLayout,
    options: OperationOptions & { readonly atMost?: number | undefined } = {},
  ): void {
    for (const piece of stridedPieces(layout, options.atMost)) {
      const target = moved(to, piece.to);
      const source = piece.within ? moved(to, piece.from) : moved(from, piece.from);
      if (piece.height === 1) this.copy(target, source, piece.width, options);
      else this.copy2D(target, piece.toPitch, source, piece.fromPitch, piece.width, piece.height, options);
    }
  }

  /** Between devices, of which one is the batch's; they need not be peers. Devices are ordinals of this process. */
  copyPeer(
    to: PointerOperand,
    toDevice: number,
    from: PointerOperand,
    fromDevice: number,
    bytes: number,
    options: OperationOptions = {},
  ): void {
    const operands = [count(toDevice), ...this.operand(from), count(fromDevice), count(bytes)];
    this.add("copyPeer", [...this.operand(to), ...operands], options);
  }

  /**
   * All of `from`. It must not be written to, transferred or detached before the batch has ended; a view of a resizable
   * or shared buffer is refused.
   *
   * @throws TesseractError INVALID_ARGUMENT
   */
  copyFromHost(to: PointerOperand, from: Uint8Array, options: OperationOptions = {}): void {
    this.add("copyFromHost", [...this.operand(to), this.view(from)], options);
  }

  /**
   * Fills all of `to`. It must not be used, transferred or detached before the batch has ended; a view of a resizable or
   * shared buffer is refused.
   *
   * @throws TesseractError INVALID_ARGUMENT
   */
  copyToHost(to: Uint8Array, from: PointerOperand, options: OperationOptions = {}): void {
    this.add("copyToHost", [this.view(to), ...this.operand(from)], options);
  }

  /** Sets each of `bytes` bytes to `value`, from 0 to 255. */
  fill(pointer: PointerOperand, value: number, bytes: number, options: OperationOptions = {}): void {
    this.add("fill", [...this.operand(pointer), count(value), count(bytes)], options);
  }

  /** The allocation that the address is in; of memory that the driver doesn't know, an error. */
  addressRange(pointer: PointerOperand, options: OperationOptions = {}): Result<AddressRange> {
    const index = this.add("addressRange", this.operand(pointer), options);
    return new Result(index, (words) => rangeOf(words[0], words[1]));
  }

  /** What the driver knows of an address. Of memory that it doesn't know it says so, without an error. */
  attributes(pointer: PointerOperand, options: OperationOptions = {}): Result<PointerAttributes> {
    return new Result(this.add("attributes", this.operand(pointer), options), attributesOf);
  }

  /** The handle of the whole allocation that the address is in. Whoever opens it needs the offset as well. */
  ipcHandle(pointer: PointerOperand, options: OperationOptions = {}): Result<IpcHandle> {
    const index = this.add("ipcHandle", this.operand(pointer), options);
    return new Result(index, (words) => new Uint8Array(words.slice().buffer));
  }

  /**
   * Maps another process's allocation. The result is its base, on this batch's device, which must be the one that the
   * memory is on. Opening the same handle again gives the same address, which must then be closed as often.
   *
   * @throws TesseractError INVALID_ARGUMENT for a handle of the wrong length
   */
  ipcOpen(handle: IpcHandle, options: OperationOptions = {}): PointerResult {
    if (handle.length !== IPC_HANDLE_BYTES) {
      throw invalid(`A handle has ${IPC_HANDLE_BYTES} bytes, not ${handle.length}`);
    }
    return this.pointer(this.add("ipcOpen", [...new BigUint64Array(Uint8Array.from(handle).buffer)], options));
  }

  /** Ends a mapping of `ipcOpen`. */
  ipcClose(base: PointerOperand, options: OperationOptions = {}): void {
    this.add("ipcClose", this.operand(base), options);
  }

  /**
   * What is queued behind this waits for everything that was queued on an array's stream before, as the CUDA array
   * interface's `stream` says it: null or undefined needs no wait, 1 is the legacy default stream, 2 the per-thread one
   * (no other thread can name it, so the whole device is waited for), anything else a `CUstream`, which must exist.
   *
   * @throws TesseractError INVALID_ARGUMENT for 0, which the interface forbids
   */
  waitForStream(stream: bigint | number | null | undefined, options: OperationOptions = {}): void {
    if (stream === null || stream === undefined) return;
    if (typeof stream === "number" && !Number.isSafeInteger(stream)) throw invalid(`A stream can't be ${stream}`);
    if (BigInt(stream) <= 0n || BigInt(stream) >= 2n ** 64n) {
      throw invalid(`A CUDA array has the stream ${stream}`, "Use 1 for the legacy default stream.");
    }
    this.add("waitForStream", [BigInt(stream)], options);
  }

  /** A stream that doesn't wait for the legacy default stream. */
  createStream(options: OperationOptions = {}): Result<StreamHandle> {
    return new Result(this.add("createStream", [], options), (words) => words[0] as StreamHandle);
  }

  destroyStream(stream: StreamHandle, options: OperationOptions = {}): void {
    this.add("destroyStream", [stream], options);
  }

  /** Waits for everything that is queued on the stream, as `waitForStream` names it too. */
  synchronizeStream(stream: StreamHandle, options: OperationOptions = {}): void {
    this.add("synchronizeStream", [stream], options);
  }

  /** Whether everything that was queued on the stream is done. */
  queryStream(stream: StreamHandle, options: OperationOptions = {}): Result<boolean> {
    return new Result(this.add("queryStream", [stream], options), truthOf);
  }

  /** An event without times. */
  createEvent(options: OperationOptions = {}): Result<EventHandle> {
    return new Result(this.add("createEvent", [], options), (words) => words[0] as EventHandle);
  }

  destroyEvent(event: EventHandle, options: OperationOptions = {}): void {
    this.add("destroyEvent", [event], options);
  }

  /** The event is done when everything that the batch has queued before is; or what is queued on `stream` by now. */
  recordEvent(event: EventHandle, options: OperationOptions & { readonly stream?: StreamHandle } = {}): void {
    this.add("recordEvent", [event, options.stream ?? 0n], options);
  }

  /** What is queued behind this waits for the event. */
  waitForEvent(event: EventHandle, options: OperationOptions = {}): void {
    this.add("waitForEvent", [event], options);
  }

  /** Waits for the event. */
  synchronizeEvent(event: EventHandle, options: OperationOptions = {}): void {
    this.add("synchronizeEvent", [event], options);
  }

  /** Whether the event is done. */
  queryEvent(event: EventHandle, options: OperationOptions = {}): Result<boolean> {
    return new Result(this.add("queryEvent", [event], options), truthOf);
  }

  /** How much memory is free at this point. */
  memoryInfo(options: OperationOptions = {}): Result<MemoryInfo> {
    const index = this.add("memoryInfo", [], options);
    return new Result(index, (words) => ({ free: Number(words[0]), total: Number(words[1]) }));
  }

  /** The bytes that sizes of virtual memory are rounded up to. */
  granularity(options: OperationOptions = {}): Result<number> {
    return new Result(this.add("granularity", [], options), (words) => Number(words[0]));
  }

  /** Waits for what has been queued, if anything has since the last wait. The end of the batch does so anyway. */
  synchronize(options: OperationOptions = {}): void {
    this.add("synchronize", [], options);
  }

  /** @internal What the addon gets, once. */
  take(): { readonly words: BigUint64Array; readonly views: readonly Uint8Array[] } {
    if (this.submitted) throw invalid("A batch was submitted twice", "Make a new one; its results are its own.");
    this.submitted = true;
    return { words: this.words.subarray(0, this.length * OPERATION_WORDS), views: this.views };
  }

  /** @internal What operation `index` is doing, in words; without one, what the batch does. */
  textOf(index: number | undefined): string {
    const name = index === undefined ? undefined : this.names[index];
    if (index === undefined || name === undefined) return this.doing ?? "using a device";
    const text = this.texts[index] ?? operationTexts[name];
    return this.doing === undefined ? text : `${text} (${this.doing})`;
  }

  private add(name: OperationName, operands: readonly bigint[], { doing }: OperationOptions): number {
    const index = this.names.push(name) - 1;
    const start = index * OPERATION_WORDS;
    if (start === this.words.length) {
      const larger = new BigUint64Array(2 * start);
      larger.set(this.words);
      this.words = larger;
    }
    this.words[start] = operationCodes[name];
    operands.forEach((operand, i) => {
      this.words[start + 1 + i] = operand;
    });
    this.texts.push(doing);
    return index;
  }

  private pointer(index: number): PointerResult {
    const result = new PointerResult(index);
    this.pointers.add(result);
    return result;
  }

  /** Two words: 0 and the address, or the place of the operation that gives it, counted from 1, and the offset. */
  private operand(operand: PointerOperand): [bigint, bigint] {
    if (typeof operand === "bigint") {
      if (operand < 0n || operand >= 2n ** 64n) throw invalid(`${operand} is no address`);
      return [0n, operand];
    }
    const { of, offset } = operand instanceof PointerResult ? { of: operand, offset: 0 } : operand;
    if (!this.pointers.has(of)) throw invalid("A pointer of one batch was used in another");
    return [BigInt(of.index + 1), count(offset)];
  }

  private view(bytes: Uint8Array): bigint {
    const { buffer } = bytes;
    if (!(buffer instanceof ArrayBuffer) || ("resizable" in buffer && buffer.resizable === true)) {
      throw invalid("Host memory of a shared or resizable buffer can't be copied asynchronously", "Copy it first.");
    }
    return BigInt(this.views.push(bytes) - 1);
  }
}

/** The operand `bytes` further on. */
function moved(operand: PointerOperand, bytes: number): PointerOperand {
  if (bytes === 0) return operand;
  if (typeof operand === "bigint") return (operand + BigInt(bytes)) as DevicePointer;
  if (operand instanceof PointerResult) return operand.at(bytes);
  return { of: operand.of, offset: operand.offset + bytes };
}

const truthOf = (words: BigUint64Array): boolean => words[0] !== 0n;

const rangeOf = (base = 0n, bytes = 0n): AddressRange => ({ base: base as DevicePointer, bytes: Number(bytes) });

function attributesOf(words: BigUint64Array): PointerAttributes {
  const [type = 0n, ordinal = 0n, capable = 0n, base = 0n, bytes = 0n, managed = 0n, bufferId = 0n] = words;
  const memoryType = type === 1n ? "host" : type === 0n ? "unknown" : "device";
  return {
    memoryType,
    ordinal: memoryType === "unknown" ? undefined : Number(ordinal),
    legacyIpcCapable: capable !== 0n,
    range: rangeOf(base, bytes),
    managed: managed !== 0n,
    bufferId,
  };
}

function count(value: number): bigint {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(`${value} is no whole number from 0 on`);
  return BigInt(value);
}

function invalid(message: string, hint?: string): TesseractError {
  return new TesseractError("INVALID_ARGUMENT", message, { hint });
}
