// Requests, good and bad, that a Tesseract answers alike in Python and in TypeScript.

export type FixtureName = "arrays" | "limits" | "plain" | "trees" | "vectors";

export interface Payload {
  readonly fixture: FixtureName;
  readonly route: string;
  /** JSON, with bigints for whole numbers that a double can't hold. */
  readonly body: unknown;
}

const encoded = (shape: unknown, dtype: unknown, buffer: unknown, more: object = {}): object => ({
  object_type: "array",
  shape,
  dtype,
  data: { encoding: "json", buffer },
  ...more,
});
const base64 = (shape: unknown, dtype: unknown, buffer: unknown, more: object = {}): object => ({
  object_type: "array",
  shape,
  dtype,
  data: { encoding: "base64", buffer, ...more },
});

const arrays = (...inputs: readonly object[]): Payload[] =>
  inputs.map((given) => ({ fixture: "arrays", route: "apply", body: { inputs: given } }));

const plainLists: Payload[] = arrays(
  ...[
    1,
    1.5,
    true,
    "1.5",
    "x",
    null,
    [],
    [1, 2],
    [1.5],
    [true, false],
    [true, 1],
    [true, 2.5],
    [1, "a"],
    [null],
    [1, null],
  ].map((float64) => ({ float64 })),
  ...[[[1], [1, 2]], [[1, 2], 3], [[]], [[], []], [{}], { a: 1 }, {}, [[], 1], [["a"], "b"]].map((float64) => ({
    float64,
  })),
  ...[
    [2n ** 63n],
    [2n ** 63n, -1],
    [2n ** 64n],
    2n ** 63n,
    2n ** 70n,
    [2n ** 64n - 1n],
    [-(2n ** 63n)],
    [-(2n ** 63n) - 1n],
  ].map((float64) => ({ float64 })),
  ...[1, 1.5, true, [1, 2], [300], [-1], [-129], [true], [2n ** 63n], [], [1.5]].map((int8) => ({ int8 })),
  ...[1, 0, true, 1.5, [true, false], []].map((bool) => ({ bool })),
  ...[1, [1.5], true, [1e39], [1e300], "1+2j", ["1+2j"], [-2]].map((complex64) => ({ complex64 })),
  ...[[1e39], [1e5], [3.5e38], [-1e39], [1e-50], [16777217]].map((float32) => ({ float32 })),
  ...[[70000.5], [1e-10], [65504], [65519], [65520], [-70000], 2049].map((float16) => ({ float16 })),
  { uint8: [-1, 256] },
  { uint8: [0, 255] },
  { uint16: [65536] },
  { uint32: [4294967295] },
  { int16: [-32768, 32767] },
  { int32: [2147483648] },
  { uint64: [-1] },
  { uint64: [2n ** 63n] },
  { uint64: [2n ** 64n - 1n] },
  { int64: [2n ** 63n] },
  { int64: [2n ** 53n + 1n, -(2n ** 63n)] },
  { scalar: [1] },
  { scalar: [] },
  { scalar: 2 },
  { scalar: true },
  { vector: 2 },
  { vector: [[1]] },
  { vector: [] },
  { matrix: [[1, 2, 3]] },
  { matrix: [[1], [2]] },
  { matrix: [[1]] },
  { matrix: [[1, 2]] },
  {
    matrix: [
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
    ],
  },
  { matrix: [] },
  { matrix: [[]] },
  { columns: [[1]] },
  { columns: [[1], [2]] },
  { columns: [[1, 2]] },
  { columns: [] },
  { columns: [[]] },
  { columns: [[1.5, 1, 1]] },
  { rank5: [[[[[1]]]]] },
  { rank5: [[[[1]]]] },
  { unknown: 1 },
  { float64: [1], nothing: null, int8: "x" },
);

const encodedArrays: Payload[] = arrays(
  ...[
    encoded([2], "float64", [1, 2]),
    encoded([2], "float32", [1, 2]),
    encoded([2], "int8", [1, 2]),
    encoded([2], "complex64", [1, 2]),
    encoded([3], "float64", [1, 2]),
    encoded([1, 2], "float64", [[1, 2]]),
    encoded([2], "float64", [1, 2], { extra: 1 }),
    encoded([2], "float99", [1, 2]),
    encoded([-1], "float64", [1, 2]),
    encoded([2.5], "float64", [1, 2]),
    encoded(["2"], "float64", [1, 2]),
    encoded(2, "float64", [1, 2]),
    encoded(null, "float64", [1, 2]),
    encoded([2], "float64", ["1", "2"]),
    encoded([2], "float64", ["a", "2"]),
    encoded([2], "float64", [1, null]),
    encoded([2], "int8", [1.5, 1]),
    encoded([2], "int8", [300, 1]),
    encoded([2], "int8", [null, 1]),
    encoded([2], "int8", ["1", 1]),
    encoded([2], "float64", [[1], [2]]),
    encoded([2], "float64", [[1], [2, 3]]),
    encoded([2], "float64", "ab"),
    encoded([2], "float64", null),
    encoded([0], "float64", []),
    encoded([2], "float64", [1, 2], { object_type: "thing" }),
    encoded([2], "float64", [1, 2], { data: { encoding: "raw", buffer: [1, 2] } }),
    encoded([2], "float64", [1, 2], { data: { encoding: "zip", buffer: [1, 2] } }),
    encoded([2], "float64", [1, 2], { data: { encoding: "json", buffer: [1, 2], compression: "lz4" } }),
    encoded([2], "float64", [1, 2], { data: { encoding: "json", buffer: [1, 2], compression: null } }),
    encoded([2], "float64", [1, 2], { data: { encoding: "json", buffer: [1, 2], extra: null } }),
    encoded([2], "float64", [1, 2], { data: { encoding: "json" } }),
    encoded([2], "float64", [1, 2], { data: [1, 2] }),
    { shape: [2], dtype: "float64", data: { encoding: "json", buffer: [1, 2] } },
    { object_type: "array", shape: [2], dtype: "float64" },
    { object_type: "array", dtype: "float64", data: { encoding: "json", buffer: [1, 2] } },
    base64([1], "float64", "AAAAAAAA8D8="),
    base64([1], "int32", "AQAAAA=="),
    base64([1], "float64", "AAAA"),
    base64([1], "float64", "%%%"),
    base64([1], "float64", 5),
    base64([2], "float64", "AAAAAAAA8D8="),
    base64([1, 1], "float64", "AAAAAAAA8D8="),
    base64([1], "complex64", "AAAAAAAA8D8="),
    base64([1], "float64", "AAAAAAAA8D8=", { compression: "zip" }),
    { object_type: "array", shape: [1], dtype: "float64", data: { encoding: "cuda_ipc", buffer: "x" } },
    {
      object_type: "array",
      shape: [1],
      dtype: "float64",
      data: { encoding: "cuda_ipc", buffer: "00000000-0000-0000-0000-000000000000:AAAA:0:8" },
    },
  ].map((vector) => ({ vector })),
  { int32: base64([1], "int64", "AAAAAAAA8D8=") },
  { int32: base64([1], "float64", "AAAAAAAA8D8=") },
  { float32: base64([1], "float64", "AAAAAAAA8D8=") },
  { float64: base64([], "float64", "AAAAAAAA8D8=") },
  { bool: encoded([2], "bool", [true, false]) },
  { bool: encoded([2], "bool", [1, 2]) },
  { bool: encoded([2], "int8", [1, 0]) },
  { bool: encoded([1], "float64", [1]) },
  { complex64: encoded([1], "complex64", ["1+2j"]) },
  { complex64: encoded([1], "complex64", [1]) },
  { complex64: encoded([2], "complex64", [[1, 2]]) },
  { complex64: encoded([1], "complex64", ["1+2"]) },
  { complex64: encoded([1], "complex64", ["(1+2j)"]) },
  { complex64: encoded([1], "complex64", [" 1 + 2j"]) },
  { complex64: encoded([3], "complex64", ["2j", "-j", "1.5e3-2e-1j"]) },
  { complex64: encoded([1], "complex128", [1e39]) },
  { complex64: encoded([1], "float64", [1e39]) },
  { complex128: encoded([1], "complex64", ["nan+infj"]) },
  { uint64: encoded([1], "uint64", [2n ** 64n - 1n]) },
  { uint64: encoded([1], "uint64", [-1]) },
  { int64: encoded([1], "int64", [2n ** 63n]) },
  { int64: encoded([1], "uint64", [2n ** 63n]) },
  { int64: encoded([1], "uint64", [2n ** 62n]) },
  { scalar: encoded([], "float64", 1.5) },
  { scalar: encoded([], "float64", [1.5]) },
  { scalar: encoded([1], "float64", [1.5]) },
  { scalar: encoded([], "float64", null) },
  { matrix: encoded([1, 3], "float64", [1, 2, 3]) },
  { matrix: encoded([2, 1], "float64", [1, 2]) },
  { matrix: encoded([2, 2], "float64", [1, 2, 3, 4]) },
  { matrix: encoded([0, 3], "float64", []) },
  { columns: encoded([0, 3], "int64", []) },
  { columns: encoded([0, 1], "int64", []) },
  { float64: encoded([0, 3], "float64", []) },
  { float64: encoded([2, 0], "float64", [[], []]) },
  { int8: encoded([1], "uint64", [200]) },
  { int8: encoded([1], "uint64", [100]) },
  { int8: encoded([1], "float32", [1]) },
  { int8: encoded([1], "bool", [true]) },
  { float32: encoded([1], "float64", [1e39]) },
  { float32: encoded([1], "int64", [1]) },
  { float32: encoded([1], "uint64", [2n ** 64n - 1n]) },
  { float16: encoded([1], "float64", [70000]) },
  { float16: encoded([1], "float32", [65519.9]) },
  { float16: encoded([1], "float32", [65520]) },
  { float16: encoded([1], "int64", [70000]) },
  { float64: encoded([1], "bool", [true]) },
);

const leaf = { x: [1, 2] };
const trees = (...more: readonly object[]): Payload[] =>
  more.map((given) => ({ fixture: "trees", route: "apply", body: { inputs: { branch: { left: leaf }, ...given } } }));
const treeBodies = (...bodies: readonly unknown[]): Payload[] =>
  bodies.map((body) => ({ fixture: "trees", route: "apply", body }));

const bodies: Payload[] = treeBodies(
  null,
  [],
  1,
  "s",
  {},
  { inputs: null },
  { inputs: [] },
  { inputs: {} },
  { inputs: {}, extra: 1 },
  { inputs: { branch: {} } },
  { inputs: { branch: null } },
  { inputs: { branch: { left: {} } } },
  { inputs: { branch: { left: leaf, right: null } } },
  { inputs: { branch: { left: leaf, right: {} } } },
  { inputs: { branch: { left: leaf, right: 1 } } },
  { inputs: { branch: { left: { x: [1], label: 1 } } } },
  { inputs: { branch: { left: { x: [1], y: 1 } }, zzz: 1, aaa: 2 } },
  { inputs: { zzz: 1 } },
  { inputs: { branch: { left: leaf, right: { x: { bad: 1 }, label: 3, more: 4 } } } },
);

const forms: Payload[] = trees(
  ...[null, 1, [1, 2], [[1], "a"], { a: 1 }, "s", [null], []].map((stack) => ({ stack })),
  ...[null, 1, {}, [1], [leaf, {}], [leaf, { x: [1], label: 5 }], [leaf, leaf]].map((leaves) => ({ leaves })),
  ...[null, 1, [], [1], [1, [2]], [1, [2], 3], ["a", [2]], [1, [2.5]], { "0": 1 }, [1, 2]].map((pair) => ({ pair })),
  ...[null, 1, [], {}, { a: 1 }, { a: "b", c: "d" }, { "a b": [1], "": 2 }, { a: null }].map((params) => ({ params })),
  ...[{ a: {} }, { a: 1 }, { a: leaf, b: { x: 1 } }, { a: leaf }].map((models) => ({ models })),
  ...[{ a: 1 }, { a: [1] }, { a: [[1]] }, { a: [[1, "x"]] }, { a: { b: 1 } }].map((grid) => ({ grid })),
  ...[null, [1], 1, "x"].map((maybe) => ({ maybe })),
  ...[null, [1], [1, 2], [1, 2, 3], 5].map((preset) => ({ preset })),
  ...[null, [1], 1, "x", "1.5", { a: 1 }, {}, true, ["x"], encoded([1], "float64", [1])].map((given) => ({
    array_or_text: given,
  })),
  ...[
    null,
    {},
    { kind: "square" },
    { kind: "square", side: 1 },
    { kind: "circle", radius: 2 },
    { kind: "circle", side: 2 },
  ].map((shape) => ({ shape })),
  ...[{ kind: "tri" }, { kind: "square", side: 1, radius: 2 }, { side: 1 }, 5, { kind: "square", side: "x" }].map(
    (shape) => ({
      shape,
    }),
  ),
  ...[null, 1, true, "", {}, 1.5, "é"].map((text) => ({ text })),
  ...[null, 1, 1.5, true, "5", "5.0", "x", " 5 ", "1_000", "0x10", {}, 1e300, "+5", "05", "-3", "5.5", ""].map(
    (count) => ({ count }),
  ),
  ...[1.5, 1, 2n ** 62n, 2n ** 63n, "1", true, -(2n ** 63n)].map((given) => ({ big_count: given })),
  ...[null, 1, 1.5, true, "1.5", "x", " 2 ", "1e5", [], "1_0", 2n ** 70n, "", ".5", "5."].map((ratio) => ({ ratio })),
  ...[null, 1, 0, 2, 0.5, "true", "TRUE", "yes", "no", "on", "off", "t", "f", "y", "n", "1", "0", "x", []].map(
    (flag) => ({ flag }),
  ),
  ...[null, "fast", "FAST", "slow", 1, []].map((mode) => ({ mode })),
  ...[null, 1, { a: 1 }, { a: 1.5 }, { a: true }, { a: null }, { a: "s" }, { a: [] }, { a: {} }, { a: "1" }].map(
    (notes) => ({ notes }),
  ),
  { count: "x", ratio: "y", flag: "z", mode: "q", text: 1, params: { a: "b" } },
);

const point = {
  x: [1, 2],
  affine: {
    matrix: [
      [1, 2],
      [3, 4],
    ],
    shift: [1, 1],
  },
  terms: [
    [1, 2],
    [3, 4],
  ],
  weights: { a: [1, 2], "b c": [1, 1], "d.e": [2, 2], "f{g": [0, 1] },
};
const vectors = (route: string, ...requests: readonly object[]): Payload[] =>
  requests.map((request) => ({ fixture: "vectors", route, body: { inputs: point, ...request } }));

const jacobians: Payload[] = [
  ...vectors(
    "jacobian",
    {},
    { jac_inputs: [], jac_outputs: [] },
    { jac_inputs: ["x"], jac_outputs: ["y"] },
    { jac_inputs: "x", jac_outputs: ["y"] },
    { jac_inputs: { x: 1 }, jac_outputs: null },
    { jac_inputs: ["x", "x"], jac_outputs: ["y", "y"] },
    { jac_inputs: ["q", "r"], jac_outputs: ["s"], extra: 1 },
  ),
  ...vectors(
    "jacobian",
    ...[
      "y",
      "affine",
      "affine.matrix",
      "affine.z",
      "terms",
      "terms.[0]",
      "terms.[5]",
      "terms.0",
      "terms.[-1]",
      "terms.[a]",
    ].map((path) => ({ jac_inputs: [path], jac_outputs: ["y"] })),
    ...["terms[0]", "weights.{a}", "weights.a", "weights.{zz}", "weights.{b c}", "weights.{d.e}", "weights.{f{g}"].map(
      (path) => ({
        jac_inputs: [path],
        jac_outputs: ["y"],
      }),
    ),
    ...["weights.{f\\{g}", "weights.{}", 5, null, "", "x ", "gain", "terms.[0].x", "weights.{a}.b"].map((path) => ({
      jac_inputs: [path],
      jac_outputs: ["y"],
    })),
    ...[
      "x",
      "rows",
      "stats",
      "stats.norm2",
      "products.[0]",
      "products.[9]",
      "scaled.{a}",
      "scaled.{q}",
      "scaled.{f\\{g}",
    ].map((path) => ({ jac_inputs: ["x"], jac_outputs: [path] })),
  ),
  { fixture: "vectors", route: "jacobian", body: { jac_inputs: ["terms.[0]"], jac_outputs: ["y"] } },
  { fixture: "vectors", route: "jacobian", body: { inputs: {}, jac_inputs: ["terms.[0]"], jac_outputs: ["y"] } },
  { fixture: "vectors", route: "jacobian", body: { inputs: {}, jac_inputs: ["x"], jac_outputs: ["y"] } },
  {
    fixture: "vectors",
    route: "jacobian",
    body: { inputs: { ...point, shape: 1 }, jac_inputs: ["x"], jac_outputs: ["y"] },
  },
];

const jvp = (wrt: unknown, of: unknown, tangents: unknown): object => ({
  jvp_inputs: wrt,
  jvp_outputs: of,
  tangent_vector: tangents,
});
const jvps: Payload[] = [
  ...vectors(
    "jacobian_vector_product",
    {},
    { jvp_inputs: ["x"], jvp_outputs: ["y"] },
    ...[
      [1, 1],
      [1],
      1,
      [1, 2, 3],
      "a",
      [true, false],
      null,
      encoded([2], "int32", [1, 2]),
      encoded([2], "complex64", [1, 2]),
    ].map((x) => jvp(["x"], ["y"], { x })),
    ...[{}, { x: [1, 1], gain: 1 }, { q: [1, 1] }, 5, null, { "weights.{zz}": [1, 1] }].map((tangents) =>
      jvp(["x"], ["y"], tangents),
    ),
    jvp(["q"], ["y"], { q: [1, 1] }),
    jvp(["q"], ["y"], { x: [1, 1] }),
    jvp(["gain"], ["y"], { gain: [1] }),
    jvp(["gain"], ["y"], { gain: 1 }),
    jvp(["weights.{a}"], ["y"], { "weights.{a}": [1e39, 1] }),
    jvp(["weights.{a}"], ["scaled.{a}"], { "weights.{a}": [1, 1] }),
    jvp(["weights.{zz}"], ["y"], { "weights.{zz}": [1, 1] }),
    jvp(["x"], ["nope"], { x: [1, 1] }),
    jvp(["x", "gain"], ["y"], { x: "a", gain: "b" }),
    jvp(["x", "gain"], ["y", "stats.norm2"], { gain: 2, x: [1, 2] }),
    jvp(["affine.matrix"], ["y"], {
      "affine.matrix": [
        [1, 0],
        [0, 1],
      ],
    }),
  ),
  { fixture: "vectors", route: "jacobian_vector_product", body: jvp(["x"], ["y"], { x: [1, 1] }) },
  { fixture: "vectors", route: "jacobian_vector_product", body: { inputs: {}, ...jvp(["x"], ["y"], { x: [1, 1] }) } },
];

const vjp = (wrt: unknown, of: unknown, cotangents: unknown): object => ({
  vjp_inputs: wrt,
  vjp_outputs: of,
  cotangent_vector: cotangents,
});
const vjps: Payload[] = [
  ...vectors(
    "vector_jacobian_product",
    {},
    ...[[1, 1], 1, [1, 1, 1], "a", [[1, 1]]].map((y) => vjp(["x"], ["y"], { y })),
    vjp(["x"], ["y"], {}),
    vjp(["x"], ["z"], { z: 1 }),
    vjp(["x"], ["z"], { y: [1, 1] }),
    vjp(["x"], ["products.[7]"], { "products.[7]": [1, 1] }),
    vjp(["x"], ["scaled.{a}"], { "scaled.{a}": [1e39, 1] }),
    vjp(["x"], ["scaled.{a}"], { "scaled.{a}": [1, 2] }),
    vjp(["x", "affine.matrix", "gain"], ["y", "stats.norm2"], { y: [1, 2], "stats.norm2": 3 }),
    vjp(["weights.{b c}"], ["scaled.{b c}"], { "scaled.{b c}": [1, 2] }),
    vjp(["nope"], ["y"], { y: [1, 1] }),
  ),
  { fixture: "vectors", route: "vector_jacobian_product", body: { inputs: {}, ...vjp(["x"], ["y"], { y: [1, 1] }) } },
  { fixture: "vectors", route: "vector_jacobian_product", body: vjp(["x"], ["y"], { y: [1, 1] }) },
];

const abstract = (shape: unknown, dtype: unknown = "float64", more: object = {}): object => ({ shape, dtype, ...more });
const abstractPoint = { x: abstract([2]), affine: { matrix: abstract([3, 2]), shift: abstract([3]) } };
const abstractEvals: Payload[] = [
  ...[
    {},
    ...[
      abstract([1, 2]),
      abstract([]),
      abstract([2], "float32"),
      abstract([2], "complex64"),
      abstract([2], "float99"),
      [1, 2],
      5,
    ].map((x) => ({ x })),
    ...[
      null,
      {},
      abstract(["2"]),
      abstract([2.5]),
      abstract(null),
      abstract([2], "float64", { extra: 1 }),
      abstract(5),
    ].map((x) => ({
      x,
    })),
    { x: encoded([2], "float64", [1, 2]) },
    { gain: abstract([]) },
    { gain: abstract([], "int8") },
    { gain: 1.5 },
    { terms: [abstract([2])] },
    { terms: [5] },
    { terms: 5 },
    { weights: { a: abstract([2]) } },
    { weights: { a: abstract([2, 2], "float32") } },
    { zz: 1 },
  ].map(
    (more): Payload => ({
      fixture: "vectors",
      route: "abstract_eval",
      body: { inputs: { ...abstractPoint, ...more } },
    }),
  ),
  { fixture: "vectors", route: "abstract_eval", body: {} },
  { fixture: "vectors", route: "abstract_eval", body: { inputs: {}, extra: 1 } },
  ...[
    { preset: abstract([3]) },
    { preset: abstract([1]) },
    { array_or_text: abstract([1]) },
    { array_or_text: 5 },
    { shape: { kind: "square", side: abstract([]) } },
    { shape: { kind: "square", side: 1 } },
    { pair: [abstract([]), abstract([4], "int8")] },
  ].map(
    (more): Payload => ({
      fixture: "trees",
      route: "abstract_eval",
      body: { inputs: { branch: { left: { x: abstract([2]) } }, ...more } },
    }),
  ),
];

const limits: Payload[] = [
  ...[
    null,
    {},
    { kind: "cat" },
    { kind: "cat", lives: 9 },
    { kind: "cat", lives: 10 },
    { kind: "cat", lives: -1 },
    5,
  ].map((pet) => ({ pet })),
  ...[
    { kind: "bird" },
    { kind: 1 },
    { kind: "dog", name: "rex" },
    { kind: "hound", name: "r" },
    { kind: "dog", name: "rover" },
  ].map((pet) => ({ pet })),
  ...[
    { kind: "dog", name: "max" },
    { kind: "cat", lives: 1, name: "x" },
    { kind: null, lives: 1 },
  ].map((pet) => ({ pet })),
  ...[[], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, "x"], ["1", 2.5], 1].map((counts) => ({ counts })),
  ...[[], ["a"], [1], null].map((names) => ({ names })),
  ...[0, 0.5, 5, 5.5, 0.25, -1, "1.5", "x", true].map((ratio) => ({ ratio })),
  ...[1, 2, 3, "top", "1", null, true].map((level) => ({ level })),
  ...[[1], {}, { a: 1 }, ["x"], { a: "x" }, 5, null, []].map((either) => ({ either })),
  ...[1, 1.5, "1", true, null, [], "x"].map((number) => ({ number })),
  ...[
    1,
    1.5,
    true,
    [1, 2],
    [2n ** 63n],
    [[1.5]],
    "x",
    null,
    encoded([1], "complex64", ["1+2j"]),
    encoded([1], "bool", [true]),
  ].map((raw) => ({
    raw,
  })),
  ...[
    [[1]],
    [[1, 2]],
    [[1], [2]],
    [1],
    [],
    null,
    encoded([1, 0], "float32", [[]]),
    encoded([2, 1], "float32", [[1], [2]]),
  ].map((single) => ({
    single,
  })),
].map((inputs): Payload => ({ fixture: "limits", route: "apply", body: { inputs } }));

const others: Payload[] = [
  { fixture: "plain", route: "apply", body: { inputs: { name: "you", a: [1, 2], b: [3, 4] } } },
  { fixture: "plain", route: "apply", body: { inputs: { name: "you", a: [1, 2], b: [3, 4, 5] } } },
  { fixture: "plain", route: "apply", body: { inputs: { name: 5, a: "x" } } },
  { fixture: "plain", route: "jacobian", body: { inputs: { name: "you", a: [1, 2], b: [3, 4] } } },
  { fixture: "plain", route: "abstract_eval", body: {} },
  { fixture: "arrays", route: "vector_jacobian_product", body: {} },
  { fixture: "vectors", route: "apply", body: { inputs: point } },
  { fixture: "vectors", route: "apply", body: { inputs: { ...point, gain: 3, terms: [], weights: {} } } },
  { fixture: "vectors", route: "apply", body: { inputs: { ...point, x: [1, 2, 3] } } },
];

export const payloads: readonly Payload[] = [
  ...plainLists,
  ...encodedArrays,
  ...bodies,
  ...forms,
  ...jacobians,
  ...jvps,
  ...vjps,
  ...abstractEvals,
  ...limits,
  ...others,
];

/** The body as JSON text, with bigints as whole numbers. */
export const toJson = (body: unknown): string => {
  const mark = "\u0001bigint";
  const text = JSON.stringify(body, (_key, value: unknown) => (typeof value === "bigint" ? `${mark}${value}` : value));
  return text.replaceAll(/"\\u0001bigint(-?\d+)"/g, "$1");
};
