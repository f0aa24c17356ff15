import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { ConfigError, type DirectoryConfig } from '../config/config.js';
import { InvalidDnError, isBelow, normaliseDn } from '../ldap/dn.js';
import type { Entry } from '../ldap/entry.js';
import { compileFilter } from '../ldap/filter.js';
import { InvalidFilterError } from '../ldap/filter-parser.js';
import { readLdif } from '../ldap/ldif.js';
import { CONTENT_VERSION } from './plan.js';
import { SourceError } from './source.error.js';

export type EntryKind = 'person' | 'group';

/** Bytes that are read from the disk at once. */
const CHUNK = 1 << 18;

/** A directory in an LDIF content file. */
export class LdifSource {
  private readonly isPerson: (entry: Entry) => boolean;
  private readonly isGroup: (entry: Entry) => boolean;

  /** @throws ConfigError when a filter or a base is malformed */
  constructor(private readonly config: DirectoryConfig) {
    const { people, groups } = config.mapping;
    const problems = [...problemsOf('PEOPLE', people), ...problemsOf('GROUPS', groups)];
    if (problems.length > 0) throw new ConfigError(problems);
    this.isPerson = chooser(people.base, people.filter);
    this.isGroup = chooser(groups.base, groups.filter);
  }

  /**
   * Stands for the file as it is now, and for how it is mapped: equal ones mean that nothing has to be read.
   * @throws SourceError when the file is not there
   */
  async fingerprint(): Promise<string> {
    const { ino, size, mtimeMs } = await this.stat();
    const mapping = createHash('sha256')
      .update(JSON.stringify([CONTENT_VERSION, this.config.mapping]))
      .digest('base64url')
      .slice(0, 11);
    return `${ino}-${size}-${mtimeMs}-${mapping}`;
  }

  /**
   * The people and groups of the file, in its order.
   * @throws LdifError when the file is broken; SourceError when it cannot be read or changes meanwhile
   */
  async *read(): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    const before = await this.fingerprint();
    for await (const entry of readLdif(this.chunks())) {
      if (this.isPerson(entry)) yield { kind: 'person', entry };
      else if (this.isGroup(entry)) yield { kind: 'group', entry };
    }
    if ((await this.fingerprint()) !== before) throw new SourceError('The file changed while it was read');
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    try {
      yield* createReadStream(this.config.file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>;
    } catch (error) {
      throw new SourceError('The directory file cannot be read', { cause: error });
    }
  }

  private async stat() {
    try {
      return await stat(this.config.file);
    } catch (error) {
      throw new SourceError('The directory file is not there, or cannot be read', { cause: error });
    }
  }
}

/** What is wrong with the settings that say where entries of a kind are, one line for each. */
function problemsOf(
  kind: 'PEOPLE' | 'GROUPS',
  { base, filter }: { base: string; filter: string },
): readonly string[] {
  const problems: string[] = [];
  try {
    normaliseDn(base);
  } catch (error) {
    if (!(error instanceof InvalidDnError)) throw error;
    problems.push(`DIRECTORY_${kind}_BASE and DIRECTORY_BASE_DN make no DN: ${error.message}`);
  }
  try {
    compileFilter(filter);
  } catch (error) {
    if (!(error instanceof InvalidFilterError)) throw error;
    problems.push(`DIRECTORY_${kind}_FILTER is no filter (RFC 4515): ${error.message}`);
  }
  return problems;
}

function chooser(base: string, filter: string): (entry: Entry) => boolean {
  const matches = compileFilter(filter);
  return (entry) => matches(entry) && isBelow(entry.dn, base);
}
