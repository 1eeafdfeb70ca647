/** A connection to a container, which knows what keeps GPU arrays from crossing: how the container was started. */
import {
  type Backend,
  type BackendCall,
  type CallOptions,
  type GpuTransportExplanation,
  type OpenApiSchema,
  type RequestedEncoding,
  type ServerCapabilities,
  TesseractError,
} from "@tesseract-ts/core";
import type { ContainerSettings } from "./run-arguments.js";

type Namespaces = Pick<ContainerSettings, "ipc" | "pid" | "gpus">;

export class DiagnosedBackend implements Backend {
  constructor(
    private readonly backend: Backend,
    private readonly namespaces: Namespaces,
  ) {}

  get openapiSchema(): OpenApiSchema {
    return this.backend.openapiSchema;
  }

  get serverCapabilities(): ServerCapabilities | undefined {
    return this.backend.serverCapabilities;
  }

  get defaultEncoding(): RequestedEncoding {
    return this.backend.defaultEncoding;
  }

  checkEncoding(requested: RequestedEncoding): void {
    this.backend.checkEncoding(requested);
  }

  async resolveGpuTransport(requested: string | undefined, options: CallOptions): Promise<string> {
    try {
      return await this.backend.resolveGpuTransport(requested, options);
    } catch (error) {
      if (!(error instanceof TesseractError) || error.code !== "TRANSPORT_UNUSABLE") throw error;
      const hint = [whatIsNotShared(this.namespaces), error.hint].filter((part) => part !== undefined).join(" ");
      throw new TesseractError(error.code, error.message, { hint, cause: error });
    }
  }

  async explainGpuTransport(requested: string | undefined, options: CallOptions): Promise<GpuTransportExplanation> {
    const explanation = await this.backend.explainGpuTransport(requested, options);
    const checks = explanation.checks.map((check) => {
      const hint = check.outcome === "failed" ? whatIsNotShared(this.namespaces) : undefined;
      return hint === undefined ? check : { ...check, hint };
    });
    return { ...explanation, checks };
  }

  call(call: BackendCall): Promise<unknown> {
    return this.backend.call(call);
  }

  close(): Promise<void> {
    return this.backend.close();
  }
}

/** What a container needs for "cuda_ipc" and wasn't given, as a hint. */
export function whatIsNotShared({ ipc, pid, gpus }: Namespaces): string | undefined {
  if (ipc !== "host") {
    const own = ipc === undefined || ipc === "private" ? "of its own" : `"${ipc}"`;
    return `The container has an IPC namespace ${own}, where the CUDA driver can't open what this process exports: start it with ipc: "host", as it is started for gpuTransport "cuda_ipc" if \`ipc\` is left out.`;
  }
  if (gpus?.length === 0) return 'The container was given no GPUs: start it with gpus: ["all"].';
  if (pid !== "host") return 'Some CUDA drivers insist on one PID namespace: start the container with pid: "host" too.';
  return undefined;
}
