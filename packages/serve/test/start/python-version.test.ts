import { describe, expect, test } from "vitest";
import { allows, pythonForLock } from "../../src/start/python-version.js";

describe("a range of versions", () => {
  test.each([
    [">=3.10", true],
    [">=3.12,<3.14", false],
    [">3.11", false],
    ["<=3.11", true],
    ["<3.11", false],
    ["~=3.10", true],
    ["~=3.10.2", false],
    ["==3.11", true],
    ["==3.11.*", true],
    ["==3.12.*", false],
    ["!=3.11.*", false],
    ["!=3.10", true],
    ["", true],
  ])("%j allows 3.11: %j", (range, allowed) => {
    expect(allows(range, "3.11")).toBe(allowed);
  });
});

describe("a lock file's Python", () => {
  test("is 3.11, as in the reference's images, where the lock allows it", () => {
    expect(pythonForLock('lock-version = "1.0"\nrequires-python = ">=3.10"\n')).toBe("3.11");
    expect(pythonForLock('lock-version = "1.0"\n')).toBe("3.11");
  });

  test("is what the lock asks for otherwise", () => {
    expect(pythonForLock('requires-python = ">=3.12"\n[[packages]]\n')).toBe(">=3.12");
  });

  test("isn't a package's", () => {
    expect(pythonForLock('lock-version = "1.0"\n[[packages]]\nrequires-python = ">=3.12"\n')).toBe("3.11");
  });
});
