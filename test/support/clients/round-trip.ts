import { writeClients } from './clients.js';
import { personDn } from '../builders/directory.js';
import { eventually } from '../eventually.js';
import { FollowedDirectory } from '../servers/ldap.js';
import { type Payload, sendPreviews } from './previews.js';

/** The compared properties of users and groups: all but times. */
export const ROLE = 'role { value direct inheritedFrom { id } }';
export const USER = `id name givenName familyName email schoolYear groups(first: 20) { totalCount nodes { group { id name } ${ROLE} } }`;
export const GROUP =
  `id name description website email members(first: 100) { totalCount nodes { user { id name } ${ROLE} } } ` +
  'parents(first: 20) { totalCount nodes { id name } } subgroups(first: 20) { totalCount nodes { id name } }';

/** A previewed change with a name, which `ldapmodify` applies. */
export interface Mutation {
  /** The mutation, with `$input` for its input. */
  readonly field: string;
  readonly input: Record<string, unknown>;
  /** The selection of the payload. */
  readonly payload: string;
}

interface Outcome {
  promised: unknown;
  answered: unknown;
  codes: string[];
  ldif: string;
}

/** The user whose name changes last, which shows that the mirror is up to date. */
const LAST_CHANGED = 'beacon';
/** A user who is a member of every group. */
export const SENTINEL = 'sentinel';

/** Every group of the sentinel with all its members. */
const AROUND =
  `id givenName groups(first: 50) { totalCount nodes { ${ROLE} group { id name description website email ` +
  `members(first: 50) { totalCount nodes { ${ROLE} user { id name givenName familyName email schoolYear groups(first: 50) { totalCount nodes { group { id name } ${ROLE} } } } } } ` +
  'parents(first: 20) { totalCount nodes { id name } } subgroups(first: 20) { totalCount nodes { id name } } } } }';

/** Previews changes, applies them to the directory like its administrator, and reads the result from the mirror. */
export class RoundTrip {
  private caughtUp = 0;
  private changes = 0;

  private constructor(
    readonly directory: FollowedDirectory,
    private readonly administrator: string,
  ) {}

  /** @param me the user for whom the client `my` acts */
  static async start(ldif: string, me: string): Promise<RoundTrip> {
    const watchers = [LAST_CHANGED, SENTINEL].map(
      (id) => `\ndn: ${personDn(id)}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: 0\nsn: 0\n`,
    );
    const directory = await FollowedDirectory.start(
      { ldif: ldif + watchers.join('') },
      {
        AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'my', owner: me }]),
        DIRECTORY_GUARD_PERCENT: '100',
        LIMIT_DEPTH: '20',
        LIMIT_ALIASES: '1000',
        LIMIT_TOKENS: '100000',
        LIMIT_BODY_BYTES: '10000000',
        LIMIT_NODES: '1000000',
      },
    );
    return new RoundTrip(directory, await directory.service.serviceAccount('read', 'directory', 'write'));
  }

  /** The payloads of several mutations in one operation, in order; null for rejected ones. */
  async preview(mutations: readonly Mutation[], as: 'administrator' | 'me' = 'administrator') {
    const types = mutations.map(({ field }, index) => `$i${index}: ${inputType(field)}!`);
    const fields = mutations.map(
      ({ field, payload }, index) => `m${index}: ${field}(input: $i${index}) { preview { ldif } ${payload} }`,
    );
    const { data, errors } = await sendPreviews<Record<string, Payload | null>>(
      this.directory.service,
      `mutation (${types.join(', ')}) { ${fields.join(' ')} }`,
      {
        authorization:
          as === 'me'
            ? await this.directory.service.accessToken('profile read write', 'my')
            : this.administrator,
        variables: Object.fromEntries(mutations.map(({ input }, index) => [`i${index}`, input])),
      },
    );
    const codes = errors.map(({ extensions, message }) => `${extensions.code} ${message}`);
    return { payloads: mutations.map((_, index) => data?.[`m${index}`] ?? null), codes };
  }

  /** The result code of the directory for LDIF: 0, or the code of the first rejected record. */
  async apply(...ldif: string[]): Promise<number> {
    const { code, stderr } = await this.directory.slapd.modify(ldif.join(''));
    this.lastOutput = stderr;
    return code;
  }

  /** The last output of ldapmodify. */
  lastOutput = '';

  /** Waits until the applied changes are visible. */
  async catchUp(): Promise<void> {
    const name = `Caught up ${++this.caughtUp}`;
    await this.directory.change(
      `dn: ${personDn(LAST_CHANGED)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`,
    );
    await eventually(
      async () =>
        (await this.read<{ name: string }>({ it: `user(user: {id: "${LAST_CHANGED}"}) { name }` }))['it']
          ?.name,
      name,
    );
  }

  /** Responses of the API, by name. */
  async read<Answer>(fields: Record<string, string>): Promise<Record<string, Answer | null>> {
    const selections = Object.entries(fields).map(([name, field]) => `${name}: ${field}`);
    const { data } = await this.directory.service.query<Record<string, Answer | null>>(
      `{ ${selections.join(' ')} }`,
      { authorization: this.administrator },
    );
    return data ?? {};
  }

  /**
   * Previews changes in one operation, applies those that are not rejected, and reads everything that the sentinel sees.
   * @returns the state at the end of the preview and the state of the API afterwards; the LDIF; the rejections with reasons
   */
  async perform(mutations: readonly Mutation[]): Promise<Outcome> {
    const last = {
      field: 'updateUser',
      input: { user: { id: SENTINEL }, givenName: `Change ${++this.changes}` },
      payload: `user { ${AROUND} }`,
    };
    const { payloads, codes } = await this.preview([...mutations, last]);
    const ldif = ldifOf(payloads);
    if ((await this.apply(ldif)) !== 0) throw new Error(`${this.lastOutput}\n${ldif}`);
    await this.catchUp();
    const { it } = await this.read({ it: `user(user: {id: "${SENTINEL}"}) { ${AROUND} }` });
    return { promised: payloads.at(-1)?.['user'], answered: it, codes, ldif };
  }

  stop(): Promise<void> {
    return this.directory.stop();
  }
}

/** `updateUser` has an `UpdateUserInput`. */
function inputType(field: string): string {
  return `${field.charAt(0).toUpperCase()}${field.slice(1)}Input`;
}

/** The LDIF of the payloads that are not null. */
export function ldifOf(payloads: readonly (Payload | null)[]): string {
  return payloads.map((payload) => payload?.preview.ldif ?? '').join('');
}
