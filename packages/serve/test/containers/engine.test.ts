/** Engines that answer, and those that don't: programs of a few lines that say what docker and podman say. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Engine, findEngine, lastWords } from "../../src/containers/engine.js";
import { failureOf as meaningOf } from "../../src/containers/failures.js";
import { inspectImage } from "../../src/containers/image.js";
import { fromImage } from "../../src/index.js";
import { atTheEnd, failureOf, tesseractError } from "../support.js";

/** A program that prints, on a stream, and ends. */
async function program(script: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tesseract-engine-"));
  atTheEnd(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "engine");
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

const docker = `echo '{"Client":{"Version":"28.2.2","ApiVersion":"1.50"},"Server":{"Version":"28.2.2"}}'`;
const podman = `echo '{"Client":{"APIVersion":"4.3.1","Version":"4.3.1"}}'`;
const none = {};

describe("an engine", () => {
  test("is docker or podman by what it says, not by what it is called", async () => {
    expect(await findEngine({ engine: await program(docker) }, undefined, none)).toMatchObject({
      kind: "docker",
      version: "28.2.2",
    });
    expect(await findEngine({ engine: [await program(podman), "--root", "/a b"] }, undefined, none)).toMatchObject({
      kind: "podman",
      name: "podman 4.3.1",
    });
  });

  test("is named by TESSERACT_ENGINE, and by the reference's variable, and the option wins", async () => {
    const [one, other] = [await program(docker), await program(podman)];
    const reference = { TESSERACT_DOCKER_EXECUTABLE: `${one} --x` };
    expect(await findEngine({}, undefined, reference)).toMatchObject({ kind: "docker", command: [one, "--x"] });
    expect(await findEngine({}, undefined, { ...reference, TESSERACT_ENGINE: other })).toMatchObject({
      kind: "podman",
    });
    expect(await findEngine({ engine: one }, undefined, { TESSERACT_ENGINE: other })).toMatchObject({ kind: "docker" });
  });

  test("that isn't installed, isn't running, or is something else is named, with what to do", async () => {
    const stopped = `echo '{"Client":{"Version":"28.2.2"}}'; echo 'Cannot connect to the Docker daemon' >&2; exit 1`;
    const denied = "echo 'permission denied while trying to connect to the daemon' >&2; exit 1";
    const cases: readonly (readonly [string, string, string])[] = [
      ["/no/such/docker", "isn't installed", "Is it installed"],
      [await program(stopped), "Cannot connect to the Docker daemon", "Is it running?"],
      [await program(denied), "permission denied", "may not use it"],
      [await program("echo hello"), "neither docker nor podman", "Is it running?"],
    ];
    for (const [engine, reason, hint] of cases) {
      expect(await failureOf(() => findEngine({ engine: [engine] }, undefined, none))).toEqual(
        tesseractError("ENGINE_UNAVAILABLE", reason, hint),
      );
    }
  });

  test("that says nothing is given up when the caller gives up", async () => {
    const waiting = new AbortController();
    const found = findEngine({ engine: await program("exec sleep 600") }, waiting.signal, none);
    waiting.abort();
    expect(await failureOf(() => found)).toEqual(tesseractError("ABORTED"));
  });
});

describe("an image", () => {
  const inspecting = async (script: string): Promise<Engine> => new Engine([await program(script)], "docker", "1");

  test("that isn't there is told apart from an engine that fails", async () => {
    const missing = await inspecting("echo 'Error: No such image: heat' >&2; exit 1");
    expect(await failureOf(() => inspectImage(missing, "heat"))).toEqual(tesseractError("IMAGE_NOT_FOUND", '"heat"'));
    const failing = await inspecting("echo 'Error: disk I/O error' >&2; exit 1");
    expect(await failureOf(() => inspectImage(failing, "heat"))).toEqual(tesseractError("ENGINE_FAILED", "disk I/O"));
  });

  test("that is no Tesseract's, or whose name would be an option, is refused", async () => {
    const other = await inspecting(`echo '[{"Id":"1","Config":{"Env":["PATH=/bin"]}}]'`);
    expect(await failureOf(() => inspectImage(other, "debian"))).toEqual(tesseractError("IMAGE_INVALID", "debian"));
    expect(await failureOf(() => fromImage("--privileged", { engine: other.command }))).toEqual(
      tesseractError("ENGINE_UNAVAILABLE"),
    );
    expect(await failureOf(() => inspectImage(other, "--privileged"))).toEqual(tesseractError("INVALID_ARGUMENT"));
  });
});

describe("what an engine says when it can't run a container", () => {
  const engine = new Engine(["docker"], "docker", "28.2.2");
  const heat = { image: "heat", ipc: "host" };
  test.each([
    [125, 'could not select device driver "" with capabilities: [[gpu]]', "ENGINE_FAILED", "nvidia-ctk"],
    [126, "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "ENGINE_FAILED", "nvidia-ctk"],
    [125, "cannot share the host's IPC namespace when user namespaces are enabled", "ENGINE_FAILED", "--userns=host"],
    [127, 'exec: "tesseract": executable file not found in $PATH', "IMAGE_INVALID", "entrypoint"],
    [1, "exec /usr/bin/node: exec format error", "IMAGE_INVALID", "processor"],
    [125, "Error: unable to find network with name or ID n: network not found", "ENGINE_FAILED", "network not found"],
    [137, "", "START_FAILED", "memory"],
  ])("is understood: status %i, %s", (status, words, code, part) => {
    const meaning = meaningOf(engine, heat, status, [words]);
    expect(meaning?.code).toBe(code);
    expect(`${meaning?.message} ${meaning?.hint}`).toContain(part);
  });

  test("is nothing where the Tesseract itself ended", () => {
    expect(meaningOf(engine, heat, 1, ["ValueError: no"])).toBeUndefined();
  });

  test("is its last words", () => {
    expect(lastWords("a\nError: b\n\nSee 'docker run --help'.\n")).toBe("b");
  });
});
