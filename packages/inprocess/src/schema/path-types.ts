/** The paths of a schema's differentiable arrays, as types. */
import type { DType, HostArray } from "@tesseract-ts/core";
import type { z } from "zod";
import type { DifferentiableBrand } from "./array.js";

type Join<Path extends string, Part extends string> = Path extends "" ? Part : `${Path}.${Part}`;

interface Entry<Path extends string, D extends DType> {
  readonly path: Path;
  readonly array: HostArray<D>;
}

/** What may stand around a schema without changing its path: all that a definition takes. */
type Wrapper<Inner extends z.core.$ZodType> =
  | z.ZodOptional<Inner>
  | z.ZodNonOptional<Inner>
  | z.ZodNullable<Inner>
  | z.ZodDefault<Inner>
  | z.ZodPrefault<Inner>
  | z.ZodReadonly<Inner>;

/** A union with one {@link Entry} for each differentiable array; `[3]` and `{key}` are patterns. */
export type DifferentiableEntries<S, Path extends string = ""> =
  S extends DifferentiableBrand<infer D>
    ? Entry<Path, D>
    : S extends z.ZodObject<infer Shape>
      ? { [K in keyof Shape & string]: DifferentiableEntries<Shape[K], Join<Path, K>> }[keyof Shape & string]
      : S extends z.ZodArray<infer Item>
        ? DifferentiableEntries<Item, Join<Path, `[${number}]`>>
        : S extends z.ZodTuple<infer Items>
          ? DifferentiableEntries<Items[number], Join<Path, `[${number}]`>>
          : S extends z.ZodRecord<infer _Key, infer Value>
            ? DifferentiableEntries<Value, Join<Path, `{${string}}`>>
            : S extends z.ZodUnion<infer Options>
              ? DifferentiableEntries<Options[number], Path>
              : S extends Wrapper<infer Inner>
                ? DifferentiableEntries<Inner, Path>
                : never;

/** The paths of a schema's differentiable arrays: `"x" | "layers.[${number}].weights" | "params.{${string}}"`. */
export type DifferentiablePath<S> = DifferentiableEntries<S>["path"];

type IsUnion<T, All = T> = T extends unknown ? ([All] extends [T] ? false : true) : never;

/** Whether there is exactly one path, and not a pattern of many. */
type IsSingle<Path extends string> = [Path] extends [never]
  ? false
  : true extends IsUnion<Path>
    ? false
    : Path extends `${string}[${number}]${string}` | `${string}{${string}}${string}`
      ? false
      : true;

type ByPath<Entries extends Entry<string, DType>> = { readonly [E in Entries as E["path"]]: E["array"] };

/**
 * Arrays by the paths that a call asks for. A call asks for at least one, so where a schema has but one, it is there.
 */
export type ArraysOf<S> =
  IsSingle<DifferentiablePath<S>> extends true
    ? ByPath<DifferentiableEntries<S>>
    : Partial<ByPath<DifferentiableEntries<S>>>;

/** Values by the paths that a call asks for. */
export type ByPathOf<S, Value> =
  IsSingle<DifferentiablePath<S>> extends true
    ? { readonly [P in DifferentiablePath<S>]: Value }
    : { readonly [P in DifferentiablePath<S>]?: Value };
