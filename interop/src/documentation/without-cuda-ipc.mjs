// Loaded before a program by `node --import`: to it, @tesseract-ts/transport-cuda-ipc isn't installed.

import { register } from "node:module";

const hooks = `export function resolve(name, context, next) {
  if (name.includes("transport-cuda-ipc")) throw new Error("Cannot find package '" + name + "'");
  return next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
