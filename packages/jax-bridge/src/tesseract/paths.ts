/** Paths into a Tesseract's trees, as its endpoints spell them. */

export interface MatchedPath {
  /** `alpha.beta.x`, `layers.[3]`, `params.{learning rate}`. */
  readonly path: string;
  /** The template of a differentiable array that it fits, such as `params.{}`. */
  readonly template: string | undefined;
}

/**
 * The path of a leaf. Which of its keys are written in braces, because they are keys of a free-form dict and no fields
 * of a schema, only the templates know.
 *
 * @param segments keys as they are, indices as `[3]`
 * @param templates paths of differentiable arrays, such as `params.{}` and `layers.[].weights`
 */
export function matchPath(segments: readonly string[], templates: Iterable<string>): MatchedPath {
  for (const template of templates) {
    const path = fit(segments, template.split("."));
    if (path !== undefined) return { path, template };
  }
  return { path: segments.join("."), template: undefined };
}

function fit(segments: readonly string[], template: readonly string[]): string | undefined {
  if (segments.length !== template.length) return undefined;
  const parts: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const expected = template[index];
    if (expected === "{}") parts.push(`{${segment.replace(/[{}\\]/g, "\\$&")}}`);
    else if (expected === segment || (expected === "[]" && /^\[\d+\]$/.test(segment))) parts.push(segment);
    else return undefined;
  }
  return parts.join(".");
}
