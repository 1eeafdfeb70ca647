// Runs programs one after another in one process, and tells its parent what each printed. Started by runner.ts.

import { format } from "node:util";

process.on("message", async (programs) => {
  for (const { id, folder, file } of programs) process.send(await run(id, folder, file));
  process.disconnect();
});

async function run(id, folder, file) {
  const printed = [];
  const complaints = [];
  const original = { ...console };
  console.log = (...values) => printed.push(format(...values));
  console.warn = (...values) => complaints.push(format(...values));
  console.error = console.warn;
  const onWarning = (warning) => complaints.push(String(warning));
  process.on("warning", onWarning);
  process.chdir(folder);
  try {
    await import(file);
    return { id, printed, complaints };
  } catch (error) {
    return { id, printed, complaints, failure: format(error) };
  } finally {
    process.off("warning", onWarning);
    Object.assign(console, original);
  }
}
