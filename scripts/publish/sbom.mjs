// Writes a software bill of materials of each package: what its users install with it.

import { join } from "node:path";
import { childEnvironment, main, mustRun } from "../setup/child.mjs";
import { writeWhole } from "../setup/fingerprint.mjs";
import { root } from "../setup/paths.mjs";
import { publishedPackages } from "./packages.mjs";

const folder = join(root, "dist", "sbom");
const ours = new Map(publishedPackages().map(({ manifest }) => [manifest.name, manifest]));

const HELP = `npm run sbom

Writes dist/sbom/PACKAGE.cdx.json for each package that is published, in CycloneDX's JSON: what its users install with it.`;

await main(writeBills, { help: HELP });

async function writeBills() {
  for (const { folder: name, manifest } of publishedPackages()) {
    const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--workspace", manifest.name];
    const listed = JSON.parse(await mustRun("npm", args, { cwd: root, env: childEnvironment() }));
    const bill = billOf(manifest, listed);
    const file = join(folder, `${name}.cdx.json`);
    writeWhole(file, `${JSON.stringify(bill, undefined, 2)}\n`);
    console.log(`${file}: ${bill.components.length} components`);
  }
  return 0;
}

/**
 * npm's is of the repository, with the package as its one dependency, and has our packages' development dependencies among their
 * dependencies. Here it is of the package itself, and of what it needs.
 */
function billOf({ name }, bill) {
  const component = bill.components.find((one) => nameOf(one) === name);
  if (component === undefined) throw new Error(`npm's bill of materials has no ${name}`);
  const byRef = new Map(bill.components.map((one) => [one["bom-ref"], one]));
  const edges = new Map(
    bill.dependencies.map(({ ref, dependsOn = [] }) => [ref, needed(byRef.get(ref), dependsOn, byRef)]),
  );
  const reached = new Set([component["bom-ref"]]);
  for (const ref of reached) for (const next of edges.get(ref) ?? []) reached.add(next);
  return {
    ...bill,
    metadata: { ...bill.metadata, component },
    components: bill.components.filter((one) => one !== component && reached.has(one["bom-ref"])),
    dependencies: [...reached].map((ref) => ({ ref, dependsOn: edges.get(ref) ?? [] })),
  };
}

/** Of a package's dependencies, those that its users install. */
function needed(component, refs, byRef) {
  const own = ours.get(component === undefined ? "" : nameOf(component));
  if (own === undefined) return refs;
  const names = Object.keys({ ...own.dependencies, ...own.peerDependencies });
  return refs.filter((ref) => names.includes(nameOf(byRef.get(ref) ?? {})));
}

/** A component's name in the registry; that of a workspace is its folder's. */
function nameOf({ purl = "" }) {
  return /^pkg:npm\/(.+)@/.exec(decodeURIComponent(purl))?.[1];
}
