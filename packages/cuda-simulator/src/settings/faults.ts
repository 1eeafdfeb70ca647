/** Faults on demand, as data and as the text that the simulator reads. */
import { CudaSimulatorError } from "../errors.js";
import { FUNCTIONS } from "./functions.js";
import { type Duration, durationText, nanoseconds } from "./quantities.js";

interface Where {
  /** The function, without the version at its end (`cuMemAlloc`, not `cuMemAlloc_v2`); `*` stands for any letters. */
  readonly call: string;
  /** Which of the process's calls of it, from 1 on, or every one. The first, if left out. */
  readonly nth?: number | "every";
}

/** What befalls a call. */
export type Fault =
  /**
   * The call returns this CUDA error and does nothing. With `async` it succeeds, and the work that it queued fails
   * later.
   */
  | (Where & { readonly code: number; readonly async?: boolean })
  /** The call takes this much longer. */
  | (Where & { readonly stall: Duration })
  /** The process is killed in the call (SIGKILL). */
  | (Where & { readonly die: true });

const GRAMMAR =
  "a fault is [async:]FUNCTION@N=CODE, FUNCTION@N=stall:TIME or FUNCTION@N=die, where N is a number from 1 on or *";

/**
 * The faults as the value of `CUDA_SIMULATOR_FAULTS`.
 *
 * @throws CudaSimulatorError INVALID_OPTION: a fault that could never happen, such as one of a function that isn't there
 */
export const faultsText = (faults: readonly Fault[]): string => faults.map(faultText).join(",");

/** One fault as text: `{ call: "cuMemAlloc", nth: 3, code: 2 }` is `cuMemAlloc@3=2`. */
export function faultText(fault: Fault): string {
  checkFunction(fault.call);
  const nth = fault.nth ?? 1;
  if (nth !== "every" && !(Number.isSafeInteger(nth) && nth >= 1)) {
    throw wrong(`nth is ${String(nth)}; it must be a whole number from 1 on, or "every"`);
  }
  const where = `${fault.call}@${nth === "every" ? "*" : nth}`;
  const effects = (["code", "stall", "die"] as const).filter((effect) => effect in fault);
  if (effects.length !== 1)
    throw wrong(`a fault has one of code, stall and die, not ${effects.length || "none"} of them`);
  if ("stall" in fault) return `${where}=stall:${durationText(fault.stall, "A fault's stall")}`;
  if ("die" in fault) return `${where}=die`;
  if (!Number.isInteger(fault.code) || fault.code < 1 || fault.code > 999) {
    throw wrong(`code is ${fault.code}; a CUDA error is a number from 1 to 999`);
  }
  return `${fault.async === true ? "async:" : ""}${where}=${fault.code}`;
}

/**
 * A fault that was written as text.
 *
 * @throws CudaSimulatorError INVALID_OPTION
 */
export function parseFault(text: string): Fault {
  const match = /^(async:)?([^@=,]+)@(\*|\d+)=(?:(\d+)|stall:([^,]+)|(die))$/.exec(text);
  if (match === null) throw wrong(`'${text}' can't be read: ${GRAMMAR}`);
  const [, async, call = "", count, code, stall] = match;
  const where = { call, nth: count === "*" ? ("every" as const) : Number(count) };
  if (async !== undefined && code === undefined) throw wrong(`'${text}' can't be read: only a CODE can be async`);
  if (stall !== undefined && nanoseconds(stall) === undefined) {
    throw wrong(`'${text}' can't be read: ${stall} is no time; write 500us, 5ms or 2s`);
  }
  let fault: Fault;
  if (code !== undefined) fault = { ...where, code: Number(code), ...(async !== undefined && { async: true }) };
  else fault = stall !== undefined ? { ...where, stall } : { ...where, die: true };
  faultText(fault);
  return fault;
}

/** A misspelt function would be a fault that never happens, and a test that passes for it. */
function checkFunction(pattern: string): void {
  if (!/^[A-Za-z0-9_*]+$/.test(pattern)) throw wrong(`'${pattern}' is no name of a function`);
  const unversioned = pattern.replace(/_v\d+$/, "");
  if (unversioned !== pattern)
    throw wrong(`write ${unversioned} for ${pattern}: functions are named without a version`);
  const matches = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
  if (!FUNCTIONS.some((name) => matches.test(name))) {
    throw wrong(`the simulator has no function ${pattern}, so that it could never happen`);
  }
}

const wrong = (problem: string): CudaSimulatorError => new CudaSimulatorError("INVALID_OPTION", `Fault: ${problem}`);
