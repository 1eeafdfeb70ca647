import { describe, expect, test } from "vitest";
import { parseCommandLine } from "../../src/cli/command-line.js";
import { simulatorError } from "../support.js";

describe("the command line", () => {
  test("has the program behind --, with whatever options it has", () => {
    expect(parseCommandLine(["run", "--devices", "2", "--leaks", "--", "ls", "--help", "--", "-x"])).toMatchObject({
      command: "run",
      program: "ls",
      args: ["--help", "--", "-x"],
      settings: { devices: 2 },
      summary: true,
      append: false,
    });
  });

  test("has every setting, and any number of faults", () => {
    const options = "--memory 1GiB --delay 1ms..2ms --seed 7 --strict --peers --host b --machine m --trace t --append";
    const faults = ["--fault", "cuInit@1=2", "--fault=cuMemFree@*=die"];
    expect(parseCommandLine(["run", ...options.split(" "), ...faults, "--", "true"])).toMatchObject({
      settings: {
        memory: "1GiB",
        delay: "1ms..2ms",
        seed: 7n,
        strict: true,
        peers: true,
        host: "b",
        faults: [
          { call: "cuInit", nth: 1, code: 2 },
          { call: "cuMemFree", nth: "every", die: true },
        ],
      },
      machine: "m",
      trace: "t",
      append: true,
    });
  });

  test("builds the libraries, their tests, or only the rules", () => {
    expect(parseCommandLine(["build"])).toEqual({ command: "build", tests: false, rules: false });
    expect(parseCommandLine(["build", "--tests"])).toEqual({ command: "build", tests: true, rules: false });
    expect(parseCommandLine(["build", "--rules"])).toEqual({ command: "build", tests: false, rules: true });
  });

  test.each([[["--help"]], [["-h"]], [["help"]], [["run", "--help"]], [["report", "-h"]]])(
    "%j asks for help",
    (args) => {
      expect(parseCommandLine(args)).toEqual({ command: "help" });
    },
  );

  test.each<[string[], string]>([
    [[], "There is no command"],
    [["fly"], "Unknown command fly"],
    [["--devices"], "Unknown option --devices"],
    [["run", "python3", "x.py"], "behind --"],
    [["run", "--devices", "2"], "behind --"],
    [["run", "--"], "behind --"],
    [["run", "python3", "--", "x.py"], "behind --"],
    [["run", "--devics", "2", "--", "ls"], "Unknown option '--devics'"],
    [["run", "--devices", "two", "--", "ls"], "--devices is 'two'"],
    [["run", "--seed", "-1", "--", "ls"], "--seed"],
    [["run", "--append", "--", "ls"], "--append needs --trace"],
    [["run", "--trace"], "--trace"],
    [["report"], "one trace"],
    [["report", "a", "b"], "one trace"],
    [["report", "a", "--timeline", "a.png"], "a .json or an .html file"],
    [["status", "a", "b"], "one machine"],
    [["build", "--all"], "--all"],
    [["build", "--tests", "--rules"], "--tests or --rules"],
  ])("%j is told what is wrong", (args, words) => {
    expect(() => parseCommandLine(args)).toThrow(simulatorError("USAGE", words));
  });

  test.each<[string[], string]>([
    [["--devices", "17"], "devices"],
    [["--memory", "lots"], "memory"],
    [["--delay", "soon"], "delay"],
    [["--fault", "cuInit"], "Fault"],
    [["--machine", "../x"], "--machine"],
  ])("an option that makes no sense is refused before anything runs: %j", (args, words) => {
    expect(() => parseCommandLine(["run", ...args, "--", "true"])).toThrow(simulatorError("INVALID_OPTION", words));
  });
});
