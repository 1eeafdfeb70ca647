/** The types of functions that become programs. */
import type { CudaArray, HostArray, TypedArray } from "@tesseract-ts/core";
import type { JaxArray } from "../jax.js";

/** What a program can be given where its function has an array. */
export type AnyArray = JaxArray | HostArray | TypedArray | CudaArray | number | boolean;

/** A function of jax-js that may call Tesseracts: trees of arrays in, a tree of arrays out. */
export type ProgramFunction = (...args: never[]) => unknown;

/** A tree with any arrays in place of jax-js's. */
export type Given<T> = T extends JaxArray | HostArray | TypedArray | CudaArray
  ? AnyArray
  : T extends readonly unknown[]
    ? { [K in keyof T]: Given<T[K]> }
    : T extends object
      ? { [K in keyof T]: Given<T[K]> }
      : T;

export type ArgumentsOf<F extends ProgramFunction> = Given<Parameters<F>> extends infer A extends unknown[] ? A : never;

/** A value at once inside a program, a promise of it outside. */
export type Both<T> = T & Promise<T>;

/** Arguments of these types, with any arrays. */
export type GivenList<A extends readonly unknown[]> = { [K in keyof A]: Given<A[K]> };

/** What a function gives inside a program. */
export type ResultOf<F extends ProgramFunction> = Inside<ReturnType<F>>;

export type Inside<T> = T extends Promise<infer R> ? R : T;

/** A function that is a program when it is called. */
export type ProgramCall<A extends unknown[], R> = (...args: A) => Both<R>;
