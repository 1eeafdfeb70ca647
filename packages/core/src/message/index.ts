/**
 * What the other side of a call needs: the same messages, read and written by a server. For packages that serve Tesseracts;
 * programs that call one have no use for it.
 */

export { EXPORTS_DONE_HEADER, EXPORTS_HEADER } from "../exports.js";
export {
  CALL_HEADER,
  ENDED_HEADER,
  GIVEN_UP_HEADER,
  PEER_HEADER,
} from "../given-up-calls.js";
export { JsonReader, type JsonReaderOptions } from "../json/reader.js";
export { JsonSyntaxError } from "../json/syntax-error.js";
export { JsonBody } from "../json/writer.js";
export { hasWrittenFloat, isWrittenFloat } from "../json/written-floats.js";
export { outputFormatOf } from "../transport.js";
export { TransportSet } from "../transport-set.js";
export { checkEncodedArray, isEncodedArray } from "./decode-message.js";
export { type EncodedRequest, type EncodingPlan, encodeMessage } from "./encode-message.js";
export { mapArrays } from "./leaves.js";
export { MessageLease } from "./message-lease.js";
