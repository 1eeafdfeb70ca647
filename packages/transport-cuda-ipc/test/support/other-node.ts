/** The Node that the processes of tests run on, which may be for another processor or C library (`npm run test:prebuilds`). */

/** A program that starts it: its own `process.execPath` may be none. */
export const node = process.env.TESSERACT_TEST_NODE ?? process.execPath;

/** How many times as long everything takes, and so does what tests wait for: more than once under an emulator. */
export const SLOWDOWN = Number(process.env.TESSERACT_TEST_SLOWDOWN ?? 1);
