/** Whether an engine's containers can share memory with this process at all. */
import type { Engine, EngineCall } from "./engine.js";

interface Info {
  readonly OperatingSystem?: string;
  readonly host?: { readonly serviceIsRemote?: boolean };
}

/** @returns why not, as the end of a sentence */
export async function whyMemoryIsNotShared(engine: Engine, call: EngineCall = {}): Promise<string | undefined> {
  if (process.platform !== "linux") return `on ${process.platform} it runs containers in a virtual machine`;
  const { status, stdout } = await engine.run(["info", "--format", "{{json .}}"], call);
  if (status !== 0) return undefined;
  let info: Info;
  try {
    info = JSON.parse(stdout) as Info;
  } catch {
    return undefined;
  }
  if (info.OperatingSystem?.startsWith("Docker Desktop") === true)
    return "Docker Desktop runs containers in a virtual machine";
  return info.host?.serviceIsRemote === true ? "it runs containers on another machine" : undefined;
}
