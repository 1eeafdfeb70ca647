// Builds the addons that are published, for every target, and checks what each needs of the machine that loads it.

import { main, SetupError } from "../../../scripts/setup/child.mjs";
import { buildPrebuild, stateOf } from "./prebuilds/build.mjs";
import { checkPrebuild } from "./prebuilds/check.mjs";
import { existingNode, variablesFor } from "./prebuilds/node-for.mjs";
import { targets, targetsNamed } from "./prebuilds/targets.mjs";

const HELP = `npm run prebuilds [-- [--check] [--json] TARGET...]

Builds prebuilds/ for ${targets.map(({ name }) => name).join(", ")}, or for the targets that are named.
Those whose sources haven't changed are left as they are. Zig's compiler is installed into .cache.

--check   builds nothing: it is an error if one is missing or isn't made from the sources as they are
--json    prints what was found as JSON, with a program that is such a Node where \`npm run test:prebuilds\` has made one`;

const options = { check: { type: "boolean" }, json: { type: "boolean" } };

await main(prebuilds, { help: HELP, options, allowPositionals: true });

async function prebuilds({ values, positionals }) {
  const wanted = targetsNamed(positionals);
  if (!values.check) for (const target of wanted) await buildPrebuild(target);
  const found = wanted.map((target) => {
    const state = stateOf(target);
    if (state === "missing") return { name: target.name, state, problems: ["it isn't built"] };
    const { bytes, glibc, problems } = checkPrebuild(target);
    const stale = state === "stale" ? ["it isn't made from the sources as they are"] : [];
    return { name: target.name, state, bytes, glibc, problems: [...problems, ...stale] };
  });
  if (values.json) {
    const nodes = wanted.map((target) => ({ node: existingNode(target), variables: variablesFor(target) }));
    console.log(JSON.stringify(found.map((prebuild, index) => ({ ...prebuild, ...nodes[index] }))));
  }
  if (!values.json) for (const prebuild of found) console.log(lineOf(prebuild));
  const bad = found.filter(({ problems }) => problems.length > 0);
  if (bad.length === 0) return 0;
  if (!values.json) throw new SetupError("`npm run prebuilds` builds those that are missing or stale.");
  return 1;
}

function lineOf({ name, bytes, glibc, problems }) {
  const size = bytes === undefined ? "" : `${Math.round(bytes / 1024)} KB`;
  const needs = glibc === undefined ? "" : `glibc ${glibc} or newer`;
  const verdict = problems.length === 0 ? "ok" : problems.join("; ");
  return `${name.padEnd(18)} ${size.padStart(7)}  ${needs.padEnd(20)} ${verdict}`.trimEnd();
}
