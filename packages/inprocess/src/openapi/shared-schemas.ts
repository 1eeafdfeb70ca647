/** The schemas that the OpenAPI documents of all Tesseracts share. */
import { listedDtypes } from "../schema/array.js";
import type { JsonSchema } from "./json-schema.js";
import { reference } from "./json-schema.js";

const lz4OrNone = { anyOf: [{ type: "string", const: "lz4" }, { type: "null" }], title: "Compression" };
const noCompression = { type: "null", title: "Compression" };

const dataSchema = (
  name: string,
  encoding: string,
  buffer: JsonSchema,
  compression: JsonSchema,
  about: string,
): JsonSchema => ({
  properties: { buffer, encoding: { type: "string", const: encoding, title: "Encoding" }, compression },
  additionalProperties: false,
  type: "object",
  required: ["buffer", "encoding"],
  title: name,
  description: about,
});

const text = (more: JsonSchema = {}): JsonSchema => ({ type: "string", ...more, title: "Buffer" });

export const arrayDataSchemas: Readonly<Record<string, JsonSchema>> = {
  Base64ArrayData: dataSchema("Base64ArrayData", "base64", text(), lz4OrNone, "An array's bytes, in base64."),
  BinrefArrayData: dataSchema(
    "BinrefArrayData",
    "binref",
    text({ pattern: "^.+?(\\:\\d+(\\:\\d+)?)?$" }),
    lz4OrNone,
    "A file with an array's bytes: path[:offset[:compressed size]].",
  ),
  CudaIpcArrayData: dataSchema(
    "CudaIpcArrayData",
    "cuda_ipc",
    text({ pattern: "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[A-Za-z0-9+/=]*:\\d+:\\d+$" }),
    noCompression,
    "Memory of a GPU: device:handle:offset:size.",
  ),
  JsonArrayData: dataSchema(
    "JsonArrayData",
    "json",
    reference("JsonValue"),
    noCompression,
    "An array's elements as numbers in lists.",
  ),
  JsonValue: {},
};

export const shapeDtypeSchema: JsonSchema = {
  properties: {
    shape: { items: { type: "integer" }, type: "array", title: "Shape" },
    dtype: { type: "string", enum: listedDtypes, title: "Dtype" },
  },
  type: "object",
  required: ["shape", "dtype"],
  title: "ShapeDType",
  description: "An array's shape and dtype.",
};

export const errorSchemas: Readonly<Record<string, JsonSchema>> = {
  HTTPValidationError: {
    properties: { detail: { items: reference("ValidationError"), type: "array", title: "Detail" } },
    type: "object",
    title: "HTTPValidationError",
  },
  ValidationError: {
    properties: {
      loc: { items: { anyOf: [{ type: "string" }, { type: "integer" }] }, type: "array", title: "Location" },
      msg: { type: "string", title: "Message" },
      type: { type: "string", title: "Error Type" },
      input: { title: "Input" },
      ctx: { type: "object", title: "Context" },
    },
    type: "object",
    required: ["loc", "msg", "type"],
    title: "ValidationError",
  },
};

const orNull = (schema: JsonSchema, title: string): JsonSchema => ({ anyOf: [schema, { type: "null" }], title });
const dict = { additionalProperties: true, type: "object" };

export const testSchemas: Readonly<Record<string, JsonSchema>> = {
  TestSpec: {
    properties: {
      endpoint: { type: "string", title: "Endpoint" },
      payload: { ...dict, title: "Payload" },
      expected_outputs: orNull(dict, "Expected Outputs"),
      expected_exception: orNull({ type: "string" }, "Expected Exception"),
      expected_exception_regex: orNull({ type: "string" }, "Expected Exception Regex"),
      atol: { type: "number", title: "Atol", default: 1e-8 },
      rtol: { type: "number", title: "Rtol", default: 1e-5 },
    },
    type: "object",
    required: ["endpoint", "payload"],
    title: "TestSpec",
    description: "A regression test: what an endpoint is called with, and either its outputs or what it throws.",
  },
  TestOutputSchema: {
    properties: {
      status: { type: "string", enum: ["passed", "failed", "error"], title: "Status" },
      message: { type: "string", title: "Message" },
      endpoint: { type: "string", title: "Endpoint" },
    },
    type: "object",
    required: ["status", "message", "endpoint"],
    title: "TestOutputSchema",
    description: "Whether a regression test passed, and why not.",
  },
};
