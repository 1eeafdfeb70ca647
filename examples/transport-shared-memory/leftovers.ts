/** What is left in shared memory of messages that are over. */
import { readdirSync } from "node:fs";

export const leftovers = (): string[] => readdirSync(process.env.SHARED_MEMORY_FOLDER ?? "/dev/shm");
