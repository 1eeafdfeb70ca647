/** The rules that a transport keeps, as docs/write-a-transport.md explains them. */
import type { Rule } from "../failure.js";

const rule = (anchor: string, text: string): Rule => ({ text, documented: `write-a-transport.md#${anchor}` });

export const rules = {
  identity: rule(
    "a-name-and-a-reach",
    "A transport has a name of lower-case letters, digits, `_` and `-`, says what it carries and how far it reaches.",
  ),
  probe: rule("the-probe", "`probe()` never throws: it says that the transport can be used, or why it can't."),
  message: rule(
    "messages",
    "`encode` gives one encoded array for each, in the same order, with its shape, its dtype and the transport's own name as encoding; `decode` gives one array for each.",
  ),
  text: rule("text", "A `TextSource` gives the same text each time, as long as it says, and valid JSON."),
  exact: rule("exact-bytes", "What arrives has the dtype, the shape and every bit of what was sent."),
  inputs: rule("whose-memory", "The arrays that are encoded stay the caller's, and aren't changed."),
  results: rule("whose-memory", "The arrays that are decoded are the receiver's own: they share no memory, and stay."),
  leaseKeeps: rule("leases", "Until its lease is released a message can be read, whatever else is sent meanwhile."),
  leaseEnds: rule("leases", "When a lease is released, nothing that it owned is left."),
  leaseOnce: rule("leases", "A lease ends once: releasing it again does nothing, and neither rejects."),
  abandon: rule(
    "leases",
    "`abandon()` ends a lease under a reader's hands: the reader gets the message or an error, and never other bytes.",
  ),
  abort: rule(
    "abort",
    "A call whose signal is aborted rejects with the signal's reason, or succeeds as if nothing were; it leaves nothing behind.",
  ),
  hostile: rule(
    "hostile-messages",
    "A message that can't be right is refused with a TesseractError, whatever is in it; what had been begun is undone.",
  ),
  proportion: rule(
    "hostile-messages",
    "Memory is taken for what a message really brings, and not for what it announces.",
  ),
  concurrency: rule("at-the-same-time", "Messages that are under way at the same time don't know of each other."),
  session: rule(
    "sessions",
    "A session's `close` gives back what is kept, a lease can outlive it, and what a peer says in headers can't break it.",
  ),
  check: rule(
    "the-check",
    "`encodeCheck` and `decodeCheck` carry bytes both ways, apart from all messages, and refuse what is no check's.",
  ),
  leftovers: rule("nothing-is-left", "When a message is over, no file, descriptor, mapping or memory is left of it."),
  death: rule("nothing-is-left", "The death of one side harms the other in no other way than by an error."),
} as const;
