/** A side of the conformance suite on a simulated machine: `cuda_ipc`, and what this process still holds of the driver. */
import { localSide, serveSide } from "@tesseract-ts/testkit";
import { cudaIpc, DeviceMemory, openDriver } from "../../src/index.js";

serveSide(
  localSide(cudaIpc(), {
    async leftovers() {
      const driver = await openDriver();
      // What is kept for reuse is no leftover.
      await Promise.all(driver.devices.map((device) => DeviceMemory.of(device).trim({ wait: false })));
      const { allocations, mappings, pending } = driver.held();
      const held = { allocations, mappings, pending };
      return Object.entries(held).flatMap(([kind, count]) =>
        Array.from({ length: count }, () => `${kind} of the driver`),
      );
    },
  }),
);
