/** @isolated The suite fakes the clock. */
import { writeClients } from '../support/clients/clients.js';
import { PICTURE, buildLdif } from '../support/builders/directory.js';
import { Executions } from '../support/builders/executions.js';
import { type HttpAnswer, post } from '../support/clients/http.js';
import { takeOver } from '../support/clients/mirror.js';
import { TIMERS } from '../support/timers.js';
import { TestService } from '../support/servers/service.js';
import { statementsOf } from '../support/builders/statements.js';

const ldif = (name: string, nameOfAda = 'Ada') =>
  buildLdif(
    [
      { id: 'ada.martin', name: nameOfAda },
      { id: 'ben', name: 'Person ben', photo: PICTURE },
      { id: 'cleo', name },
    ],
    [{ id: 'club', members: ['cleo', 'ben'] }],
  );
const CLUB =
  '{ group(group: {id: "club"}) { name members(first: 5) { totalCount nodes { user { name photo } } } } }';

describe('a repeated request', () => {
  const service = TestService.forSuite({
    ldif: ldif('Cleo'),
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([
        { id: 'demo-basic', owner: 'ada.martin' },
        { id: 'client-of-ben', owner: 'ben' },
      ]),
    },
    compared: false,
  });
  let reader: string;

  beforeAll(async () => {
    reader = await service.serviceAccount('read');
  });

  async function send(query: string, authorization: string, headers: Record<string, string> = {}) {
    let answer: HttpAnswer | undefined;
    const statements = await statementsOf(async () => {
      answer = await post(service, { query }, { authorization, ...headers });
    });
    if (answer === undefined) throw new Error('There was no answer');
    return {
      ...answer,
      read: statements.some(({ text }) =>
        /from (groups|users|effective_memberships)\b|left join (groups|users)\b/.test(text),
      ),
    };
  }

  const VARYING = ['date', 'x-request-id', 'ratelimit'];
  const steady = (headers: HttpAnswer['headers']) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !VARYING.includes(name)));

  it.each([
    ['a service account', CLUB, () => reader],
    ['the principal', `${CLUB} # Answered before Fastify sees it.`, () => service.accessToken('read')],
  ])('gets the same bytes and headers for %s, without a statement', async (_who, query, as) => {
    const authorization = await as();
    const first = await send(query, authorization);
    const again = await send(query, authorization);
    expect(first.read).toBe(true);
    expect(again.read).toBe(false);
    expect(again.body).toBe(first.body);
    expect(steady(again.headers)).toEqual(steady(first.headers));
    expect(again.headers['ratelimit']).toMatch(/directory-cost=1/);
  });

  it('is executed again after each revision, and then cached', async () => {
    await send(CLUB, reader);
    await takeOver(service, ldif('Cleopatra'));
    expect((await send(CLUB, reader)).body).toContain('Cleopatra');
    expect((await send(CLUB, reader)).read).toBe(false);
  });

  it('is executed again in another quarter of an hour, for new signed URLs', async () => {
    const query =
      '{ group(group: {id: "club"}) { members(first: 5) { nodes { user { name photo small: photo(size: 64) } } } } }';
    const before = await send(query, reader);
    const later = Date.now() + 900_000;
    jest.useFakeTimers({ now: later, doNotFake: [...TIMERS] });
    try {
      const after = await send(query, reader);
      expect(after.read).toBe(true);
      const expected = (await send(`${query} # Not cached.`, reader)).body;
      expect(after.body).toBe(expected);
      expect(after.body).not.toBe(before.body);
      expect(after.body).toMatch(/photo.v1.ben\?expires=\d{10}&signature=[0-9a-f]{64}&size=64/);
    } finally {
      jest.useRealTimers();
    }
  });

  it('gets a response for the scopes of its token', async () => {
    const profile = await service.accessToken('profile');
    const both = await service.accessToken('profile read');
    const query = `{ profile { id user { id } } }`;
    const { body } = await send(query, both);
    expect(body).toContain('"user":{"id":"ada.martin"}');
    expect((await send(query, profile)).body).toContain('INSUFFICIENT_SCOPE');
    await send(query, both);
    expect((await send(query, both)).read).toBe(false);
  });

  it('does not get another user’s response if it is about the own profile', async () => {
    const scopes = 'profile read';
    const [ada, ben] = [
      await service.accessToken(scopes),
      await service.accessToken(scopes, 'client-of-ben'),
    ];
    const query = '{ profile { id } }';
    const executions = new Executions(service.app);
    const answers = [];
    for (const person of [ada, ada, ada, ben, ben, ben, ada, ben])
      answers.push((JSON.parse((await send(query, person)).body) as { data: unknown }).data);
    const [ofAda, ofBen] = ['ada.martin', 'ben'].map((id) => ({ profile: { id } }));
    expect(answers).toEqual([ofAda, ofAda, ofAda, ofBen, ofBen, ofBen, ofAda, ofBen]);
    expect(executions.count).toBe(2);
  });

  it.each([
    ['{ currentToken { scopes } }', 'the token'],
    ['{ rateLimit { remaining } }', 'what is left'],
    ['{ directoryStatus { asOf } }', 'the state'],
    ['{ buildInfo { version } directoryStatus { asOf } }', 'the state, beside what is remembered alone'],
  ])('is not cached: %s (%s)', async (query) => {
    const executions = new Executions(service.app);
    for (let time = 1; time <= 4; time++) {
      expect((await send(query, reader)).status).toBe(200);
      expect(executions.count).toBe(time);
    }
  });
});
