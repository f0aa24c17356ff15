import { type Finding, ok, problem, warning } from '../../common/finding.js';
import type { LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { readOne } from '../../ldap/client/ldap-connection.js';
import { uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { chooseHints } from '../../sources/ldap/hints.js';
import { connectTo } from '../../sources/ldap/ldap-servers.js';
import { ServerDirectory } from '../../sources/ldap/server-directory.js';
import { SourceError } from '../../sources/directory.js';

const WHAT = 'directory servers';

/** What the servers of one directory have in common. */
interface Content {
  readonly url: string;
  readonly directory: ServerDirectory;
  /** The identity of the base DN, which replication keeps; null when the account does not see it. */
  readonly base: string | null;
  /** The identities of all users and groups. */
  readonly identities: ReadonlySet<string>;
}

/**
 * Compares the contents of all servers of DIRECTORY_URL with those of one: each may have to replace the others, and the mirror
 * would follow another content. Servers that are not available are left out.
 * @param directory that of the server `first`, and begun
 * @throws the signal's reason
 */
export async function* compareServers(
  source: LdapSourceConfig,
  directory: ServerDirectory,
  first: LdapServerConfig,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const others = source.servers.filter((server) => server !== first);
  let known: Content | null = null;
  for (const server of others.length === 0 ? [] : [first, ...others]) {
    const found = server === first ? directory : await openOther(server, { source, directory, signal });
    if (found === null) continue;
    try {
      if (found !== directory) await found.begin(chooseHints, signal);
      const content = await readContent(server.url, found);
      if (known === null) known = content;
      else yield* describe(known, content);
    } catch (error) {
      if (!(error instanceof LdapError || error instanceof SourceError)) throw error;
      yield warning(WHAT, `${server.url}: its content could not be compared: ${error.message}`);
      if (found === directory) return;
    } finally {
      if (found !== directory) found.connection.close();
    }
  }
}

interface Opening {
  readonly source: LdapSourceConfig;
  readonly directory: ServerDirectory;
  readonly signal: AbortSignal;
}

async function openOther(server: LdapServerConfig, opening: Opening): Promise<ServerDirectory | null> {
  const { source, directory, signal } = opening;
  try {
    return new ServerDirectory(directory.config, await connectTo(source, server, signal));
  } catch (error) {
    if (error instanceof LdapError) return null;
    throw error;
  }
}

async function readContent(url: string, directory: ServerDirectory): Promise<Content> {
  const entry = await readOne(directory.connection, directory.config.baseDn, [directory.uuid]);
  const identities = new Set<string>();
  for await (const page of directory.scan(() => Promise.resolve(new Map())))
    for (const { uuid } of page) identities.add(uuid);
  return { url, directory, base: entry === null ? null : uuidOfEntry(entry, directory.uuid), identities };
}

/** Describes how the content of a server differs from that of the first one. */
async function* describe(first: Content, other: Content): AsyncGenerator<Finding> {
  const { baseDn } = first.directory.config;
  const missing = [...first.identities].filter((uuid) => !other.identities.has(uuid)).length;
  const added = [...other.identities].filter((uuid) => !first.identities.has(uuid)).length;
  const counts = `${missing} users and groups of ${first.url} are missing there, and ${added} are only there`;
  if (first.base !== null && other.base !== null && first.base !== other.base)
    yield problem(
      WHAT,
      `${other.url} has another directory than ${first.url}: ${baseDn} has another identity. ${counts}`,
    );
  else if (await lacks(other, first))
    yield warning(WHAT, `${other.url} lags behind ${first.url} by its contextCSN. ${counts}`);
  else if (await lacks(first, other))
    yield warning(WHAT, `${first.url} lags behind ${other.url} by its contextCSN. ${counts}`);
  else if (missing + added === 0)
    yield ok(WHAT, `${other.url} has the same ${first.identities.size} users and groups as ${first.url}`);
  else
    yield problem(WHAT, `${other.url} has other content than ${first.url}, or one of them lags. ${counts}`);
  for (const { url, directory } of [first, other])
    if (directory.contextCsns.length === 0)
      yield warning(
        WHAT,
        `${url} does not show which changes of the others it has: it is not known whether it lags`,
      );
}

async function lacks({ directory }: Content, known: Content): Promise<boolean> {
  return (await directory.describeLag(known.directory.contextCsns)) !== null;
}
