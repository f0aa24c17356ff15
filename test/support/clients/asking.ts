import { Agent } from 'node:http';
import { buildLdif } from '../builders/directory.js';
import { Executions } from '../builders/executions.js';
import { post } from './http.js';
import type { TestService } from '../servers/service.js';
import type { TwinService } from '../twin.js';

/** To each service that is asked. */
const CONNECTIONS = 2;

const IDS = Array.from({ length: 30 }, (_, index) => `p${index}`);

/** A directory in which every name tells the number of its revision. */
export function directoryOf(revision: number): string {
  const people = IDS.map((id) => ({ id, name: `${id} of ${revision}` }));
  return buildLdif(people, [
    { id: 'all', name: `Everybody of ${revision}`, members: IDS },
    { id: 'around', name: `Around of ${revision}`, members: ['@all'] },
  ]);
}

/** Each reads several times, and would show it if a revision came in between. */
const QUESTIONS = [
  '{ group(group: {id: "all"}) { name members(first: 50) { nodes { user { name } } } parents(first: 1) { nodes { name } } } }',
  '{ users(first: 50) { nodes { name groups(first: 2) { nodes { group { name } } } } } }',
  '{ a: user(user: {id: "p1"}) { name } b: user(user: {id: "p2"}) { name } search(query: "everybody", first: 3) { nodes { ... on Group { name } } } }',
];

/** A client that asks the same again and again, and looks whether the answers ever go back. */
export class Asking {
  asked = 0;
  /** The revision of the newest answer. */
  newest = 0;
  /** How often the service said that its database does not answer. */
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
    this.ended = Promise.all(Array.from({ length: CONNECTIONS }, () => this.askOn()));
  }

  /** From now on no answer may be older. */
  expect(revision: number): void {
    this.newest = Math.max(this.newest, revision);
  }

  async end(): Promise<void> {
    this.isEnding = true;
    await this.ended;
    this.agent.destroy();
  }

  private async askOn(): Promise<void> {
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
      // A database that other processes keep from a processor counts as away for a second: that is no answer about a revision.
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
