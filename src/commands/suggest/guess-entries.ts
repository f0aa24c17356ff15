import { mappableFields } from '../../config/model/build-mapping.js';
import type { FoundAttribute } from './evidence.js';

type Found = ReadonlyMap<string, FoundAttribute>;
type Kind = 'users' | 'groups';

/** Attributes of which one has the id. Each entry needs one. */
const IDS: Readonly<Record<Kind, readonly string[]>> = {
  users: ['uid', 'sAMAccountName', 'cn'],
  groups: ['cn', 'sAMAccountName', 'uid'],
};
const NAMES: readonly string[] = ['displayName', 'cn', 'name', 'gecos'];
const UUIDS: readonly string[] = ['entryUUID', 'objectGUID', 'nsUniqueId', 'ipaUniqueID'];
const CREATED: readonly string[] = ['createTimestamp', 'whenCreated', 'creationDate'];
const MODIFIED: readonly string[] = ['modifyTimestamp', 'whenChanged'];

/** Attributes of built-in fields, the usual one first. */
const BUILT_IN: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>> = {
  users: {
    givenName: ['givenName', 'gn'],
    familyName: ['sn', 'surname'],
    email: ['mail', 'rfc822Mailbox', 'mailPrimaryAddress'],
    schoolYear: ['schoolYear'],
    photo: ['jpegPhoto', 'thumbnailPhoto'],
    picture: ['profilePicture'],
  },
  groups: {
    description: ['description'],
    website: ['labeledURI', 'wWWHomePage', 'url'],
    email: ['mail', 'mailPrimaryAddress'],
  },
};

/** An attribute that locks or disables an account, and the filter of the accounts that are not active. */
const DISABLED: readonly (readonly [string, string])[] = [
  ['userAccountControl', '(userAccountControl:1.2.840.113556.1.4.803:=2)'],
  ['nsAccountLock', '(nsAccountLock=TRUE)'],
  ['loginDisabled', '(loginDisabled=TRUE)'],
  ['pwdAccountLockedTime', '(pwdAccountLockedTime=000001010000Z)'],
];

/** Attributes that are requested by name, because servers return them only then. */
export const REQUESTED: readonly string[] = [
  ...UUIDS,
  ...CREATED,
  ...MODIFIED,
  ...DISABLED.map(([name]) => name),
];

/** The attributes of the identity and of built-in fields. Null: the entries have none of the usual ones. */
export interface GuessedEntries {
  readonly id: string | null;
  readonly name: readonly string[];
  readonly builtIn: ReadonlyMap<string, string>;
  readonly disabled: string | null;
}

/** Guesses what the attributes of users or groups mean (pure). */
export function guessEntries(kind: Kind, found: Found): GuessedEntries {
  const builtIn = mappableFields(kind).flatMap((field) => {
    const attribute = mostUsed(BUILT_IN[kind][field] ?? [], found);
    return attribute === null ? [] : [[field, attribute] as const];
  });
  const locked = DISABLED.find(([name]) => found.has(name.toLowerCase()));
  return {
    id: mostUsed(IDS[kind], found),
    name: NAMES.filter((name) => found.has(name.toLowerCase())).slice(0, 2),
    builtIn: new Map(builtIn),
    disabled: kind === 'users' ? (locked?.[1] ?? null) : null,
  };
}

/**
 * The attributes with the identity and the times of all entries (pure).
 * @param identity the attribute that the preset of the server uses
 */
export function guessOperational(
  found: Found,
  identity: string,
): {
  uuid: string | null;
  createdAt: string | null;
  modifiedAt: string | null;
} {
  return {
    uuid: mostUsed([identity, ...UUIDS], found),
    createdAt: mostUsed(CREATED, found),
    modifiedAt: mostUsed(MODIFIED, found),
  };
}

/** The candidate that most entries have; of several, the first. */
function mostUsed(candidates: readonly string[], found: Found): string | null {
  const countOf = (name: string) => found.get(name.toLowerCase())?.count ?? 0;
  const best = candidates.reduce<string | null>(
    (known, each) => (countOf(each) > (known === null ? 0 : countOf(known)) ? each : known),
    null,
  );
  return best;
}
