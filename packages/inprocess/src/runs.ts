/** The folders of runs of a Tesseract in this process. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { TesseractError } from "@tesseract-ts/core";

/** Makes folders when an endpoint asks for one, and removes those that nobody named when it ends. */
export class Runs {
  private temporary: Promise<string> | undefined;

  /** @param outputPath where `run_<runId>` folders are made; a temporary folder if left out */
  constructor(private readonly outputPath: string | undefined) {}

  async directory(runId: string): Promise<string> {
    const root = this.outputPath === undefined ? await this.temporaryFolder() : resolve(this.outputPath);
    const folder = join(root, `run_${runId}`);
    try {
      await mkdir(folder, { recursive: true });
    } catch (error) {
      throw new TesseractError("FILE_ERROR", `The folder "${folder}" can't be made`, { cause: error });
    }
    return folder;
  }

  private temporaryFolder(): Promise<string> {
    this.temporary ??= mkdtemp(join(tmpdir(), "tesseract-"));
    return this.temporary;
  }

  /** Removes the temporary folder, if there is one. */
  async end(): Promise<void> {
    const folder = await this.temporary?.catch(() => undefined);
    this.temporary = undefined;
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** @throws TesseractError INVALID_ARGUMENT if the name would leave the folder */
export function checkRunId(runId: string): void {
  if (runId !== "" && !/[/\\\0]/.test(runId) && runId.length <= 200) return;
  throw new TesseractError("INVALID_ARGUMENT", `${JSON.stringify(runId)} can't name a run`, {
    hint: "It becomes a part of a folder's name: no slashes, and at most 200 characters.",
  });
}
