// A pendulum that is damped and driven, and how fast two of its motions part: its largest Lyapunov exponent, above 0 where it is
// chaotic (G. L. Baker, J. P. Gollub: Chaotic Dynamics, chapter 3).
//
//     d2a/dt2 = -sin(a) - (da/dt) / 2 + drive cos(2 t / 3)
//
// By Runge-Kutta steps of fourth order for the motion and for a small difference along it, whose growth is measured once a period.

import { setImmediate as turnOfOthers } from "node:timers/promises";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

const DAMPING = 0.5;
const FREQUENCY = 2 / 3;
const PERIOD = (2 * Math.PI) / FREQUENCY;
const STEPS_OF_A_PERIOD = 200;
/** Periods at first that aren't counted: the motion hasn't settled. */
const SETTLING = 20;
/** Periods after which others have their turn: some milliseconds. */
const TURN = 20;

export default defineTesseract({
  name: "pendulum",
  inputs: z.object({
    drive: z.number().describe("How strongly it is driven."),
    periods: z.int().min(1).max(100_000).default(400).describe("Periods of the drive that are counted."),
  }),
  outputs: z.object({
    exponent: array("float64", []).describe("The largest Lyapunov exponent, by unit of time."),
    pid: z.int().describe("The process that has computed it."),
  }),
  apply: async ({ drive, periods }, { signal }) => {
    const h = PERIOD / STEPS_OF_A_PERIOD;
    let state: State = { angle: 0.2, speed: 0, da: 1, ds: 0 };
    let growth = 0;
    for (let period = 0; period < SETTLING + periods; period++) {
      // So that the process still answers meanwhile, if only that it is busy, and hears that a caller has gone.
      if (period % TURN === 0) await turnOfOthers();
      signal.throwIfAborted();
      for (let step = 0; step < STEPS_OF_A_PERIOD; step++) state = rungeKutta(state, step * h, h, drive);
      const length = Math.hypot(state.da, state.ds);
      if (period >= SETTLING) growth += Math.log(length);
      state.da /= length;
      state.ds /= length;
    }
    return { exponent: growth / (periods * PERIOD), pid: process.pid };
  },
});

/** The motion, and a small difference from it. */
interface State {
  angle: number;
  speed: number;
  da: number;
  ds: number;
}

function change({ angle, speed, da, ds }: State, time: number, drive: number): State {
  return {
    angle: speed,
    speed: -Math.sin(angle) - DAMPING * speed + drive * Math.cos(FREQUENCY * time),
    da: ds,
    ds: -Math.cos(angle) * da - DAMPING * ds,
  };
}

function moved(state: State, by: State, h: number): State {
  return {
    angle: state.angle + h * by.angle,
    speed: state.speed + h * by.speed,
    da: state.da + h * by.da,
    ds: state.ds + h * by.ds,
  };
}

function rungeKutta(state: State, time: number, h: number, drive: number): State {
  const k1 = change(state, time, drive);
  const k2 = change(moved(state, k1, h / 2), time + h / 2, drive);
  const k3 = change(moved(state, k2, h / 2), time + h / 2, drive);
  const k4 = change(moved(state, k3, h), time + h, drive);
  return moved(moved(moved(moved(state, k1, h / 6), k2, h / 3), k3, h / 3), k4, h / 6);
}
