/** Where endpoints run: on the event loop, or in threads. */
import type { EncodedPlace, EndpointContext, Runner, RunnerAnswer, RunnerRoute } from "@tesseract-ts/inprocess";
import type { DecodedArray } from "../calls/decode-request.js";
import type { CallEnding } from "../calls/ending.js";
import { printingTo, watchPrinting } from "../calls/printing.js";
import type { Run } from "../calls/run.js";

export interface EndpointCall {
  readonly route: RunnerRoute;
  readonly payload: unknown;
  readonly places: readonly EncodedPlace[];
  /** For each of `places`. */
  readonly arrays: readonly DecodedArray[];
  readonly run: Run;
  readonly ending: CallEnding;
}

export interface Endpoints {
  /**
   * Runs an endpoint. It settles when the endpoint uses nothing of the call any more, which may be later than its end.
   *
   * @throws as `Runner.run` does
   */
  run(call: EndpointCall): Promise<RunnerAnswer>;
  close(): Promise<void>;
}

/** On the event loop: for endpoints that wait rather than compute, and for short ones. */
export class EventLoopEndpoints implements Endpoints {
  private readonly stopWatching = watchPrinting();

  constructor(private readonly runner: Runner) {}

  run({ route, payload, places, arrays, run, ending }: EndpointCall): Promise<RunnerAnswer> {
    for (let index = 0; index < places.length; index++) {
      (places[index] as EncodedPlace).put(arrays[index] as DecodedArray);
    }
    const context = new RunContext(run, ending);
    return printingTo(run, () => this.runner.run({ route, payload, context, ownsInputs: true }));
  }

  async close(): Promise<void> {
    this.stopWatching();
  }
}

class RunContext implements EndpointContext {
  constructor(
    private readonly run: Run,
    private readonly ending: CallEnding,
  ) {}

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  get runId(): string {
    return this.run.id;
  }

  // Bound, since endpoints take them apart: ({ x }, { log }) => …
  readonly outputDirectory = (): Promise<string> => this.run.outputDirectory();

  readonly log = (message: string): void => this.run.log(message);
}
