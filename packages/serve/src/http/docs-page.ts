/** `/docs`: the OpenAPI document for people, as one page without scripts that needs nothing from elsewhere. */

type Json = Readonly<Record<string, unknown>>;

const style = `
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1e21; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 small { font-weight: normal; color: #666; font-size: .6em }
h2 { border-top: 1px solid #ddd; padding-top: 1rem; margin-top: 2rem; font-size: 1.2rem }
code, pre { font: 13px/1.5 ui-monospace, monospace }
pre { background: #f5f6f8; padding: .75rem; overflow-x: auto; border-radius: 4px }
.method { background: #275dad; color: #fff; border-radius: 3px; padding: .1rem .45rem; font-size: .8rem; margin-right: .5rem }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 }
th, td { text-align: left; border-bottom: 1px solid #e4e6ea; padding: .3rem .5rem; vertical-align: top }
summary { cursor: pointer; margin: .5rem 0 }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #16181c } pre { background: #22252b } h2, th, td { border-color: #363a42 }
}`;

/** @param openapi the document that `/openapi.json` gives */
export function docsPage(openapi: Json): string {
  const { title, version, description } = record(openapi.info);
  const schemas = record(record(openapi.components).schemas);
  const operations = Object.entries(record(openapi.paths)).flatMap(([path, methods]) =>
    Object.entries(record(methods)).map(([method, operation]) =>
      operationHtml(path, method, record(operation), schemas),
    ),
  );
  const offers = Object.entries(openapi)
    .filter(([key, value]) => key.startsWith("x-supported-") && Array.isArray(value))
    .map(([key, value]) =>
      row(code(key.slice("x-supported-".length).replaceAll("-", " ")), (value as unknown[]).map(code).join(" ")),
    );
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(title)} <small>${escaped(version)}</small></h1>
${paragraphs(description)}
<p>The same for programs: <a href="openapi.json">openapi.json</a></p>
${offers.length === 0 ? "" : `<table>${offers.join("")}</table>`}
${operations.join("\n")}
<h2>Schemas</h2>
${Object.entries(schemas)
  .map(([name, schema]) => schemaHtml(name, schema))
  .join("\n")}
</body>
</html>
`;
}

function operationHtml(path: string, method: string, operation: Json, schemas: Json): string {
  const request = schemaOf(operation.requestBody);
  const answer = schemaOf(record(operation.responses)["200"]);
  return `<h2 id="${escaped(path)}"><span class="method">${escaped(method.toUpperCase())}</span><code>${escaped(path)}</code></h2>
${paragraphs(operation.description ?? operation.summary)}
${fieldsHtml("Request", request, schemas)}
${fieldsHtml("Answer", answer, schemas)}`;
}

/** The schema of a body, from its media type down. */
const schemaOf = (body: unknown): Json => record(record(record(record(body).content)["application/json"]).schema);

function fieldsHtml(caption: string, schema: Json, schemas: Json): string {
  const resolved = "$ref" in schema ? record(schemas[nameOf(schema.$ref)]) : schema;
  const required = new Set(Array.isArray(resolved.required) ? resolved.required : []);
  const rows = Object.entries(record(resolved.properties)).map(([name, property]) =>
    row(
      `${code(name)}${required.has(name) ? "" : " <small>optional</small>"}`,
      typeHtml(record(property)),
      escaped(record(property).description),
    ),
  );
  if (rows.length === 0) return "";
  return `<table><tr><th>${caption}</th><th>Type</th><th></th></tr>${rows.join("")}</table>`;
}

function typeHtml(schema: Json): string {
  if (typeof schema.$ref === "string") {
    const name = nameOf(schema.$ref);
    return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`;
  }
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const options = schema[key];
    if (Array.isArray(options)) return options.map((option) => typeHtml(record(option))).join(" or ");
  }
  if (schema.type === "array") return `list of ${typeHtml(record(schema.items))}`;
  if (record(record(schema.properties).object_type).const === "array") return "array";
  return escaped(schema.const === undefined ? (schema.type ?? "any") : JSON.stringify(schema.const));
}

const schemaHtml = (name: string, schema: unknown): string =>
  `<details id="schema-${escaped(name)}"><summary><code>${escaped(name)}</code></summary><pre>${escaped(JSON.stringify(schema, null, 2))}</pre></details>`;

const row = (...cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;

const code = (value: unknown): string => `<code>${escaped(value)}</code>`;

const paragraphs = (text: unknown): string =>
  typeof text === "string" && text !== ""
    ? text
        .split(/\n\s*\n/)
        .map((paragraph) => `<p>${escaped(paragraph)}</p>`)
        .join("\n")
    : "";

const nameOf = (reference: unknown): string => String(reference).split("/").at(-1) ?? "";

const record = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});

/** Names and descriptions are an author's; the page shows them and no more. */
const escaped = (value: unknown): string =>
  value === undefined || value === null
    ? ""
    : String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
