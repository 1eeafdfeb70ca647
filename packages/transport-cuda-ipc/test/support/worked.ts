/** What tests of the driver's face share. */
import assert from "node:assert/strict";
import { type CudaDevice, CudaError, type ErrorCode, openDriver, TesseractError } from "./names.js";

/** The bytes 0, 1, 2, … modulo 251, so that no power of two is a period. */
export const pattern = (bytes: number, from = 0): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, i) => (i + from) % 251);

export async function firstDevice(): Promise<CudaDevice> {
  return (await openDriver()).device();
}

/** That nothing is held and nothing is pending. */
export async function assertNothingHeld(): Promise<void> {
  const driver = await openDriver();
  assert.deepEqual(driver.held(), {
    allocations: 0,
    allocatedBytes: 0,
    mappings: 0,
    streams: 0,
    events: 0,
    pending: 0,
  });
}

/** The error of this code that `work` rejects with. */
export async function rejection(work: Promise<unknown> | (() => unknown), code: ErrorCode): Promise<TesseractError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    assert.ok(error instanceof TesseractError, `not a TesseractError: ${String(error)}`);
    assert.equal(error.code, code, error.message);
    return error;
  }
  return assert.fail(`it didn't fail with ${code}`);
}

export async function cudaFailure(work: Promise<unknown>): Promise<CudaError> {
  const error = await work.then(
    () => assert.fail("it didn't fail"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof CudaError, String(error));
  return error;
}
