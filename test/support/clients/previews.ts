import { DataSource } from 'typeorm';
import { writeClients } from './clients.js';
import { buildLdif } from '../builders/directory.js';
import { type FieldNode, Kind, parse, print, visit } from 'graphql';
import type { Answer, QueryOptions } from './graphql.js';
import { TestService } from '../servers/service.js';
import { stopFollowing } from './mirror.js';

/**
 * An owner, an admin and a member of the club and the board, a user who is in both through the team, and a user without groups.
 */
const PEOPLE = ['olga', 'adam', 'mia', 'ines', 'sven'];
/** The user of a client without an owner, and of one whose owner does not exist. */
const CLIENTS_WITHOUT_USER = ['machine', 'ghost'];

/** A club that contains a team; the school and the union contain the club. The board is for other roles. */
const DIRECTORY = buildLdif(
  [
    { id: 'olga', name: 'Olga Öberg', givenName: 'Olga', email: 'olga@example.org', schoolYear: '3A' },
    { id: 'adam', name: 'Adam' },
    { id: 'mia', name: 'Mia' },
    { id: 'ines', name: 'Ines' },
    { id: 'sven', name: 'Sven' },
    ...['one', 'two', 'three', 'four', 'five', 'six'].map((id) => ({ id })),
  ],
  [
    {
      id: 'club',
      name: 'Club',
      description: 'Chess and go',
      members: ['mia', '@team'],
      admins: ['adam'],
      owners: ['olga'],
    },
    { id: 'team', name: 'Team', members: ['ines'] },
    { id: 'school', name: 'School', members: ['@club', 'sven'], owners: ['adam'] },
    { id: 'union', name: 'Union', members: ['@club'], owners: ['olga'] },
    {
      id: 'board',
      members: ['mia', 'one', 'two', '@team'],
      admins: ['adam', 'three'],
      owners: ['olga', 'four'],
    },
  ],
);

/**
 * A service with that directory, and a client for each user.
 * @param more additional entries
 */
export async function startPreviews(more = ''): Promise<TestService> {
  const people = PEOPLE.map((id) => ({ id: `${id}-app`, owner: id }));
  const clientsWithoutUser = CLIENTS_WITHOUT_USER.map((id) => ({
    id: `${id}-app`,
    owner: id === 'machine' ? null : id,
  }));
  const service = await TestService.start({
    ldif: DIRECTORY + more,
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([...people, ...clientsWithoutUser]),
      LIMIT_TOKENS: '100000',
    },
  });
  // Otherwise the state of the mirror changes when it loses its connection, as it may on a busy machine.
  await stopFollowing(service);
  return service;
}

export interface Preview {
  ldif: string;
  persisted: boolean;
  basedOn: string | null;
}
export type Payload = Record<string, unknown> & { preview: Preview };
/** By alias or name of the mutation. */
export type Payloads = Record<string, Payload | null>;

/** Sends mutations as the client of a user, or with an Authorization header. */
export async function preview(
  service: TestService,
  who: string,
  mutations: string,
  variables?: Record<string, unknown>,
): Promise<Answer<Payloads>> {
  const authorization = who.includes(' ')
    ? who
    : await service.accessToken('profile read write', `${who}-app`);
  return sendPreviews<Payloads>(service, mutations, { authorization, variables });
}

const USER_ERRORS: FieldNode = {
  kind: Kind.FIELD,
  alias: { kind: Kind.NAME, value: 'failures' },
  name: { kind: Kind.NAME, value: 'userErrors' },
  selectionSet: {
    kind: Kind.SELECTION_SET,
    selections: ['code', 'message', 'path'].map((value) => ({
      kind: Kind.FIELD,
      name: { kind: Kind.NAME, value },
    })),
  },
};

/** Sends mutations. The failures of each are an error like those of queries, and its payload is null. */
export async function sendPreviews<Data = Record<string, unknown>>(
  service: Pick<TestService, 'query'>,
  mutations: string,
  options: QueryOptions,
): Promise<Answer<Data>> {
  const query = visit(parse(mutations), {
    Field: (field, _key, _parent, path) => {
      const isMutation = path.filter((step) => step === 'selectionSet').length === 1;
      if (!isMutation || field.selectionSet === undefined) return undefined;
      const selections = [...field.selectionSet.selections, USER_ERRORS];
      return { ...field, selectionSet: { ...field.selectionSet, selections } };
    },
  });
  type Failure = { code: string; message: string; path: string[] };
  type Payload = { failures?: Failure[] } & Record<string, unknown>;
  const answer = await service.query<Record<string, Payload | null>>(print(query), options);
  const names = Object.keys(answer.data ?? {});
  const failed = names.flatMap((name) =>
    (answer.data?.[name]?.failures ?? []).map(({ code, message, path }) => {
      const argument = path.at(-1);
      expect(path).toEqual(argument === 'input' ? ['input'] : ['input', argument]);
      return { message, path: [name], extensions: { code, argument } };
    }),
  );
  const isFailed = (name: string) => failed.some(({ path }) => path[0] === name);
  const payloads = Object.entries(answer.data ?? {}).map(([name, payload]) => {
    const { failures, ...others } = payload ?? {};
    if (isFailed(name))
      for (const [key, value] of Object.entries(others))
        if (key !== 'clientMutationId') expect(value).toBeNull();
    return [name, payload === null || isFailed(name) ? null : others];
  });
  const place = ({ path }: Answer['errors'][number]) => names.indexOf(String(path?.[0]));
  return {
    ...answer,
    data: answer.data && (Object.fromEntries(payloads) as Data),
    errors: [...answer.errors, ...failed].sort((left, right) => place(left) - place(right)),
  };
}

/** The records of an LDIF text, unfolded and without the version. */
export function recordsIn(ldif: string | undefined): string[] {
  const unfolded = (ldif ?? '').replaceAll('\n ', '');
  return unfolded
    .replace(/^version: 1\n/, '')
    .split('\n\n')
    .slice(0, -1);
}

/** A checksum of each table of the mirror. */
export async function checksums({ app }: TestService): Promise<Record<string, string | null>> {
  const dataSource = app.get(DataSource);
  const tables: { name: string }[] = await dataSource.query(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename !~ '^(service_account|access_log)' order by 1`,
  );
  const sums: Record<string, string | null> = {};
  for (const { name } of tables) {
    const [row]: { sum: string | null }[] = await dataSource.query(
      `select md5(string_agg(t::text, '|' order by t::text)) as sum from "${name}" t`,
    );
    sums[name] = row?.sum ?? null;
  }
  return sums;
}
