/** The recipe of an image, for `docker build` and `podman build`. */
import { RUNTIME_LABEL } from "../containers/image.js";

/** Where everything is in the image, as in those of the reference. */
export const HOME = "/tesseract";
/** Not root, and no one else either. The same as in the reference's images. */
const USER = "9999:9999";

export interface ImageDescription {
  readonly base: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** The module that exports the Tesseract, below the image's folder. */
  readonly entry: string;
  /** The program that serves it, below the image's folder. */
  readonly program: string;
  /** Of the package that serves it. */
  readonly runtime: string;
  /** More variables that it sets. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Nothing in it runs a program, so that any base with Node will do, without a shell and for any processor. */
export function containerfile(image: ImageDescription): string {
  const variables = {
    NODE_ENV: "production",
    TESSERACT_NAME: image.name,
    TESSERACT_VERSION: image.version,
    TESSERACT_DESCRIPTION: image.description,
    TESSERACT_API_PATH: `${HOME}/${image.entry}`,
    TESSERACT_INPUT_PATH: `${HOME}/input_data`,
    TESSERACT_OUTPUT_PATH: `${HOME}/output_data`,
    ...image.environment,
  };
  const node = ["node", "--enable-source-maps", `${HOME}/${image.program}`];
  return `# The Tesseract ${oneLine(image.name)}. In this folder: docker build --tag NAME --file Containerfile .
FROM ${image.base}

LABEL ${RUNTIME_LABEL}=${quoted(image.runtime)}
ENV ${Object.entries(variables)
    .map(([name, value]) => `${name}=${quoted(value)}`)
    .join(" \\\n    ")}

WORKDIR ${HOME}
COPY tesseract/ ${HOME}/

USER ${USER}
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ${JSON.stringify([...node, "health"])}
ENTRYPOINT ${JSON.stringify(node)}
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
`;
}

/** Within double quotes these mean something; a line break ends the instruction. */
const quoted = (value: string): string => `"${oneLine(value).replace(/[\\"$]/g, "\\$&")}"`;

const oneLine = (value: string): string => value.replace(/\s*[\r\n]+\s*/g, " ").trim();
