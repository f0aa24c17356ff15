import { Agent } from 'node:http';
import type { Scope } from '../../src/auth/principal.js';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { Executions } from '../support/builders/executions.js';
import { type HttpAnswer, send } from '../support/clients/http.js';
import { repetitions } from '../support/repetitions.js';
import { TestService } from '../support/servers/service.js';

const REQUESTS = repetitions({ usually: 4000, long: 10_000 });
const CONNECTIONS = 8;
const TYPES = ['application/json', 'application/graphql-response+json'];

/** Data about one user contains the name of that user. */
const nameOf = (id: string) => `The name of ${id}`;
const PEOPLE = ['ada', 'ben'].map((id) => ({ id, name: nameOf(id), email: `${id}@example.org` }));
const CLUBS = Array.from({ length: 20 }, (_, index) => ({
  id: `club${index}`,
  name: `Club ${index}`,
  members: index < 2 ? ['ada', 'ben'] : ['ada'],
}));

interface Principal {
  /** The user of the token, or null. */
  readonly person: string | null;
  readonly scopes: readonly Scope[];
}

const PRINCIPALS: readonly Principal[] = [
  { person: 'ada', scopes: ['profile', 'read', 'directory'] },
  { person: 'ben', scopes: ['profile', 'read', 'directory'] },
  { person: 'ada', scopes: ['profile'] },
  { person: 'ben', scopes: ['profile', 'read'] },
  { person: null, scopes: ['read'] },
];

/** Data that requires a scope. */
function by<Value>({ scopes }: Principal, scope: Scope, value: Value): Value | null {
  return scopes.includes(scope) ? value : null;
}

/** Operations, with the expected content for each token. */
const QUESTIONS: readonly { query: string; dataFor: (principal: Principal) => Record<string, unknown> }[] = [
  {
    query: '{ profile { id name email } }',
    dataFor: (principal) => ({
      profile: by(
        principal,
        'profile',
        PEOPLE.find(({ id }) => id === principal.person),
      ),
    }),
  },
  {
    query: 'query Clubs { ...P } fragment P on Query { profile { groups(first: 0) { totalCount } photo } }',
    dataFor: (principal) => {
      const totalCount = CLUBS.filter(({ members }) => members.includes(principal.person ?? '')).length;
      return { profile: by(principal, 'profile', { groups: { totalCount }, photo: null }) };
    },
  },
  {
    query: '{ profile { id user { name } } }',
    dataFor: (principal) => {
      const user = by(principal, 'read', { name: nameOf(principal.person ?? '') });
      return { profile: by(principal, 'profile', { id: principal.person, user }) };
    },
  },
  {
    query: '{ me: profile { id } group(group: {id: "club1"}) { name } }',
    dataFor: (principal) => ({
      me: by(principal, 'profile', { id: principal.person }),
      group: by(principal, 'read', { name: 'Club 1' }),
    }),
  },
  { query: '{ currentToken { userId } }', dataFor: ({ person }) => ({ currentToken: { userId: person } }) },
  {
    query: '{ users(first: 5) { nodes { id email } } }',
    dataFor: (principal) => ({
      users: by(principal, 'directory', { nodes: PEOPLE.map(({ id, email }) => ({ id, email })) }),
    }),
  },
  ...CLUBS.map(({ id, name, members }) => ({
    query: `{ group(group: {id: "${id}"}) { name members(first: 5) { nodes { user { name } } } } }`,
    dataFor: (principal: Principal) => {
      const nodes = members.map((member) => ({ user: { name: nameOf(member) } }));
      return { group: by(principal, 'read', { name, members: { nodes } }) };
    },
  })),
];

describe('concurrent responses to several users', () => {
  let service: TestService;
  let executions: Executions;
  let authorizations: string[];
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

  beforeAll(async () => {
    const clients = writeClients(PEOPLE.map(({ id }) => ({ id: `client-of-${id}`, owner: id })));
    service = await TestService.start({
      ldif: buildLdif(PEOPLE, CLUBS),
      environment: { AUTH_EMBEDDED_CLIENTS: clients },
      compared: false,
    });
    executions = new Executions(service.app);
    authorizations = await Promise.all(
      PRINCIPALS.map(({ person, scopes }) =>
        person === null
          ? service.serviceAccount(...scopes)
          : service.accessToken(scopes.join(' '), `client-of-${person}`),
      ),
    );
  });

  afterAll(async () => {
    agent.destroy();
    await service.stop();
  });

  /** All clients send the same requests at about the same time, in every form. */
  async function sendRequest(index: number): Promise<{ answer: HttpAnswer; problem: string | null }> {
    const whose = index % PRINCIPALS.length;
    const [principal, authorization = ''] = [PRINCIPALS[whose], authorizations[whose]];
    const question = QUESTIONS[Math.floor(index / 13) % QUESTIONS.length];
    if (principal === undefined || question === undefined)
      throw new Error('There are no clients or operations');
    const accept = TYPES[Math.floor(index / 5) % 2] ?? '';
    const { query } = question;
    const answer = await send(
      service,
      Math.floor(index / 10) % 2 === 0
        ? {
            method: 'POST',
            headers: { authorization, accept, 'content-type': 'application/json' },
            body: JSON.stringify({ query }),
            agent,
          }
        : {
            path: `/graphql/v1?${new URLSearchParams({ query }).toString()}`,
            headers: { authorization, accept },
            agent,
          },
    );
    const isRight = answer.headers['content-type'] === `${accept}; charset=utf-8`;
    const expected = JSON.stringify(expectedOf(question.dataFor(principal)));
    const seen = JSON.stringify(seenIn(answer));
    const problem = `${JSON.stringify(principal)} asked ${query} and got ${accept}: ${answer.body}`;
    return { answer, problem: isRight && seen === expected ? null : problem };
  }

  it(`contain only data of their token, in ${REQUESTS} requests over ${CONNECTIONS} connections`, async () => {
    const problems: string[] = [];
    let next = 0;
    let answered = 0;
    const sendSequentially = async () => {
      while (next < REQUESTS) {
        const { answer, problem } = await sendRequest(next++);
        if (answer.status === 200) answered++;
        if (problem !== null) problems.push(problem);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, sendSequentially));
    expect(problems.slice(0, 5)).toEqual([]);
    // A response that was not executed comes from the cache.
    expect(answered - executions.count).toBeGreaterThan(REQUESTS / 2);
  });
});

/** Withheld data is null, with an error; a response without data consists of the error. */
function expectedOf(data: Record<string, unknown>): unknown {
  const withheld = JSON.stringify(data).split(/(?<!"photo"|"userId"):null/).length - 1;
  const isRefused = Object.values(data).every((value) => value === null);
  return [isRefused ? null : data, Array.from({ length: withheld }, () => 'INSUFFICIENT_SCOPE')];
}

function seenIn({ body }: HttpAnswer): unknown {
  const { data, errors } = JSON.parse(body) as {
    data?: Record<string, unknown> | null;
    errors?: { extensions: { code: string } }[];
  };
  return [data ?? null, (errors ?? []).map(({ extensions }) => extensions.code)];
}
