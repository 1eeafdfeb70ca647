/** The same in threads. */
import { work } from "./work.js";

export default work("worker");
