import { Agent } from 'node:http';
import pg from 'pg';
import { Revisions } from '../src/database/revisions.js';
import { buildLdif } from './support/directory.js';
import { Executions } from './support/executions.js';
import { post } from './support/http.js';
import { stopFollowing } from './support/mirror.js';
import { TestService } from './support/service.js';
import { TwinService } from './support/twin.js';

const REVISIONS = 50;
/** To each of the two. */
const CONNECTIONS = 2;

const IDS = Array.from({ length: 30 }, (_, index) => `p${index}`);

/** A directory in which every name tells the number of its revision. */
function directoryOf(revision: number): string {
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
class Asking {
  asked = 0;
  /** The revision of the newest answer. */
  newest = 0;
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
      const [revision = 0] = revisions;
      if (status !== 200 || revisions.size !== 1 || revision < newest) {
        this.problems.push(`${status}, at least of ${newest} and all of one: ${body}`);
      }
      this.expect(revision);
    }
  }
}

describe('the revision that is read', () => {
  /** Applies revisions. */
  let service: TestService;
  let twin: TwinService;
  /** What another process on the same database knows. */
  let other: Revisions;

  beforeAll(async () => {
    service = await TestService.start({ ldif: directoryOf(1), compared: false });
    await stopFollowing(service);
    twin = await TwinService.start(service);
    other = twin.app.get(Revisions);
    await service.until(() => Promise.resolve(other.current === 1));
  });

  afterAll(async () => {
    await twin.stop();
    await service.stop();
  });

  it('is never an older one, nor two in one answer, however often it is asked for while it changes', async () => {
    const authorization = await service.serviceAccount('read', 'directory');
    const [here, there] = [new Asking(service, authorization), new Asking(twin, authorization)];
    try {
      for (let revision = 2; revision <= REVISIONS + 1; revision++) {
        service.replaceDirectory(directoryOf(revision));
        expect((await service.synchronise()).kind).toBe('applied');
        expect(service.app.get(Revisions).current).toBe(revision);
        here.expect(revision);
        // Another process learns of it within a second, at worst: with time for a busy machine.
        if (revision % 5 === 0) await service.until(() => Promise.resolve(there.newest === revision), 5000);
      }
      await service.until(() => Promise.resolve(there.newest === REVISIONS + 1), 5000);
    } finally {
      await Promise.all([here.end(), there.end()]);
    }
    for (const { problems, asked, executions } of [here, there]) {
      expect(problems.slice(0, 3)).toEqual([]);
      // What was not executed was remembered.
      expect(asked - executions.count).toBeGreaterThan(REVISIONS);
    }
  });

  it('is not known while it changes', async () => {
    let finish: (revision: number) => void = () => undefined;
    const changed = other.change(() => new Promise<number>((resolve) => (finish = resolve)));
    expect(other.current).toBeNull();
    finish(REVISIONS + 1);
    expect(await changed).toBe(REVISIONS + 1);
    expect(other.current).toBe(REVISIONS + 1);
  });

  it('is not known without the database, and is again when that is back', async () => {
    const { database } = service.config;
    if (database.kind !== 'postgres') throw new Error('This is for a server');
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query in ('listen directory_revision', 'select revision from mirror_state')
         and pid <> pg_backend_pid()`,
    );
    await client.end();
    await service.until(() => Promise.resolve(other.current === null), 2000);
    await service.until(() => Promise.resolve(other.current === REVISIONS + 1), 5000);
  });
});
