// Takes the limits out of what an engine asks the runtime for: of a container's configuration (config.json of the `--bundle`), and
// of a process that is to run in a container (the file of `--process`).

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The value of an option of the runtime, in any of its spellings. */
function option(...names) {
  const words = process.argv;
  const at = words.findIndex((word) => names.some((name) => word === name || word.startsWith(`${name}=`)));
  if (at < 0) return undefined;
  return words[at].includes("=") ? words[at].slice(words[at].indexOf("=") + 1) : words[at + 1];
}

function edit(file, change) {
  const content = JSON.parse(readFileSync(file, "utf8"));
  change(content);
  writeFileSync(file, JSON.stringify(content));
}

if (process.argv.includes("exec")) {
  const file = option("--process", "-p");
  if (file !== undefined) edit(file, (started) => delete started.rlimits);
} else {
  edit(join(option("--bundle", "-b") ?? ".", "config.json"), ({ process: started, linux }) => {
    delete started.rlimits;
    delete linux.resources;
  });
}
