/** An array that came, and couldn't be decoded. */

/** Stands for an array that couldn't be decoded. The request is then refused with `array_decode_error`, at its place. */
export class UndecodableArray {
  constructor(
    readonly encoding: string,
    readonly reason: string,
  ) {}
}
