/** One side of the conformance suite, in a process of its own. */
import { localSide, serveSide } from "@tesseract-ts/testkit";
import { leftovers } from "./leftovers.js";
import { sharedMemory } from "./shared-memory.js";

serveSide(localSide(sharedMemory(), { leftovers }));
