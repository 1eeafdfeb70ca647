// The API reference: markdown pages in docs/api, one folder for each package, from the doc comments of what it exports.

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Application, Converter, ReflectionKind } from "typedoc";
import { descriptionOf, entries, modules, packageNameOf, root } from "./modules.mjs";

export async function writeApiReference() {
  const started = performance.now();
  const app = await Application.bootstrapWithPlugins({
    plugin: ["typedoc-plugin-markdown"],
    // A page for each package: to render one for each of their 400 names takes minutes.
    router: "module",
    outputs: [{ name: "markdown", path: join(root, "docs/api") }],
    entryPoints: Object.values(entries).map((path) => join(root, path)),
    basePath: join(root, "packages"),
    tsconfig: join(root, "site/tsconfig.api.json"),
    // `npm run typecheck` is for errors of types.
    skipErrorChecking: true,
    readme: "none",
    name: "API reference",
    disableSources: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true,
    logLevel: "Warn",
    entryFileName: "index",
    groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables", "*"],
    hidePageHeader: true,
    pageTitleTemplates: { module: ({ name }) => packageNameOf(name) },
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    expandObjects: true,
    sanitizeComments: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "list",
    classPropertiesFormat: "list",
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    nameModules(project);
    nameParameters(project);
  });
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc found nothing to document");
  // The pages of an earlier run may have other names.
  await rm(join(root, "docs/api"), { recursive: true, force: true });
  await app.generateOutputs(project);
  if (app.logger.hasErrors()) throw new Error("TypeDoc reported errors");
  await writeFile(join(root, "docs/api/index.md"), contents());
  console.log(`API reference: ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

/** By their packages, rather than by the paths of their sources. */
function nameModules(project) {
  const names = new Map(Object.entries(entries).map(([name, path]) => [path, name]));
  for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
    const name = [...names].find(
      ([path]) => path === `packages/${module.name}.ts` || path === `packages/${module.name}/index.ts`,
    )?.[1];
    if (name === undefined) throw new Error(`The module ${module.name} is no entry point`);
    module.name = name;
  }
}

/** TypeDoc's own list has neither the packages' names nor what they are for. */
function contents() {
  const rows = modules.map((module) => `| [${packageNameOf(module)}](${module}.md) | ${descriptionOf(module)} |`);
  return ["# API reference", "", "| import from | what it is for |", "|---|---|", ...rows, ""].join("\n");
}

/** One that is taken apart where it is declared has no name: it is called by the last word of its type, `options` or `array`. */
function nameParameters(project) {
  for (const parameter of project.getReflectionsByKind(ReflectionKind.Parameter)) {
    if (parameter.name !== "__namedParameters") continue;
    const { type } = parameter;
    const isNamed = type?.type === "reference" && type.reflection !== undefined;
    parameter.name = isNamed ? (/[A-Z][a-z]+$/.exec(type.name)?.[0] ?? type.name).toLowerCase() : "options";
  }
}
