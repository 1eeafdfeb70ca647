// A Vitest reporter that writes what came of the tests, with the reasons of those that were skipped, as JSON.

import { writeFileSync } from "node:fs";

export default class TallyReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const result = { passed: 0, failed: [], skipped: [] };
    for (const module of modules) {
      const file = module.relativeModuleId ?? module.moduleId;
      if (module.errors().length > 0) result.failed.push(`${file} (could not be loaded)`);
      for (const suite of module.children.allSuites()) {
        if (suite.errors().length > 0) result.failed.push(`${file} > ${suite.fullName} (set-up or tear-down)`);
      }
      for (const test of module.children.allTests()) {
        const { state, note } = test.result();
        const name = `${file} > ${test.fullName}`;
        if (state === "passed") result.passed += 1;
        else if (state === "skipped") result.skipped.push({ name, reason: note ?? reasonFor(test) });
        else result.failed.push(name);
      }
    }
    for (const error of unhandledErrors)
      result.failed.push(`outside of any test: ${String(error.message).split("\n")[0]}`);
    writeFileSync(process.env.TALLY_FILE, JSON.stringify(result));
  }
}

function reasonFor(test) {
  for (let parent = test.parent; parent !== undefined; parent = parent.parent) {
    if (parent.errors().length > 0) return "its set-up failed";
  }
  return test.options.mode === "todo" ? "still to be written" : "no reason given";
}
