/** Which Python an environment is built on. */

/** The one of Debian 12, which the reference builds its images on unless told otherwise. */
export const DEFAULT_PYTHON = "3.11";

/** The Python that a lock file (PEP 751) allows, if it isn't the default one; else the default one. */
export function pythonForLock(lockFile: string): string {
  // Of the top level, so before the first table.
  const [top = ""] = lockFile.split(/^\s*\[/m);
  const range = /^\s*requires-python\s*=\s*["']([^"']*)["']/m.exec(top)?.[1];
  return range === undefined || allows(range, DEFAULT_PYTHON) ? DEFAULT_PYTHON : range;
}

/** Whether a range such as `>=3.12,<3.14` has a version, as PEP 440 says for versions that are only numbers. */
export function allows(range: string, version: string): boolean {
  return range
    .split(",")
    .map((clause) => clause.trim())
    .filter((clause) => clause !== "")
    .every((clause) => {
      const [, operator = "==", bound = ""] = /^(~=|===?|!=|<=|>=|<|>)?\s*(.*)$/.exec(clause) ?? [];
      const order = compare(version, bound);
      switch (operator) {
        case ">=":
          return order >= 0;
        case ">":
          return order > 0;
        case "<=":
          return order <= 0;
        case "<":
          return order < 0;
        case "~=":
          return order >= 0 && startsWith(version, bound.split(".").slice(0, -1));
        case "!=":
          return !equals(version, bound);
        default:
          return equals(version, bound);
      }
    });
}

const equals = (version: string, bound: string): boolean =>
  bound.endsWith(".*") ? startsWith(version, bound.slice(0, -2).split(".")) : compare(version, bound) === 0;

const startsWith = (version: string, parts: readonly string[]): boolean =>
  parts.every((part, index) => Number(part) === Number(version.split(".")[index] ?? 0));

function compare(one: string, other: string): number {
  const [a, b] = [one.split("."), other.replace(/\.\*$/, "").split(".")];
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = Number(a[index] ?? 0) - Number(b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
