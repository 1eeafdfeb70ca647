// The oldest Node that the packages support.

import { SetupError } from "./child.mjs";

const OLDEST = [20, 18, 1];

export function checkNode() {
  const running = process.versions.node.split(".").map(Number);
  const difference = OLDEST.map((part, index) => running[index] - part).find((part) => part !== 0) ?? 0;
  if (difference < 0) {
    const version = process.versions.node;
    throw new SetupError(
      `Node ${OLDEST.join(".")} or newer is needed, and this is ${version}: see https://nodejs.org.`,
    );
  }
  if (process.platform === "win32") {
    throw new SetupError("The scripts need Linux or macOS: on Windows, run them in WSL.");
  }
}
