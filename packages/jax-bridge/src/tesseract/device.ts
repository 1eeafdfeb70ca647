/** Where a program's arrays are, and how they get there. */
import type { CallOptions, CudaArray, HostArray, Tesseract } from "@tesseract-ts/core";
import { programError } from "../errors.js";
import { tesseractKey } from "./call-spec.js";
import type { Device, ToDevice } from "./options.js";

/** What core adds to `Tesseract` for GPU arrays. */
interface ResolvesGpuTransport {
  resolveGpuTransport?(options?: CallOptions): Promise<string>;
}

/** One run's answers: each Tesseract is asked once. */
export class Placement {
  private readonly views = new Map<string, Promise<Tesseract>>();
  private readonly transports = new Map<string, string>();

  constructor(
    readonly device: Device,
    private readonly toDeviceOption: ToDevice | undefined,
    /** A CUDA array of the caller's, whose kind the outputs are to have. */
    private readonly example: CudaArray | undefined,
  ) {}

  /** The Tesseract with the encoding that its arrays travel by. */
  view(tesseract: Tesseract, options: CallOptions): Promise<Tesseract> {
    const key = tesseractKey(tesseract);
    let view = this.views.get(key);
    if (view === undefined) {
      view = this.makeView(tesseract, key, options);
      this.views.set(key, view);
    }
    return view;
  }

  /** Whether arrays of this Tesseract stay on the device, once its view is there. */
  staysOnDevice(tesseract: Tesseract): boolean {
    return this.device === "cuda" && this.transports.get(tesseractKey(tesseract)) !== "none";
  }

  private async makeView(tesseract: Tesseract, key: string, options: CallOptions): Promise<Tesseract> {
    const { gpuTransport } = tesseract.currentEncoding;
    if (this.device === "cpu") {
      // Nothing is asked: where no transport was requested, none is used.
      return gpuTransport === undefined || gpuTransport === "none"
        ? tesseract
        : tesseract.withEncoding({ gpuTransport: "none" });
    }
    const { resolveGpuTransport } = tesseract as ResolvesGpuTransport;
    const resolved =
      resolveGpuTransport === undefined ? (gpuTransport ?? "none") : await resolveGpuTransport.call(tesseract, options);
    this.transports.set(key, resolved);
    return tesseract.withEncoding({ gpuTransport: resolved });
  }

  /** Whether it is known how arrays get to the device. */
  get canUpload(): boolean {
    return this.place !== undefined;
  }

  private get place(): ToDevice | undefined {
    return this.toDeviceOption ?? placementOf(this.example);
  }

  /** An array on the device with the same elements. */
  async toDevice(array: HostArray): Promise<CudaArray> {
    const { place } = this;
    if (place === undefined) {
      throw programError(
        "TRANSPORT_UNUSABLE",
        "An output went through the host, and can't be brought to the CUDA device",
        {
          hint: 'Pass { toDevice: DeviceArray.fromHost } of @tesseract-ts/transport-cuda-ipc, or { device: "cpu" }.',
        },
      );
    }
    return place(array);
  }
}

/** Arrays of a class with `fromHost` can be made on the device of one of them: DeviceArray is such a class. */
function placementOf(example: CudaArray | undefined): ToDevice | undefined {
  const made = example?.constructor as { readonly fromHost?: unknown } | undefined;
  const fromHost = made?.fromHost;
  if (example === undefined || typeof fromHost !== "function") return undefined;
  const { device } = example;
  return async (array) => (await fromHost.call(made, array, device === undefined ? {} : { device })) as CudaArray;
}
