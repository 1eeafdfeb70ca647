/** Where endpoints run: on the event loop, or in threads. */
import type { EncodedPlace, Runner, RunnerAnswer, RunnerRoute } from "@tesseract-ts/inprocess";
import type { DecodedArray } from "../calls/decode-request.js";
import type { Run } from "../calls/run.js";

export interface EndpointCall {
  readonly route: RunnerRoute;
  readonly payload: unknown;
  readonly places: readonly EncodedPlace[];
  /** For each of `places`. */
  readonly arrays: readonly DecodedArray[];
  readonly run: Run;
  readonly signal: AbortSignal;
}

export interface Endpoints {
  /**
   * Runs an endpoint. It settles when the endpoint uses nothing of the call any more, which may be later than the signal.
   *
   * @throws as `Runner.run` does
   */
  run(call: EndpointCall): Promise<RunnerAnswer>;
  close(): Promise<void>;
}

/** On the event loop: for endpoints that wait rather than compute, and for short ones. */
export class EventLoopEndpoints implements Endpoints {
  constructor(private readonly runner: Runner) {}

  run({ route, payload, places, arrays, run, signal }: EndpointCall): Promise<RunnerAnswer> {
    for (let index = 0; index < places.length; index++) {
      (places[index] as EncodedPlace).put(arrays[index] as DecodedArray);
    }
    const context = {
      signal,
      runId: run.id,
      outputDirectory: () => run.outputDirectory(),
      log: (message: string) => run.log(message),
    };
    return this.runner.run({ route, payload, context, ownsInputs: true });
  }

  async close(): Promise<void> {}
}
