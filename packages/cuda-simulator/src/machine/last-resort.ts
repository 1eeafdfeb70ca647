/**
 * What has to be done even if this process ends without disposing of its machines: on Ctrl-C, an uncaught error or
 * `process.exit`. Exit handlers and signals belong to the process as a whole, and so does this list.
 */
const tasks = new Set<() => void>();

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs `task`, which can't wait for anything, if the process ends before `cancel` was called. */
export function beforeExit(task: () => void): { cancel(): void } {
  if (tasks.size === 0) {
    process.on("exit", runAll);
    for (const signal of SIGNALS) process.on(signal, onSignal);
  }
  tasks.add(task);
  return {
    cancel: () => {
      if (!tasks.delete(task) || tasks.size > 0) return;
      process.off("exit", runAll);
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}

function runAll(): void {
  for (const task of tasks) {
    try {
      task();
    } catch {
      // The others have to run all the same, and nobody is left to be told.
    }
  }
  tasks.clear();
}

function onSignal(signal: NodeJS.Signals): void {
  // A test runner or a server that has a handler of its own ends the process itself, and then "exit" comes.
  if (process.listenerCount(signal) > 1) return;
  runAll();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}
