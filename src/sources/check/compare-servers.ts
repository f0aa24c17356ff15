import { type Finding, ok, problem, warning } from '../../common/finding.js';
import type { DirectoryConfig, LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { readOne } from '../../ldap/client/read-one.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { LdapServers } from '../ldap/ldap-servers.js';
import { ServerDirectory } from '../ldap/server-directory.js';
import { SourceError } from '../source.error.js';

const WHAT = 'directory servers';

/** What the servers of one directory have in common. */
interface Content {
  /** The identity of the base DN, which replication keeps; null when the account does not see it. */
  readonly base: string | null;
  readonly directory: ServerDirectory;
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
  config: DirectoryConfig,
  servers: LdapServers,
  source: LdapSourceConfig,
  directory: ServerDirectory,
  first: ConnectedServer,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const others = source.servers.filter((server) => server !== first.server);
  if (others.length === 0) return;
  try {
    const content = await readContents(directory);
    for (const other of others) yield* compareWith(other, content, { first, servers, config, signal });
  } catch (error) {
    if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
    yield warning(WHAT, `${first.server.url}: its content could not be compared: ${error.message}`);
  }
}

interface Comparison {
  readonly first: ConnectedServer;
  readonly servers: LdapServers;
  readonly config: DirectoryConfig;
  readonly signal: AbortSignal;
}

async function* compareWith(
  other: LdapServerConfig,
  content: Content,
  { first, servers, config, signal }: Comparison,
): AsyncGenerator<Finding> {
  const connection = await servers.connectTo(other, signal).catch((error: unknown) => {
    if (error instanceof LdapError) return null;
    throw error;
  });
  if (connection === null) return;
  try {
    const directory = new ServerDirectory(config, connection);
    await directory.begin(signal);
    const found = await readContents(directory);
    const names = { first: first.server.url, other: other.url, baseDn: config.baseDn };
    yield await describe(content, found, names);
    yield* describeHidden(content, found, names);
  } catch (error) {
    if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
    yield warning(WHAT, `${other.url}: its content could not be compared: ${error.message}`);
  } finally {
    connection.close();
  }
}

/** @param directory is begun */
async function readContents(directory: ServerDirectory): Promise<Content> {
  const entry = await readOne(directory.connection, directory.config.baseDn, [directory.uuid]);
  const identities = new Set<string>();
  for await (const page of directory.scan(() => Promise.resolve(new Map())))
    for (const { uuid } of page) identities.add(uuid);
  return { base: entry === null ? null : uuidOfEntry(entry, directory.uuid), directory, identities };
}

interface Names {
  readonly first: string;
  readonly other: string;
  readonly baseDn: string;
}

/** Describes how the content of a server differs from that of the first one. */
async function describe(content: Content, found: Content, { first, other, baseDn }: Names): Promise<Finding> {
  const missing = [...content.identities].filter((uuid) => !found.identities.has(uuid)).length;
  const added = [...found.identities].filter((uuid) => !content.identities.has(uuid)).length;
  const counts = `${missing} users and groups of ${first} are missing there, and ${added} are only there`;
  if (content.base !== null && found.base !== null && content.base !== found.base)
    return problem(
      WHAT,
      `${other} has another directory than ${first}: ${baseDn} has another identity. ${counts}`,
    );
  if (await lacks(found, content))
    return warning(WHAT, `${other} lags behind ${first} by its contextCSN. ${counts}`);
  if (await lacks(content, found))
    return warning(WHAT, `${first} lags behind ${other} by its contextCSN. ${counts}`);
  if (missing + added === 0)
    return ok(WHAT, `${other} has the same ${content.identities.size} users and groups as ${first}`);
  return problem(WHAT, `${other} has other content than ${first}, or one of them lags. ${counts}`);
}

async function lacks({ directory }: Content, known: Content): Promise<boolean> {
  return (await directory.describeLag(known.directory.contextCsns)) !== null;
}

/** Warns of servers of which a lag cannot be recognized. */
function* describeHidden(content: Content, found: Content, { first, other }: Names): Generator<Finding> {
  for (const [url, { directory }] of [
    [first, content],
    [other, found],
  ] as const)
    if (directory.contextCsns.length === 0)
      yield warning(
        WHAT,
        `${url} does not show which changes of the others it has: it is not known whether it lags`,
      );
}
