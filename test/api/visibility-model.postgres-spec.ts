import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { SCOPES } from '../../src/auth/principal.js';
import { buildLdif } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import type {
  ExpectedList,
  ExpectedOperation,
  ExpectedValue,
} from '../support/builders/visibility-previews.js';
import {
  idOfUuid,
  VISIBILITY_FIELDS,
  visibilityDirectories,
} from '../support/builders/visibility-directory.js';
import { type TestViewer, VisibilityModel } from '../support/builders/visibility-model.js';
import { draws, expectedOf } from '../support/builders/visibility-operations.js';
import { type ExpectedScim, seenIn } from '../support/builders/visibility-scim.js';
import { visibilityRules } from '../support/builders/visibility-rules.js';
import type { Answer } from '../support/clients/graphql.js';
import { writeClients } from '../support/clients/clients.js';
import { ScimClient, type ScimList } from '../support/clients/scim.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { repetitions } from '../support/repetitions.js';
import { sendPreviews } from '../support/clients/previews.js';
import { TestService } from '../support/servers/service.js';

const SIZE = { people: 14, groups: 9 };
const IDS = Array.from({ length: SIZE.people }, (_, index) => `p${index}`);
const GROUP_IDS = Array.from({ length: SIZE.groups }, (_, index) => `g${index}`);
const SEED = Number(process.env['VISIBILITY_SEED'] ?? randomInt(2 ** 31));
/** Each has a service with rules of its own. */
const PARTS = fc
  .sample(visibilityRules(), { seed: SEED, numRuns: repetitions({ usually: 1, long: 5 }) })
  .map((rules, index) => ({ part: index + 1, rules }));
/** Operations on one directory. */
const OPERATIONS = repetitions({ usually: 50, long: 200 });
/** Operations at a time, so that client, service and database work at the same time. */
const CONCURRENCY = 4;

interface Reading {
  readonly viewer: TestViewer;
  readonly authorization: string;
}

describe.each(PARTS)('what a viewer sees by drawn rules, part $part', ({ part, rules }) => {
  const service = TestService.forSuite(() => ({
    visibility: rules,
    environment: {
      ...modelSetting(VISIBILITY_FIELDS),
      AUTH_EMBEDDED_CLIENTS: writeClients(
        IDS.map((id) => ({ id: `${id}-app`, owner: id, scopes: [...SCOPES, 'confidential'] })),
      ),
      DIRECTORY_SYNC_SECONDS: '3600',
      DIRECTORY_GUARD_PERCENT: '100',
      LIMIT_TOKENS: '100000',
    },
  }));
  let readers: Reading[];
  /** By the tokens of the clients. */
  const copies = new Map<string, Copy>();

  beforeAll(async () => {
    await stopFollowing(service);
    readers = [];
    for (const id of IDS.slice(0, 7)) {
      const authorization = await service.accessToken('read directory write', `${id}-app`);
      readers.push({ viewer: { id, seesHidden: false, limitedTo: null }, authorization });
    }
    const all = await service.accessToken('read directory write confidential', 'p0-app');
    readers.push(
      { viewer: { id: 'p0', seesHidden: true, limitedTo: null }, authorization: all },
      {
        viewer: { id: null, seesHidden: false, limitedTo: null },
        authorization: await service.serviceAccount('read', 'directory', 'write'),
      },
      {
        viewer: { id: null, seesHidden: true, limitedTo: null },
        authorization: await service.serviceAccount('read', 'directory', 'write', 'confidential'),
      },
    );
  });

  it('is what a model in memory says, in every answer, count and page', async () => {
    const seed = SEED + part;
    const runs = Math.ceil(repetitions({ usually: 300, long: 20_000 }) / PARTS.length / OPERATIONS);
    const directories = fc.sample(visibilityDirectories(SIZE), { seed, numRuns: runs });
    for (const [index, { people, groups }] of directories.entries()) {
      service.replaceDirectory(buildLdif(people, groups));
      await service.synchronize();
      if (readers.every(({ viewer }) => viewer.limitedTo === null)) await addLimitedAccounts();
      const drawn = fc.sample(fc.tuple(draws(IDS, GROUP_IDS), fc.nat(readers.length - 1)), {
        seed: seed + index,
        numRuns: OPERATIONS,
      });
      const waiting = drawn.values();
      const compareWaiting = async () => {
        for (const [draw, which] of waiting) {
          const reading = readers[which];
          if (reading === undefined) throw new Error('There is no such viewer');
          const operation = expectedOf(draw, new VisibilityModel(people, groups, reading.viewer, rules));
          const difference = await compare(operation, reading);
          if (difference !== null) {
            const about = { seed: SEED, part, directory: index, rules, viewer: reading.viewer, operation };
            throw new Error(`${difference}\n${JSON.stringify({ ...about, people, groups })}`);
          }
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, compareWaiting));
      for (const reading of readers.filter(({ viewer }) => viewer.id === null && viewer.limitedTo === null))
        await compareLog(new VisibilityModel(people, groups, reading.viewer, rules), reading);
    }
  });

  /**
   * A client that applies every change has what the viewer sees, whether it continues where it stopped or begins: all directories
   * are in one log. The audiences of these viewers do not change.
   */
  async function compareLog(model: VisibilityModel, { authorization }: Reading): Promise<void> {
    const copy = copies.get(authorization) ?? emptyCopy();
    copies.set(authorization, copy);
    const whole = emptyCopy();
    await follow(copy, authorization);
    // What has become hidden has no changes any more, but for its deletion.
    expect(await follow(whole, authorization)).toBe(whole.count);
    const visible = [...model.visiblePeople, ...model.visibleGroups].map(({ id }) => id).sort();
    expect([...copy.present].sort()).toEqual(visible);
    expect([...whole.present].sort()).toEqual(visible);
  }

  /** Applies the changes after a copy. Returns their total number in the log. */
  async function follow(copy: Copy, authorization: string): Promise<number> {
    let total = 0;
    for (let hasNextPage = true; hasNextPage;) {
      const { changes }: { changes: FoundLog } = await service.read(
        `query ($after: String) { changes(first: 100, after: $after) {
          totalCount nodes { kind userId groupId } pageInfo { hasNextPage endCursor } } }`,
        { authorization, variables: { after: copy.after } },
      );
      for (const { kind, userId, groupId } of changes.nodes) {
        copy.count++;
        const id = userId ?? groupId ?? '';
        if (kind.endsWith('_CREATED')) copy.present.add(id);
        if (kind.endsWith('_DELETED')) copy.present.delete(id);
      }
      ({ hasNextPage } = changes.pageInfo);
      copy.after = changes.pageInfo.endCursor ?? copy.after;
      total = changes.totalCount;
    }
    return total;
  }

  /** Accounts are limited to groups that exist. */
  async function addLimitedAccounts(): Promise<void> {
    const limitedTo = ['g0', 'g1', 'g2'];
    for (const [seesHidden, scope] of [
      [false, 'read'],
      [true, 'confidential'],
    ] as const) {
      const authorization = await service.limitedAccount(limitedTo, 'read', 'directory', 'write', scope);
      readers.push({ viewer: { id: null, seesHidden, limitedTo }, authorization });
    }
  }

  /** Sends the operation twice, so that the second answer may come from the response cache. */
  async function compare(operation: ExpectedOperation, reading: Reading): Promise<string | null> {
    const once = () => {
      if (operation.kind === 'scim') return compareScim(operation, reading);
      return operation.kind === 'list' ? compareList(operation, reading) : compareValue(operation, reading);
    };
    return (await once()) ?? (await once());
  }

  async function compareValue({ query, expected }: ExpectedValue, { authorization }: Reading) {
    const send = query.startsWith('mutation')
      ? sendPreviews(service, query, { authorization })
      : service.query(query, { authorization });
    const { data, errors } = await send;
    const codes = errors.map(({ extensions }) => extensions.code);
    if ('code' in expected) {
      return codes.join() === expected.code
        ? null
        : `expected ${expected.code}, found ${JSON.stringify({ data, errors })}`;
    }
    const found: unknown = JSON.parse(JSON.stringify(data?.['found'] ?? null));
    const wanted: unknown = JSON.parse(JSON.stringify(expected.value, fromSet));
    return errors.length === 0 && JSON.stringify(sorted(found)) === JSON.stringify(sorted(wanted))
      ? null
      : `expected ${JSON.stringify(wanted)}, found ${JSON.stringify({ found, errors })}`;
  }

  async function compareScim(operation: ExpectedScim, { authorization }: Reading): Promise<string | null> {
    const { path, parameters, expected, keyOf } = operation;
    const client = new ScimClient(service, authorization);
    if (!('ids' in expected)) {
      const { status, body } = await client.request(path);
      const found = status === 200 ? { resource: seenIn(body) } : { status };
      return JSON.stringify(found) === JSON.stringify(expected)
        ? null
        : `expected ${JSON.stringify(expected)}, found ${JSON.stringify({ status, body })}`;
    }
    const pages = await readPages(client, operation);
    const found = idsOf(pages);
    const isRight =
      [...found].sort().join() === [...expected.ids].sort().join() &&
      found.map(keyOf).join() === expected.ids.map(keyOf).join() &&
      pages.every(({ totalResults }) => totalResults === expected.ids.length);
    return isRight
      ? null
      : `expected ${expected.ids.join()}, found ${found.join()} by ${JSON.stringify(parameters)}`;
  }

  async function compareList(list: ExpectedList, { authorization }: Reading): Promise<string | null> {
    const { expected, pageSize, isBackward } = list;
    const ordered = isBackward ? [...expected].reverse() : expected;
    let cursor: string | null = null;
    for (let start = 0; start === 0 || start < ordered.length; start += pageSize) {
      const { data, errors }: Answer = await service.query(queryOf(list, cursor), { authorization });
      const page: FoundPage | null = errors.length === 0 ? pageIn(data) : null;
      if (page === null) return `expected ${expected.join()}, found ${JSON.stringify({ data, errors })}`;
      const ids = page.edges.map(({ node }) => idIn(node));
      const wanted = ordered.slice(start, start + pageSize);
      const found = isBackward ? ids.reverse() : ids;
      const hasMore = isBackward ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage;
      const hasBefore = isBackward ? page.pageInfo.hasNextPage : page.pageInfo.hasPreviousPage;
      const isSealed = [page.pageInfo.startCursor, page.pageInfo.endCursor].every(hasNoNumber);
      const isRight =
        isSealed &&
        found.join() === wanted.join() &&
        page.totalCount === expected.length &&
        hasMore === start + pageSize < ordered.length &&
        hasBefore === start > 0;
      if (!isRight) return `expected ${wanted.join()} of ${expected.join()}, found ${JSON.stringify(page)}`;
      cursor = isBackward ? page.pageInfo.startCursor : page.pageInfo.endCursor;
    }
    return null;
  }
});

function readPages(
  client: ScimClient,
  { path, parameters, pageSize, isByCursor, expected }: ExpectedScim,
): Promise<ScimList[]> {
  const all = { ...parameters, count: pageSize };
  if (isByCursor) return client.pages(path, all);
  const total = 'ids' in expected ? expected.ids.length : 0;
  const starts = Array.from({ length: Math.floor(total / pageSize) + 1 }, (_, page) => 1 + page * pageSize);
  return Promise.all(starts.map((startIndex) => client.list(path, { ...all, startIndex })));
}

/** The ids of the directory: the identities of entries contain them. */
function idsOf(pages: readonly ScimList[]): string[] {
  return pages.flatMap(({ Resources }) => Resources.map(({ id }) => idOfUuid(id)));
}

/** What a client knows that follows the change log. */
interface Copy {
  readonly present: Set<string>;
  count: number;
  after: string | null;
}

function emptyCopy(): Copy {
  return { present: new Set(), count: 0, after: null };
}

interface FoundLog {
  readonly totalCount: number;
  readonly nodes: readonly { kind: string; userId: string | null; groupId: string | null }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

interface FoundPage {
  readonly totalCount: number;
  readonly edges: readonly { readonly node: Record<string, unknown> }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

function queryOf(
  { parent, field, args, node, pageSize, isBackward, style }: ExpectedList,
  cursor: string | null,
) {
  const beyond = cursor === null ? '' : `, ${isBackward ? 'before' : 'after'}: "${cursor}"`;
  const range = `${isBackward ? 'last' : 'first'}: ${pageSize}${beyond}`;
  const selection = `totalCount edges { node { ${node} } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`;
  const name = style === 'alias' ? `page: ${field}` : field;
  const whole = parent.replace('%', `${name}(${range} ${args}) { ${selection} }`);
  return style === 'fragment' ? `query Q { ...F } fragment F on Query { ${whole} }` : `{ ${whole} }`;
}

/** The connection in an answer with one field on each level. */
function pageIn(data: unknown): FoundPage | null {
  let value = data;
  while (typeof value === 'object' && value !== null) {
    if ('edges' in value) return value as FoundPage;
    value = Object.values(value)[0];
  }
  return null;
}

function idIn(node: Record<string, unknown>): string {
  const [value] = Object.values(node);
  return typeof value === 'string' ? value : idIn(value as Record<string, unknown>);
}

/** The number of a row is sealed: otherwise those that are missing would disclose hidden rows. */
function hasNoNumber(cursor: string | null): boolean {
  if (cursor === null) return true;
  const values = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
  return /^[\w-]{22}$/.test(String(values.at(-1)));
}

function fromSet(_key: string, value: unknown): unknown {
  return value instanceof Set ? [...(value as Set<string>)].map((id) => ({ id })) : value;
}

/** The groups of `inheritedFrom` have no order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sorted);
    const hasIds = items.every((item) => typeof item === 'object' && item !== null && 'id' in item);
    return hasIds
      ? items.sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1))
      : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([key, each]) => [key, sorted(each)]),
  );
}
