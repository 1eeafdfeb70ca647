// Reads what an ELF file of 64 bits, little-endian, needs of the machine that loads it. (System V ABI, chapters 4 and 5; the
// symbol versions are GNU's, as the Linux Standard Base describes them.)

const MACHINES = new Map([
  [62, "x86_64"],
  [183, "aarch64"],
]);

const SECTION = { symtab: 2, strtab: 3, dynamic: 6, dynsym: 11, versionNeeds: 0x6ffffffe };
const NEEDED = 1n;
const UNDEFINED_SECTION = 0;

/**
 * @typedef {object} Elf
 * @property {string | undefined} machine
 * @property {readonly string[]} libraries names of the shared libraries that it needs
 * @property {readonly string[]} versions of symbols that it needs: `GLIBC_2.14`
 * @property {readonly string[]} imports symbols that it needs
 * @property {readonly string[]} exports symbols that it offers
 * @property {boolean} stripped it has no table of symbols besides the dynamic one
 */

/**
 * @param {Buffer} file
 * @returns {Elf}
 */
export function readElf(file) {
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1) {
    throw new Error("This is no ELF file of 64 bits, little-endian");
  }
  const sections = sectionsOf(file);
  const one = (type) => sections.find((section) => section.type === type);
  const symbols = symbolsOf(file, one(SECTION.dynsym), sections);
  return {
    machine: MACHINES.get(file.readUInt16LE(18)),
    libraries: librariesOf(file, one(SECTION.dynamic), sections),
    versions: versionsOf(file, one(SECTION.versionNeeds), sections),
    imports: symbols.filter(({ section }) => section === UNDEFINED_SECTION).map(({ name }) => name),
    exports: symbols.filter(({ section }) => section !== UNDEFINED_SECTION).map(({ name }) => name),
    stripped: one(SECTION.symtab) === undefined,
  };
}

function sectionsOf(file) {
  const offset = Number(file.readBigUInt64LE(40));
  const [size, count] = [file.readUInt16LE(58), file.readUInt16LE(60)];
  return Array.from({ length: count }, (_, index) => {
    const at = offset + index * size;
    return {
      type: file.readUInt32LE(at + 4),
      offset: Number(file.readBigUInt64LE(at + 24)),
      size: Number(file.readBigUInt64LE(at + 32)),
      link: file.readUInt32LE(at + 40),
      info: file.readUInt32LE(at + 44),
      entry: Number(file.readBigUInt64LE(at + 56)),
    };
  });
}

/** The text at an offset of a section's string table. */
function textIn(file, section, sections, offset) {
  const start = sections[section.link].offset + offset;
  return file.toString("latin1", start, file.indexOf(0, start));
}

function entriesOf(section) {
  if (section === undefined) return [];
  return Array.from({ length: section.size / section.entry }, (_, index) => section.offset + index * section.entry);
}

function symbolsOf(file, section, sections) {
  return entriesOf(section)
    .slice(1) // the first is empty
    .map((at) => ({
      name: textIn(file, section, sections, file.readUInt32LE(at)),
      section: file.readUInt16LE(at + 6),
    }));
}

function librariesOf(file, section, sections) {
  return entriesOf(section)
    .filter((at) => file.readBigInt64LE(at) === NEEDED)
    .map((at) => textIn(file, section, sections, Number(file.readBigUInt64LE(at + 8))));
}

/** Two chained lists: files, and in each the versions that are needed of it. */
function versionsOf(file, section, sections) {
  const versions = [];
  let at = section?.offset ?? 0;
  for (let left = section?.info ?? 0; left > 0; left--) {
    let entry = at + file.readUInt32LE(at + 8);
    for (let count = file.readUInt16LE(at + 2); count > 0; count--) {
      versions.push(textIn(file, section, sections, file.readUInt32LE(entry + 8)));
      entry += file.readUInt32LE(entry + 12);
    }
    at += file.readUInt32LE(at + 12);
  }
  return [...new Set(versions)];
}
