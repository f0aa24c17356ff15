import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpRequest, type Listening, send } from './http.js';

/** Authorization headers of the clients. */
export interface Callers {
  /** A user, with a JWT and with an opaque token. */
  readonly person: string;
  readonly opaque: string;
  /** A service account. */
  readonly account: string;
}

/** A request that is sent occasionally, and its expected outcome without a fault. */
interface Kind {
  readonly request: HttpRequest;
  readonly statuses: readonly number[];
}

/** Invalid tokens that are sent in turn. */
const BAD_TOKENS = 20;
const JSON_TYPE = { 'content-type': 'application/json' };
const MEMBERS = `query ($id: String!) {
  group(group: {id: $id}) { name members(first: 50) { totalCount nodes { user { id name photo(size: 64) } role { value } } } }
}`;
const LISTS =
  '{ users(first: 50) { nodes { id name groups(first: 3) { nodes { group { name } } } } } groups(first: 20) { nodes { id } } }';
const CHANGES = '{ changes(last: 20) { totalCount nodes { kind at user { id } } } }';
/** Clients send few documents, with many variables. */
const SEARCH =
  'query ($query: String!) { search(query: $query, first: 10) { nodes { ... on User { id name } ... on Group { id } } } }';
const DEEP = `{ user(user: {id: "p0"}) ${'{ groups(first: 1) { nodes { group { members(first: 1) { nodes { user '.repeat(4)}{ id }${' } } } } } }'.repeat(4)} }`;

/** Clients that send valid and invalid requests of all kinds, and record unexpected responses. */
export class MixedTraffic {
  /** Number of responses. */
  answered = 0;
  /** Responses by status. */
  readonly statuses = new Map<number, number>();
  /** The longest response time in milliseconds. */
  longest = 0;
  readonly problems: string[] = [];
  /** A fault is active: any request may be rejected. */
  hasFault = false;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly over = new AbortController();
  private readonly ended: Promise<unknown>;
  private count = 0;
  /** The last known URL of a photo; before there is one, another request is sent. */
  private photo = '/_health';

  /**
   * @param clients number of concurrent clients
   * @param thought milliseconds between a response and the next request
   */
  constructor(
    private readonly service: Listening,
    private readonly callers: Callers,
    clients: number,
    thought: number,
  ) {
    this.ended = Promise.all(Array.from({ length: clients }, () => this.runClient(thought)));
  }

  async end(): Promise<void> {
    this.over.abort();
    await this.ended;
    this.agent.destroy();
  }

  private async runClient(thought: number): Promise<void> {
    while (!this.over.signal.aborted) {
      await this.sendRequest();
      await sleep(thought);
    }
  }

  private async sendRequest(): Promise<void> {
    const { request, statuses } = this.choose(this.count++);
    const hadFault = this.hasFault;
    const begun = performance.now();
    const { status, body } = await send(this.service, { ...request, agent: this.agent }).catch(
      (error: unknown) => ({ status: 0, body: String(error) }),
    );
    this.longest = Math.max(this.longest, performance.now() - begun);
    this.answered++;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    const path = /"photo":"[^"]*?(\/photo\/[^"]+)"/.exec(body)?.[1];
    if (path !== undefined) this.photo = path;
    const isExpected = statuses.includes(status) || (status === 503 && (hadFault || this.hasFault));
    const isBroken = status === 200 && body.includes('INTERNAL_SERVER_ERROR');
    if (isExpected && !isBroken) return;
    this.problems.push(`${request.method ?? 'GET'} ${request.path ?? ''}: ${status} ${body.slice(0, 300)}`);
  }

  private choose(number: number): Kind {
    const { person, opaque, account } = this.callers;
    const kinds: (() => Kind)[] = [
      () => operation(person, MEMBERS, { id: `g${number % 5}` }),
      // A query that is not cached.
      () => operation(person, SEARCH, { query: `person ${number}` }),
      () => operation(opaque, MEMBERS, { id: `g${number % 5}` }),
      () => operation(account, LISTS),
      () => operation(account, CHANGES),
      () => operation(person, SEARCH, { query: 'person' }),
      () => operation(person, UPDATE, { description: `Number ${number}` }),
      () => plain(this.photo, {}, 200),
      () => plain('/_health', {}, 200),
      () => plain('/_readiness', {}, 200),
      () => plain('/nowhere', {}, 404),
      () => operation(person, '{ nothing }', {}, 400),
      () => operation(person, DEEP, {}, 400),
      () => bytes('{"query": ', JSON_TYPE, 400),
      () => bytes('query=1', { 'content-type': 'text/plain' }, 415),
      () => plain('/graphql/v1', { authorization: 'Bearer a b' }, 400, 401),
      () => operation(`Bearer made-up-${number % BAD_TOKENS}`, CHANGES, {}, 401, 429),
      () => operation(`Basic ${Buffer.from('nobody:guess').toString('base64')}`, CHANGES, {}, 401),
    ];
    const kind = kinds[number % kinds.length];
    if (kind === undefined) throw new Error('There are kinds');
    return kind();
  }
}

const UPDATE = `mutation ($description: String) {
  updateGroup(input: {group: {id: "g0"}, description: $description}) { group { id } }
}`;

function bytes(body: string, headers: Record<string, string>, ...statuses: number[]): Kind {
  return { request: { method: 'POST', path: '/graphql/v1', headers, body }, statuses };
}

function plain(path: string, headers: Record<string, string>, ...statuses: number[]): Kind {
  return { request: { path, headers }, statuses };
}

function operation(authorization: string, query: string, variables = {}, ...statuses: number[]): Kind {
  const body = JSON.stringify({ query, variables });
  return bytes(body, { ...JSON_TYPE, authorization }, ...(statuses.length === 0 ? [200] : statuses));
}
