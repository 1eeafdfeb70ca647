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
        else if (state === "skipped") result.skipped.push({ name, reason: note ?? reasonOf(test.options.mode) });
        else result.failed.push(name);
      }
    }
    for (const error of unhandledErrors) result.failed.push(`outside of any test: ${error.message}`);
    writeFileSync(process.env.TALLY_FILE, JSON.stringify(result));
  }
}

const reasonOf = (mode) => (mode === "todo" ? "still to be written" : "no reason given");
