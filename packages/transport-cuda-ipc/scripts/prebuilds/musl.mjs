// The C library musl, for a Node that was built with it: Debian's package, unpacked into the cache.

import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { mustRun, run, SetupError } from "../../../../scripts/setup/child.mjs";
import { remove, writeWhole } from "../../../../scripts/setup/fingerprint.mjs";
import { cache } from "../../../../scripts/setup/paths.mjs";
import { step } from "../../../../scripts/setup/progress.mjs";

/** Debian's release whose musl is new enough: Node crashes with the 1.2.3 of the one before. */
const RELEASE = "trixie";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** @param {import("./targets.mjs").Target} target */
const folderOf = ({ machine }) => join(cache, `musl-${RELEASE}-${machine}`);

/**
 * A folder that stands in for `/`, with `lib/ld-musl-….so.1`. It is made if it isn't there.
 *
 * @param {import("./targets.mjs").Target} target
 * @throws SetupError where there is no apt, or it finds no such package
 */
export async function muslRoot(target) {
  const folder = folderOf(target);
  if (!existsSync(loaderIn(folder, target))) await step(`musl for ${target.arch}`, () => unpack(folder, target));
  return folder;
}

/** The dynamic linker below such a folder. */
export const loaderIn = (folder, { machine }) => join(folder, "lib", `ld-musl-${machine}.so.1`);

async function unpack(folder, { arch, machine }) {
  const temporary = `${folder}.apt`;
  const mirror = await debianMirror();
  const debian = { x64: "amd64", arm64: "arm64" }[arch];
  remove(temporary);
  remove(folder);
  try {
    for (const part of ["lists/partial", "archives/partial"]) mkdirSync(join(temporary, part), { recursive: true });
    writeWhole(join(temporary, "sources.list"), `deb [signed-by=${KEYRING}] ${mirror} ${RELEASE} main\n`);
    // An apt of its own: this machine's lists and packages stay as they are.
    const settings = {
      "Dir::Etc::SourceList": join(temporary, "sources.list"),
      "Dir::Etc::SourceParts": "-",
      "Dir::State::Lists": join(temporary, "lists"),
      "Dir::State::Status": "/dev/null",
      "Dir::Cache": temporary,
      "APT::Architecture": debian,
      "APT::Architectures": debian,
      "APT::Sandbox::User": "root",
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
    await mustRun("apt-get", [...options, "update"]);
    await mustRun("apt-get", [...options, "download", "musl"], { cwd: temporary });
    const archive = readdirSync(temporary).find((name) => name.endsWith(".deb"));
    await mustRun("dpkg-deb", ["--extract", join(temporary, archive), folder]);
    if (!existsSync(join(folder, "lib"))) symlinkSync("usr/lib", join(folder, "lib"));
    if (!existsSync(loaderIn(folder, { machine }))) throw new SetupError("Debian's musl has no dynamic linker");
  } catch (error) {
    remove(folder);
    throw error;
  } finally {
    remove(temporary);
  }
}

/** The address that this machine has its own packages from. */
async function debianMirror() {
  const { status, output } = await run("apt-get", ["indextargets", "--format", "$(SITE)", "Origin: Debian"]);
  const [site = ""] = output.split("\n");
  if (status !== 0 || !/^https?:/.test(site))
    throw new SetupError("musl is had from Debian's packages, and this isn't Debian");
  if (!existsSync(KEYRING)) throw new SetupError(`${KEYRING} is missing: apt install debian-archive-keyring`);
  return site;
}
