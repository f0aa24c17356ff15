import { Args, Context, Field, Mutation, ObjectType, Resolver } from '@nestjs/graphql';
import { InheritAccess, RequireScopes } from '../../../src/auth/access.js';
import { Database } from '../../../src/database/database.js';
import type { RequestContext } from '../../../src/graphql/http/request-context.js';
import { Group } from '../../../src/groups/group.model.js';
import { GroupsModule } from '../../../src/groups/groups.module.js';
import { GroupsService } from '../../../src/groups/groups.service.js';

@ObjectType()
class TestPayload {
  @InheritAccess()
  @Field(() => Group)
  group!: Group;
}

/** Mutations for tests only. */
@Resolver()
export class TestMutations {
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

/** Must be called before a service is started, which then has the mutations. */
export function addTestMutations(): void {
  (Reflect.getMetadata('providers', GroupsModule) as unknown[]).push(TestMutations);
}
