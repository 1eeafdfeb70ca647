/** The site: the pages of docs/ and the packages' READMEs, as they are in the repository, and the API reference. */
import { type DefaultTheme, defineConfig } from "vitepress";
import { modules, packageNameOf } from "../scripts/modules.mjs";
import { linkPages, slugify } from "./links.js";
import { addresses, excluded } from "./pages.js";
import { labelCells } from "./tables.js";

type Item = DefaultTheme.SidebarItem;

const pages = addresses();
const addressOf = (path: string): string => `/${(pages[path] ?? path).replace(/index\.md$/, "").replace(/\.md$/, "")}`;
/** Pages that aren't there, such as those of another part of the work, aren't listed. */
const item = (text: string, path: string): Item[] => (path in pages ? [{ text, link: addressOf(path) }] : []);

const guide: Item[] = [
  {
    text: "Guide",
    items: [
      ...item("Start here", "docs/index.md"),
      ...item("Call a Tesseract", "docs/call.md"),
      ...item("Keep arrays on the GPU", "docs/gpu.md"),
      ...item("Write a Tesseract", "docs/write.md"),
      ...item("Serve a Tesseract", "docs/serve.md"),
      ...item("Start a Tesseract", "docs/start.md"),
      ...item("Differentiate through it", "docs/differentiate.md"),
      ...item("Write a transport", "docs/write-a-transport.md"),
      ...item("Deploy in containers", "docs/containers.md"),
      ...item("Troubleshoot", "docs/troubleshoot.md"),
      ...item("Coming from Python", "docs/from-python.md"),
      ...item("Examples", "docs/examples.md"),
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "API", link: "/api/" },
      ...item("The command line", "docs/command-line.md"),
      ...item("Arrays", "docs/arrays.md"),
      ...item("Errors", "docs/errors.md"),
      ...item("Staged programs", "docs/staged-programs.md"),
      ...item("Platforms", "docs/platforms.md"),
      ...item("GPU results", "docs/gpu-results.md"),
    ],
  },
  { text: "Packages", collapsed: true, items: readmes("packages") },
  {
    text: "The examples' pages",
    collapsed: true,
    items: [...item("Overview", "docs/examples.md"), ...readmes("examples")],
  },
  {
    text: "The project",
    items: [
      ...item("Architecture", "docs/architecture.md"),
      ...item("Benchmarks", "bench/README.md"),
      ...item("Contributing", "CONTRIBUTING.md"),
    ],
  },
];

function readmes(folder: string): Item[] {
  return Object.keys(pages)
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => ({ text: path.split("/")[1] ?? path, link: addressOf(path) }));
}

const api: Item[] = modules.map((module) => ({ text: packageNameOf(module), link: `/api/${module}` }));

/** Pages stand outside of this folder, where no Vue is installed; what is rendered from them finds it here. */
const vueOfTheSite = {
  name: "vue-of-the-site",
  enforce: "pre" as const,
  resolveId: (id: string, _importer: string | undefined, { ssr }: { ssr?: boolean }) =>
    ssr === true && /^vue(\/|$)/.test(id) ? { id, external: true } : undefined,
};

export default defineConfig({
  title: "Tesseracts in TypeScript",
  description: "Call Tesseracts from TypeScript, and keep their arrays where they are.",
  lang: "en",
  // Browsers ask for /favicon.ico otherwise.
  head: [["link", { rel: "icon", href: "data:," }]],
  srcDir: "..",
  srcExclude: excluded,
  rewrites: pages,
  base: process.env.DOCS_BASE ?? "/",
  // Programs on the pages are full of addresses of this machine; they stand in code, and sometimes in a sentence.
  ignoreDeadLinks: "localhostLinks",
  vite: { plugins: [vueOfTheSite] },
  markdown: {
    anchor: { slugify },
    config(markdown) {
      linkPages(markdown);
      labelCells(markdown);
    },
  },
  // Its tables need the whole width, and are stacked on a phone: style.css.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath === "from-python.md"
      ? { frontmatter: { ...frontmatter, aside: false, pageClass: "pairs" } }
      : undefined,
  themeConfig: {
    nav: [
      { text: "Guide", link: "/call" },
      { text: "API", link: "/api/" },
      { text: "Errors", link: "/errors" },
      { text: "From Python", link: "/from-python" },
    ],
    sidebar: { "/": guide, "/api/": [{ text: "API reference", link: "/api/", items: api }] },
    outline: [2, 3],
    search: { provider: "local" },
    footer: { message: "Apache-2.0" },
  },
});
