import { Agent } from 'node:http';
import { buildLdif } from '../builders/directory.js';
import { Executions } from '../builders/executions.js';
import { post } from './http.js';
import type { TestService } from '../servers/service.js';
import type { TwinService } from '../twin.js';

/** Tokens for each service. */
const CONNECTIONS = 2;

const IDS = Array.from({ length: 30 }, (_, index) => `p${index}`);

/** A directory in which each name contains the number of its revision. */
export function directoryOf(revision: number): string {
  const people = IDS.map((id) => ({ id, name: `${id} of ${revision}` }));
  return buildLdif(people, [
    { id: 'all', name: `Members of ${revision}`, members: IDS },
    { id: 'around', name: `Around of ${revision}`, members: ['@all'] },
  ]);
}

/** Each query reads several times, and would show a revision in between. */
const QUESTIONS = [
  '{ group(group: {id: "all"}) { name members(first: 50) { nodes { user { name } } } parents(first: 1) { nodes { name } } } }',
  '{ users(first: 50) { nodes { name groups(first: 2) { nodes { group { name } } } } } }',
  '{ a: user(user: {id: "p1"}) { name } b: user(user: {id: "p2"}) { name } search(query: "members", first: 3) { nodes { ... on Group { name } } } }',
];

/** A client that repeats queries, and checks that responses never return to an older revision. */
export class MonotonicReader {
  asked = 0;
  /** The revision of the newest response. */
  newest = 0;
  /** Number of responses that report an unavailable database. */
  unanswered = 0;
  readonly problems: string[] = [];
  readonly executions: Executions;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  private readonly ended: Promise<unknown>;
  private isEnding = false;

  constructor(
    private readonly service: TestService | TwinService,
    private readonly authorization: string,
  ) {
    this.executions = new Executions(service.app);
    this.ended = Promise.all(Array.from({ length: CONNECTIONS }, () => this.sendContinuously()));
  }

  /** Sets the oldest revision that responses may have. */
  expect(revision: number): void {
    this.newest = Math.max(this.newest, revision);
  }

  async end(): Promise<void> {
    this.isEnding = true;
    await this.ended;
    this.agent.destroy();
  }

  private async sendContinuously(): Promise<void> {
    while (!this.isEnding) {
      const query = QUESTIONS[this.asked++ % QUESTIONS.length];
      const { newest } = this;
      const { status, body } = await post(
        this.service,
        { query },
        { authorization: this.authorization },
        this.agent,
      );
      const revisions = new Set([...body.matchAll(/ of (\d+)"/g)].map(([, revision]) => Number(revision)));
      const [revision = newest] = revisions;
      // A database that other processes keep from running counts as unavailable for a second; such a response has no revision.
      if (status === 503 && revisions.size <= 1 && revision >= newest) {
        this.unanswered++;
        continue;
      }
      if (status !== 200 || revisions.size !== 1 || revision < newest) {
        this.problems.push(`${status}, at least of ${newest} and all of one: ${body}`);
      }
      this.expect(revision);
    }
  }
}
