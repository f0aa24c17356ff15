import { foldId } from '../../common/identity.js';
import { mappingOf, type NamedBy } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { escapeDnValue, InvalidDnError, isBelow, parseDn } from '../../ldap/naming/dn.js';
import type { EntryKind } from '../../sources/source.js';

/** The lists of the model. */
export const LISTS = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;
type List = (typeof LISTS)[EntryKind];

/** Where references are read from, as a key of the model. */
export interface Origin {
  readonly key: string;
  readonly by: NamedBy;
  readonly attributes: readonly string[];
  /** The lists of the model that have what the values name. */
  readonly lists: readonly List[];
}

/** A text that names no mirrored entry. */
export interface Example {
  readonly text: string;
  readonly origin: Origin;
}

/** The folded ids, and the UUIDs, of the mirrored users. */
interface KnownUsers {
  readonly ids: ReadonlySet<string>;
  readonly uuids: ReadonlySet<string>;
}

/** Types of the relative DNs of containers. Others can be personal. */
const CONTAINERS: readonly string[] = ['ou', 'o', 'cn', 'dc', 'l', 'st', 'c'];

/** Finds what to set in the model so that references find entries. */
export class Causes {
  /** Whether the account sees the entries that some values name. */
  private readonly seen = new Map<string, boolean>();

  constructor(
    private readonly config: Pick<DirectoryConfig, 'mapping' | 'baseDn'>,
    private readonly users: KnownUsers,
  ) {}

  /** Looks up what is named in vain, to distinguish what the model leaves out from what the account does not see. */
  async lookUp(examples: readonly Example[], sees: (dn: string) => Promise<boolean>): Promise<void> {
    for (const { text } of examples) this.seen.set(text, isDn(text) && (await sees(text)));
  }

  /** The cure for the cause of most examples. It contains no value. */
  cureOf(examples: readonly Example[]): string {
    const counts = new Map<string, number>();
    const lookedUp = examples.filter(({ text }) => this.seen.has(text));
    for (const example of lookedUp.length === 0 ? examples : lookedUp) {
      const cure = this.cureOfOne(example);
      counts.set(cure, (counts.get(cure) ?? 0) + 1);
    }
    const [[most] = ['']] = [...counts].sort(([, left], [, right]) => right - left);
    return most;
  }

  private cureOfOne({ text, origin }: Example): string {
    const other = this.otherName(text, origin.by);
    if (other !== null) return cureOfName(origin, other);
    if (origin.by === 'dn') return this.cureOfDn(text, origin);
    const keys = origin.by === 'id' ? 'users.base, users.filter and users.id' : 'users.base and users.filter';
    return `set ${keys} so that they select the users that ${origin.key} names`;
  }

  /** How a text names a user, if not in the way that the model says. */
  private otherName(text: string, by: NamedBy): NamedBy | 'text' | null {
    if (isDn(text)) return by === 'dn' ? null : 'dn';
    if (by !== 'id' && this.users.ids.has(foldId(text))) return 'id';
    if (by !== 'uuid' && this.users.uuids.has(text.toLowerCase())) return 'uuid';
    return by === 'dn' ? 'text' : null;
  }

  private cureOfDn(text: string, { lists }: Origin): string {
    const { baseDn } = this.config;
    if (!isBelow(text, baseDn))
      return `set DIRECTORY_BASE_DN to an entry above what is named, which is not below ${baseDn}`;
    const covering = lists.flatMap((list) => {
      const base = this.basesOf(list).find((each) => isBelow(text, each));
      return base === undefined ? [] : [{ list, base }];
    });
    const [first] = covering;
    if (first === undefined)
      return `set ${lists.map((list) => `${list}.base to ${this.describeBases(list, text)}`).join(', or ')}`;
    const orRemove = 'or remove the DNs of deleted entries';
    const isSeen = this.seen.get(text);
    if (isSeen === false) return `let the account read what is named below ${first.base}, ${orRemove}`;
    const filters = covering.map(({ list }) => `${list}.filter`).join(' or ');
    const selecting = `set ${filters} so that it selects what is named below ${first.base}`;
    return isSeen === true ? selecting : `${selecting}, ${orRemove}`;
  }

  private basesOf(list: List): readonly string[] {
    return mappingOf(this.config.mapping, list === 'users' ? 'person' : 'group').bases;
  }

  /** The bases of a list, relative to the base DN, and the container with the entry that is missing. */
  private describeBases(list: List, text: string): string {
    const { baseDn } = this.config;
    const relative = this.basesOf(list).map((base) =>
      base.slice(0, Math.max(0, base.length - baseDn.length - 1)),
    );
    return `[${[...relative, containerOf(text, baseDn)].map((base) => JSON.stringify(base)).join(', ')}]`;
  }
}

function cureOfName({ key }: Origin, named: NamedBy | 'text'): string {
  const what = { dn: 'DNs', id: 'ids of users', uuid: 'entryUUIDs', text: 'no DNs' }[named];
  // The references of fields are DNs.
  if (key.includes('.fields.')) return `set ${key}.type to String, because its values are ${what}`;
  return named === 'text'
    ? `set ${key}.attribute to an attribute with DNs, because the values of this one are not DNs`
    : `set ${key}.by to ${named}, because its values are ${what}`;
}

/** The container directly below the base DN that has an entry; empty for the base DN. */
function containerOf(text: string, baseDn: string): string {
  const rdns = parseDn(text);
  const depth = rdns.length - parseDn(baseDn).length;
  const [pair] = depth < 2 ? [] : (rdns[depth - 1] ?? []);
  if (pair === undefined || typeof pair.value !== 'string') return '';
  return CONTAINERS.includes(pair.type.toLowerCase()) ? `${pair.type}=${escapeDnValue(pair.value)}` : '';
}

function isDn(text: string): boolean {
  try {
    return parseDn(text).length > 0;
  } catch (error) {
    if (error instanceof InvalidDnError) return false;
    throw error;
  }
}
