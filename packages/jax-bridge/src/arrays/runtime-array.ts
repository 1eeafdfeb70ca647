/** An array while a program runs: one owner, several forms, each made when it is first asked for. */
import { type CudaArray, dtypeOfTypestr, type HostArray, makeHostArray } from "@tesseract-ts/core";
import { programError } from "../errors.js";
import type { JaxArray } from "../jax.js";
import { jax } from "../jax.js";
import { type Aval, aval, avalOf, isFloating } from "./aval.js";
import { castHost, hostFromJax, jaxFromHost } from "./convert.js";

type Form =
  | { readonly kind: "jax"; readonly array: JaxArray }
  | { readonly kind: "host"; readonly array: HostArray }
  | { readonly kind: "cuda"; readonly array: CudaArray; readonly owned: boolean }
  | { readonly kind: "number"; readonly value: number | boolean };

/**
 * Owns what it was made of: a reference to a jax-js array, and a CUDA array where it is told so. Arrays in the host's
 * memory need no owner.
 */
export class RuntimeArray {
  private jaxForm: Promise<JaxArray> | undefined;
  private hostForm: Promise<HostArray> | undefined;
  private disposed = false;

  private constructor(
    private readonly form: Form,
    readonly aval: Aval,
  ) {}

  /** Takes over one reference. */
  static ofJax(array: JaxArray): RuntimeArray {
    return new RuntimeArray({ kind: "jax", array }, avalOf(array));
  }

  static ofHost(array: HostArray): RuntimeArray {
    return new RuntimeArray({ kind: "host", array }, aval(array.shape, array.dtype));
  }

  static ofCuda(array: CudaArray, owned: boolean): RuntimeArray {
    const { shape, typestr } = array.cudaArrayInterface;
    return new RuntimeArray({ kind: "cuda", array, owned }, aval(shape, dtypeOfTypestr(typestr)));
  }

  /** A plain number, which jax-js takes for a scalar of float32 that gives way, and a Tesseract gets as it is. */
  static ofNumber(value: number | boolean): RuntimeArray {
    const boolean = typeof value === "boolean";
    return new RuntimeArray({ kind: "number", value }, aval([], boolean ? "bool" : "float32", !boolean));
  }

  get cuda(): CudaArray | undefined {
    return this.form.kind === "cuda" ? this.form.array : undefined;
  }

  get kind(): "jax" | "host" | "cuda" {
    return this.form.kind === "number" ? "host" : this.form.kind;
  }

  /** A reference of the caller's own, at once. Within a trace, what was made of may be one of its values. */
  jaxNow(): JaxArray {
    const { form } = this;
    switch (form.kind) {
      case "jax":
        return form.array.ref;
      case "host":
        return jaxFromHost(form.array);
      case "number":
        return jax().numpy.array(form.value as number);
      case "cuda":
        throw programError("INVALID_ARRAY", "A GPU array can't be computed with while a function is traced", {
          hint: "Make it an argument of the program.",
        });
    }
  }

  /** What it was made of. */
  get original(): object | number | boolean {
    return this.form.kind === "number" ? this.form.value : this.form.array;
  }

  /** Another owner's handle of the same elements. */
  async share(): Promise<RuntimeArray> {
    const { form } = this;
    switch (form.kind) {
      case "jax":
        return RuntimeArray.ofJax(form.array.ref);
      case "host":
        return RuntimeArray.ofHost(form.array);
      case "number":
        return RuntimeArray.ofNumber(form.value);
      case "cuda":
        // A CUDA array has one owner; whoever took it first is that.
        return RuntimeArray.ofCuda(form.array, false);
    }
  }

  /** A reference of the caller's own. */
  async jax(): Promise<JaxArray> {
    this.jaxForm ??= this.makeJax();
    return (await this.jaxForm).ref;
  }

  /** It stays as it is; nobody writes to it. */
  host(): Promise<HostArray> {
    this.hostForm ??= this.makeHost();
    return this.hostForm;
  }

  /** Ends it, and waits for what is being made of it. */
  async dispose(): Promise<void> {
    if (this.disposed) return;
    this.disposed = true;
    if (this.form.kind === "jax") {
      // Reading takes a reference of its own as soon as it begins.
      this.form.array.dispose();
    } else if (this.jaxForm !== undefined) {
      const made = await this.jaxForm.catch(() => undefined);
      made?.dispose();
    }
    if (this.form.kind === "cuda" && this.form.owned) {
      await this.hostForm?.catch(() => undefined);
      disposeCuda(this.form.array);
    }
  }

  private async makeJax(): Promise<JaxArray> {
    if (this.form.kind === "jax") return this.form.array;
    if (this.form.kind === "number") return jax().numpy.array(this.form.value as number);
    return jaxFromHost(await this.host());
  }

  private async makeHost(): Promise<HostArray> {
    const { form } = this;
    switch (form.kind) {
      case "host":
        return form.array;
      case "number":
        return typeof form.value === "boolean"
          ? makeHostArray("bool", [], Uint8Array.of(Number(form.value)))
          : makeHostArray("float64", [], Float64Array.of(form.value));
      case "jax":
        return hostFromJax(form.array.ref);
      case "cuda":
        return copiedToHost(form.array);
    }
  }
}

/** A copy that nobody asked for in so many words, so the environment may forbid it. */
export async function copiedToHost(
  array: CudaArray,
  options: { readonly signal?: AbortSignal } = {},
): Promise<HostArray> {
  const { process } = globalThis as {
    readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  };
  const forbidden = process?.env?.TESSERACT_FORBID_DEVICE_HOST_COPY?.toLowerCase();
  if (forbidden === "1" || forbidden === "true") {
    throw programError("HOST_COPY_FORBIDDEN", "A program would copy a GPU array to the host, which is forbidden here", {
      hint:
        "jax-js has no CUDA device: keep jax-js out of the way between two Tesseracts (explain() names the stage), or " +
        "unset TESSERACT_FORBID_DEVICE_HOST_COPY.",
    });
  }
  if (array.copyToHost === undefined) {
    throw programError("INVALID_ARRAY", "A GPU array has no copyToHost(), so a program can't compute with it", {
      hint: "Give it a method copyToHost() that resolves to a HostArray.",
    });
  }
  return array.copyToHost(options);
}

export function disposeCuda(array: CudaArray): void {
  const { dispose } = array as { readonly dispose?: unknown };
  if (typeof dispose === "function") dispose.call(array);
}

/** An array in the host's memory as an endpoint gave it, in the floating-point dtype that was announced. */
export function inDType(array: HostArray, dtype: Aval["dtype"]): HostArray {
  if (array.dtype === dtype) return array;
  if (!isFloating({ dtype }) || !isFloating(array)) return array;
  return castHost(array, dtype as "float16" | "float32" | "float64");
}
