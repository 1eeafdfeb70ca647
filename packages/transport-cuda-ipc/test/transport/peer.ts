/** A process of a test: runs the functions that it is sent, with this package and what they keep. */
import * as core from "@tesseract-ts/core";
import * as cuda from "../../src/index.js";
import { runFunctions } from "./functions.js";

/** What a function that runs in a peer gets. */
export interface PeerContext {
  readonly core: typeof core;
  readonly cuda: typeof cuda;
  /** What functions leave for later ones. */
  readonly kept: Record<string, unknown>;
  /** The transport for the messages with the other process of the test. */
  readonly transport: core.DeviceTransport & core.Session;
}

const transport = cuda.cudaIpc().connect?.({ name: "the other process" });
if (transport === undefined) throw new Error("The transport keeps nothing");
const context: PeerContext = { core, cuda, kept: {}, transport };
runFunctions(context);
