/** @isolated The suite adds mutations. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { ServiceError } from '../../src/common/errors.js';
import { settlesWithin } from '../../src/common/settles-within.js';
import type { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { Database } from '../../src/database/database.js';
import type { PreviewTransaction } from '../../src/database/statements/preview-transaction.js';
import { statement } from '../../src/database/statements/statement.js';
import { buildLdif } from '../support/builders/directory.js';
import { post, refusalOf } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
import { Args, Context, Field, Mutation, ObjectType, Resolver } from '@nestjs/graphql';
import { InheritAccess, RequireScopes } from '../../src/auth/access.js';
import type { RequestContext } from '../../src/graphql/http/request-context.js';
import { Group } from '../../src/groups/group.model.js';
import { GroupsModule } from '../../src/groups/groups.module.js';
import { GroupsService } from '../../src/groups/groups.service.js';

@ObjectType()
class TestPayload {
  @InheritAccess()
  @Field(() => Group)
  group!: Group;
}

/** Mutations for tests only. */
@Resolver()
class TestMutations {
  /** The inputs of all mutations that have started, in order. */
  static begun: string[] = [];

  constructor(
    private readonly groups: GroupsService,
    private readonly database: Database,
  ) {}

  /** Renames a group. */
  @RequireScopes('write')
  @Mutation(() => TestPayload, { nullable: true })
  async testRename(
    @Args('group') id: string,
    @Args('name') name: string,
    @Context() { previewTransaction: transaction }: RequestContext,
  ): Promise<TestPayload> {
    TestMutations.begun.push(`${id} ${name}`);
    await transaction.query(
      `with renamed as (update groups set name = $2, sort_name = lower($2) where id = $1 returning key, name, sort_name)
       update effective_memberships m set group_name = r.name, group_sort_name = r.sort_name
       from renamed r where m.group_key = r.key`,
      [id, name],
    );
    return { group: await this.groups.get({ id }, 'group', transaction) };
  }

  /** Another transaction changes the same row, the first `times` times. */
  @RequireScopes('write')
  @Mutation(() => TestPayload, { nullable: true })
  async testRace(
    @Args('group') id: string,
    @Args('times') times: number,
    @Context() { previewTransaction: transaction }: RequestContext,
  ): Promise<TestPayload> {
    const group = await this.groups.get({ id }, 'group', transaction);
    TestMutations.begun.push(String(group['name']));
    if (TestMutations.begun.length <= times) {
      await this.database.transaction((manager) =>
        manager.query(`update groups set name = name || '+' where id = $1`, [id]),
      );
    }
    await transaction.query(`update groups set description = 'Raced' where key = $1`, [group.key]);
    return { group: await this.groups.get({ id }, 'group', transaction) };
  }
}

const NAME = statement(`select name from groups where id = 'club'`);
const RENAME = 'mutation { testRename(group: "club", name: "Chess") { group { name } } }';
const LIMIT = 3;

const rename = (transaction: PreviewTransaction) =>
  transaction.query(`update groups set name = 'Chess' where id = 'club'`);

describe('a preview transaction on a server', () => {
  let service: TestService;
  let database: Database;
  let dataSource: DirectoryDataSource;
  let authorization: string;

  beforeAll(async () => {
    // Before a service is started, which then has the mutations.
    (Reflect.getMetadata('providers', GroupsModule) as unknown[]).push(TestMutations);
    service = await TestService.start({
      ldif: buildLdif([], [{ id: 'club', name: 'Club' }, { id: 'team' }]),
      environment: {
        LIMIT_PREVIEWS: String(LIMIT),
        DATABASE_POOL_SIZE: '4',
        DATABASE_TIMEOUT_SECONDS: '5',
      },
    });
    database = service.app.get(Database);
    dataSource = service.app.get<unknown, DirectoryDataSource>(DataSource);
    authorization = await service.serviceAccount('read', 'write');
  });

  beforeEach(async () => {
    TestMutations.begun = [];
    await dataSource.query(`update groups set name = 'Club' where id = 'club'`);
  });

  afterAll(() => service.stop());

  const send = (query: string) => post(service, { query }, { authorization });
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'no error',
      (error: unknown) => (error instanceof ServiceError ? error.code : error),
    );

  /** Opens a preview transaction that lasts until it is released. */
  async function hold(): Promise<{
    transaction: PreviewTransaction;
    ended: Promise<unknown>;
    release: () => void;
  }> {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    return new Promise((resolve, reject) => {
      const ended = database.previewTransaction((transaction) => {
        resolve({ transaction, ended, release });
        return held;
      });
      ended.catch(reject);
    });
  }

  it('is repeated with its whole operation after a concurrent change of the same row', async () => {
    const { body } = await send(
      'mutation { testRace(group: "club", times: 1) { group { name description } } testRename(group: "club", name: "Go") { group { description } } }',
    );
    expect(JSON.parse(body)).toEqual({
      data: {
        testRace: { group: { name: 'Club+', description: 'Raced' } },
        testRename: { group: { description: 'Raced' } },
      },
    });
    expect(TestMutations.begun).toEqual(['Club', 'Club+', 'club Go']);
  });

  it('ends with its connection, and the next one works', async () => {
    const { transaction, ended, release } = await hold();
    await rename(transaction);
    const [{ pid } = { pid: 0 }] = await transaction.query<{ pid: number }[]>(
      'select pg_backend_pid() as pid',
    );
    await dataSource.query('select pg_terminate_backend($1)', [pid]);
    expect(await codeOf(transaction.read(NAME))).toBe('SERVICE_UNAVAILABLE');
    release();
    await ended;
    expect(await codeOf(transaction.read(NAME))).toBe('SERVICE_UNAVAILABLE');
    expect(await database.read(NAME)).toEqual([['Club']]);
    expect((await send(RENAME)).status).toBe(200);
  });

  it('waits above the maximum number, then fails, and delays no reads', async () => {
    const held = await hold();
    const sent = Array.from({ length: LIMIT }, () => send(RENAME));
    const reads = Array.from({ length: 20 }, () => send('{ group(group: {id: "club"}) { name } }'));
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(reads.map(() => 200));
    const answer = await Promise.race(sent);
    expect(refusalOf(answer)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(answer.headers['retry-after']).toBe('1');
    expect(TestMutations.begun).toEqual([]);

    held.release();
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT - 1);
    await held.ended;
  });

  it('waits for another one, and is not repeated, if both change the same rows', async () => {
    const one = 'one: testRename(group: "club", name: "Go") { group { name } }';
    const other = 'other: testRename(group: "team", name: "Go") { group { name } }';
    const orders = [`${one} ${other}`, `${other} ${one}`];
    for (let time = 0; time < 5; time++) {
      const answers = await Promise.all(orders.map((order) => send(`mutation { ${order} }`)));
      for (const { body } of answers)
        expect(JSON.parse(body)).toEqual({
          data: { one: { group: { name: 'Go' } }, other: { group: { name: 'Go' } } },
        });
    }
    expect(TestMutations.begun).toHaveLength(20);
  });

  it('ends before a dry run changes the same rows', async () => {
    const { release, ended } = await hold();
    const planned = service.synchronize({ dryRun: true });
    expect(await settlesWithin(500, planned)).toBe(false);
    release();
    await ended;
    expect((await planned).kind).toBe('planned');
  });
});

it('ends with its service, which leaves nothing of it', async () => {
  const service = await TestService.start({ ldif: buildLdif([], [{ id: 'club', name: 'Club' }]) });
  let stopping: Promise<void> = Promise.resolve();
  const seen = await service.app.get(Database).previewTransaction(async (transaction) => {
    await rename(transaction);
    stopping = service.stop();
    await sleep(500);
    return transaction.read(NAME);
  });
  await stopping;
  expect(seen).toEqual([['Chess']]);
});
