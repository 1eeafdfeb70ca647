// The inputs and outputs of the fixtures, as far as the tests need them typed.

import type { HostArray, InputTree } from "@tesseract-ts/core";

export interface Identity {
  readonly inputs: { readonly arrays?: readonly unknown[]; readonly named?: Readonly<Record<string, unknown>> };
  readonly outputs: { readonly arrays: HostArray[]; readonly named: Record<string, HostArray> };
}

export interface Faults {
  readonly inputs: {
    readonly action?: "return" | "raise" | "sleep" | "exit" | "wrong" | "print";
    readonly seconds?: number;
    readonly message?: string;
    readonly x?: unknown;
  };
  readonly outputs: { readonly y: HostArray<"float64">; readonly calls: number };
}

export interface Leaf {
  readonly x: HostArray;
  readonly label: string;
}

export interface Trees {
  readonly inputs: InputTree;
  readonly outputs: {
    readonly branch: { readonly left: Leaf; readonly right: Leaf | null };
    readonly stack: readonly HostArray[];
    readonly leaves: readonly Leaf[];
    readonly pair: readonly [HostArray, HostArray] | null;
    readonly params: Readonly<Record<string, HostArray>>;
    readonly models: Readonly<Record<string, Leaf>>;
    readonly grid: Readonly<Record<string, readonly (readonly HostArray[])[]>>;
    readonly maybe: HostArray | null;
    readonly preset: HostArray;
    readonly array_or_text: HostArray | string;
    readonly shape: unknown;
    readonly text: string;
    readonly count: number | bigint;
    readonly big_count: HostArray<"int64">;
    readonly ratio: number;
    readonly flag: boolean;
    readonly mode: "fast" | "exact";
    readonly notes: Readonly<Record<string, unknown>>;
    readonly keys: readonly string[];
  };
}
