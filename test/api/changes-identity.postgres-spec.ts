import { buildLdif } from '../support/builders/directory.js';
import { type ChangesPage, followChanges, readChanges, summarizeChange } from '../support/clients/changes.js';
import { dump, restore } from '../support/builders/dump.js';
import { readRevision, stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE = ['anna', 'ben'].map((id) => ({ id }));

describe('the cursors of a restored log', () => {
  const service = TestService.forSuite({ ldif: buildLdif(PEOPLE) });
  let authorization: string;
  let url: string;
  const others: string[] = [];

  beforeAll(async () => {
    await stopFollowing(service);
    authorization = await service.serviceAccount('directory');
    ({ url } = service.config.database);
  });

  async function add(id: string): Promise<void> {
    others.push(id);
    service.replaceDirectory(buildLdif([...PEOPLE, ...others.map((each) => ({ id: each }))]));
    expect((await service.synchronize()).kind).toBe('applied');
  }

  async function latest(): Promise<string> {
    const { endCursor } = (await readChanges(service, authorization, 'last: 1')).pageInfo;
    return endCursor ?? '';
  }

  /** The changes after a cursor, or the error. */
  async function sendRequest(cursor: string, end: 'after' | 'before' = 'after') {
    const size = end === 'after' ? 'first' : 'last';
    const { data, errors } = await service.query<{ changes: ChangesPage | null }>(
      `{ changes(${size}: 9, ${end}: "${cursor}") { nodes { kind userId } } }`,
      { authorization },
    );
    const [error] = errors;
    if (error === undefined) return data?.changes?.nodes.map(({ userId }) => userId);
    const { code, argument } = error.extensions;
    return { code, argument, hasAdvice: error.message.includes('read everything again') };
  }

  const lostAt = (argument: string) => ({ code: 'INVALID_CURSOR', argument, hasAdvice: true });

  it('are rejected if the database never had their revision, and otherwise continue', async () => {
    await add('cleo');
    const kept = await latest();
    const backup = await dump(url);
    await add('dan');
    const lost = await latest();
    const number = await readRevision(service);
    expect(await sendRequest(kept)).toEqual(['dan']);
    await restore(url, backup);
    await service.until(async () => (await readRevision(service)) < number);
    expect([await sendRequest(kept), await sendRequest(lost)]).toEqual([[], lostAt('after')]);
    // The same revision number and the same positions in the log, for other changes.
    others.pop();
    await add('emma');
    await add('finn');
    expect(await readRevision(service)).toBe(number + 1);
    expect([await sendRequest(lost), await sendRequest(lost, 'before')]).toEqual([
      lostAt('after'),
      lostAt('before'),
    ]);
    expect(await sendRequest(kept)).toEqual(['emma', 'finn']);
    const { changes } = await followChanges(service, authorization, kept);
    expect(changes.map(summarizeChange)).toEqual(['USER_CREATED emma', 'USER_CREATED finn']);
  });
});
