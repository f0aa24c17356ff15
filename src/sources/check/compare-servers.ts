import { type Finding, ok, problem, warning } from '../../common/finding.js';
import type { DirectoryConfig, LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { readOne } from '../../ldap/client/read-one.js';
import { readNumbers } from '../ldap/follow-mode.js';
import type { LdapDirectory } from '../ldap/ldap-directory.js';
import { describeLag, type NumberedState } from '../ldap/numbered-state.js';
import { describeBehind, type ServerState } from '../ldap/position.js';
import { readServerState } from '../ldap/server-state.js';
import { KINDS } from '../source.js';
import { SourceError } from '../source.error.js';

const WHAT = 'directory servers';

/** What the servers of one directory have in common. */
interface Content {
  /** The identity of the base DN, which replication keeps; null when the account does not see it. */
  readonly base: string | null;
  readonly state: ServerState;
  /** Null: the server shows no numbers of changes. */
  readonly numbers: NumberedState | null;
  /** The identities of all users and groups. */
  readonly identities: ReadonlySet<string>;
}

/** A connected server of a directory. */
export interface ConnectedServer {
  readonly connection: LdapConnection;
  readonly server: LdapServerConfig;
}

/**
 * Compares the contents of all servers of DIRECTORY_URL with those of one: each may have to replace the others, and the mirror
 * would follow another content. Servers that are not available are left out.
 * @throws the signal's reason
 */
export async function* compareServers(
  { baseDn }: DirectoryConfig,
  { servers }: LdapSourceConfig,
  directory: LdapDirectory,
  first: ConnectedServer,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const others = servers.filter((server) => server !== first.server);
  if (others.length === 0) return;
  try {
    const content = await readContents(directory, first.connection, baseDn);
    for (const other of others) yield* compareWith(other, content, { first, directory, baseDn, signal });
  } catch (error) {
    if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
    yield warning(WHAT, `${first.server.url}: its content could not be compared: ${error.message}`);
  }
}

interface Comparison {
  readonly first: ConnectedServer;
  readonly directory: LdapDirectory;
  readonly baseDn: string;
  readonly signal: AbortSignal;
}

async function* compareWith(
  other: LdapServerConfig,
  content: Content,
  { first, directory, baseDn, signal }: Comparison,
): AsyncGenerator<Finding> {
  const connection = await directory.servers.connectTo(other, signal).catch((error: unknown) => {
    if (error instanceof LdapError) return null;
    throw error;
  });
  if (connection === null) return;
  try {
    const found = await readContents(directory, connection, baseDn);
    const names = { first: first.server.url, other: other.url, baseDn };
    yield describe(content, found, names);
    yield* describeHidden(content, found, names);
  } catch (error) {
    if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
    yield warning(WHAT, `${other.url}: its content could not be compared: ${error.message}`);
  } finally {
    connection.close();
  }
}

async function readContents(
  directory: LdapDirectory,
  connection: LdapConnection,
  baseDn: string,
): Promise<Content> {
  const entry = await readOne(connection, baseDn, [directory.uuid]);
  const state = await readServerState(connection, directory.searches);
  const numbers = await readNumbers(directory, connection);
  const identities = new Set<string>();
  for (const kind of KINDS)
    for await (const { uuid } of directory.readAll(connection, kind, false)) identities.add(uuid);
  return { base: entry === null ? null : directory.identityOf(entry), state, numbers, identities };
}

interface Names {
  readonly first: string;
  readonly other: string;
  readonly baseDn: string;
}

/** Describes how the content of a server differs from that of the first one (pure). */
function describe(content: Content, found: Content, { first, other, baseDn }: Names): Finding {
  const missing = [...content.identities].filter((uuid) => !found.identities.has(uuid)).length;
  const added = [...found.identities].filter((uuid) => !content.identities.has(uuid)).length;
  const counts = `${missing} users and groups of ${first} are missing there, and ${added} are only there`;
  if (content.base !== null && found.base !== null && content.base !== found.base)
    return problem(
      WHAT,
      `${other} has another directory than ${first}: ${baseDn} has another identity. ${counts}`,
    );
  const behind = describeBehind(content.state, found.state);
  if (behind !== null) return warning(WHAT, `${other} lags behind ${first} by its contextCSN. ${counts}`);
  if (describeBehind(found.state, content.state) !== null)
    return warning(WHAT, `${first} lags behind ${other} by its contextCSN. ${counts}`);
  if (missing + added === 0)
    return ok(WHAT, `${other} has the same ${content.identities.size} users and groups as ${first}`);
  const lags = lagOf(found, content) !== null;
  // The numbers of each also count changes that the other never gets.
  if (lags !== (lagOf(content, found) !== null))
    return warning(
      WHAT,
      `${lags ? other : first} lags behind ${lags ? first : other} by its numbers of changes. ${counts}`,
    );
  return problem(WHAT, `${other} has other content than ${first}, or one of them lags. ${counts}`);
}

function lagOf({ numbers }: Content, { numbers: known }: Content): string | null {
  return numbers === null || known === null ? null : describeLag(known, numbers);
}

/** Warns of servers of which a lag cannot be recognized. */
function* describeHidden(content: Content, found: Content, { first, other }: Names): Generator<Finding> {
  for (const [url, { numbers, state }] of [
    [first, content],
    [other, found],
  ] as const)
    if (numbers === null ? KINDS.some((kind) => state[kind] === null) : numbers.showsOthers !== true)
      yield warning(
        WHAT,
        `${url} does not show which changes of the others it has: it is not known whether it lags`,
      );
}
