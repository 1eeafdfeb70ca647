/** What is meant to be in the tarballs. Anything else that `npm pack` puts there is a mistake: tests, fixtures, source maps. */

const BY_ALL: readonly RegExp[] = [
  /^package\.json$/,
  /^README\.md$/,
  /^LICENSE$/,
  /^CHANGELOG\.md$/,
  /^dist\/.+\.(js|cjs|d\.ts|d\.cts)$/,
  // For tools that ask for the condition `source`.
  /^src\/.+\.ts$/,
];

/** By the package's folder. */
const BY_SOME: Readonly<Record<string, readonly RegExp[]>> = {
  // The simulator is built where it is used, and so are the rules as one program.
  "cuda-simulator": [
    /^native\/(CMakeLists\.txt|README\.md)$/,
    /^native\/(src|tools)\/.+\.(cpp|h|inc|map)$/, // the linker's maps, of what the libraries offer
    /^native\/test\/(CMakeLists\.txt|[^/]+\.(cpp|h|inc))$/,
  ],
  // The child processes of a Tesseract start with these.
  serve: [/^src\/.+\.mjs$/],
  // The addon, and what it is built from where no prebuilt one fits.
  "transport-cuda-ipc": [
    /^binding\.gyp$/,
    /^native\/[^/]+\.(cc|h)$/,
    /^prebuilds\/linux-(x64|arm64)\/@tesseract-ts\+transport-cuda-ipc\.(glibc|musl)\.node$/,
    /^scripts\/install\.mjs$/,
  ],
};

const A_TEST = /^bench\/|(^|\/)(tests?|__tests__|fixtures?|golden|coverage)\/|\.(test|spec|bench)\.[cm]?[jt]s$/;

/** Paths that aren't meant to be in a package's tarball. */
export function unmeant(folder: string, paths: readonly string[]): readonly string[] {
  const own = BY_SOME[folder] ?? [];
  return paths.filter((path) => {
    if (own.some((pattern) => pattern.test(path))) return false;
    return A_TEST.test(path) || !BY_ALL.some((pattern) => pattern.test(path));
  });
}
