/** @isolated It declares types and resolvers. */
import { Module } from '@nestjs/common';
import { Args, Field, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { AppModule } from '../../src/app.module.js';
import { InheritAccess, Public } from '../../src/auth/access.js';
import { CachePolicy } from '../../src/graphql/cache/cache-policy.decorator.js';
import { Executions } from '../support/builders/executions.js';
import { get, type HttpAnswer, post } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const NICK = 'Use `name`. Deprecated since 2026-01-01, gone from 2027-01-01.';
const LENGTH = 'Ask for all of it. Deprecated since 2026-02-01, gone from 2026-09-01.';

@ObjectType()
class Pet {
  @InheritAccess()
  @Field(() => String)
  name = 'Rex';

  @InheritAccess()
  @Field(() => String, { deprecationReason: NICK })
  nick = 'R';
}

/** The product has nothing that is deprecated. */
@Resolver()
class PetsResolver {
  @Public()
  @CachePolicy()
  @Query(() => Pet)
  pet(@Args('length', { type: () => Int, nullable: true, deprecationReason: LENGTH }) _length?: number): Pet {
    return new Pet();
  }
}

@Module({ providers: [PetsResolver] })
class PetsModule {}

describe('an answer to who uses what is deprecated', () => {
  let service: TestService;
  let executions: Executions;

  beforeAll(async () => {
    const forRoot = AppModule.forRoot.bind(AppModule);
    AppModule.forRoot = (...given) => {
      const { imports = [], ...house } = forRoot(...given);
      return { ...house, imports: [...imports, PetsModule] };
    };
    const environment = { CORS_ORIGINS: 'https://pages.example.org' };
    service = await TestService.start({ compared: false, environment });
    executions = new Executions(service.app);
  });

  afterAll(() => service.stop());

  const told = ({ status, headers: { deprecation, sunset }, body }: HttpAnswer) => ({
    status,
    deprecation,
    sunset,
    extensions: (JSON.parse(body) as { extensions?: unknown }).extensions,
  });

  const OF_NICK = {
    status: 200,
    deprecation: '@1767225600',
    sunset: 'Fri, 01 Jan 2027 00:00:00 GMT',
    extensions: { deprecations: [{ coordinate: 'Pet.nick', reason: NICK, sunset: '2027-01-01' }] },
  };

  it('tells what, why and until when', async () => {
    expect(told(await get(service, { query: '{ pet { nick } }' }))).toEqual(OF_NICK);
  });

  it('tells the earliest dates in its headers', async () => {
    expect(told(await post(service, { query: '{ pet(length: 1) { name nick } }' }))).toEqual({
      status: 200,
      deprecation: '@1767225600',
      sunset: 'Tue, 01 Sep 2026 00:00:00 GMT',
      extensions: {
        deprecations: [
          { coordinate: 'Query.pet(length:)', reason: LENGTH, sunset: '2026-09-01' },
          { coordinate: 'Pet.nick', reason: NICK, sunset: '2027-01-01' },
        ],
      },
    });
  });

  it('is the same when it is remembered', async () => {
    const query = '{ pet { name nick } }';
    const ask = () => post(service, { query });
    const first = await ask();
    expect(told(first)).toEqual(OF_NICK);
    await ask();
    const { count } = executions;
    const remembered = await ask();
    expect(executions.count).toBe(count);
    expect(remembered.body).toBe(first.body);
    expect(told(remembered)).toEqual(OF_NICK);
  });

  it('tells it beside errors too, and beside a price', async () => {
    const withError = await post(service, { query: '{ pet { nick } user(user: {id: "nobody"}) { id } }' });
    expect(withError.status).toBe(401);
    const reader = await service.serviceAccount('read');
    const query = '{ pet { nick } user(user: {id: "nobody"}) { id } }';
    expect(told(await post(service, { query }, { authorization: reader }))).toEqual(OF_NICK);
    const priced = '{ rateLimit(dryRun: true) { cost } pet { nick } }';
    expect(told(await post(service, { query: priced }))).toEqual(OF_NICK);
  });

  it('may be read by pages of origins that are allowed', async () => {
    const { headers } = await post(
      service,
      { query: '{ pet { nick } }' },
      { origin: 'https://pages.example.org' },
    );
    expect(headers['access-control-expose-headers']).toMatch(/\bdeprecation\b.*\bsunset\b/);
  });

  it('says nothing of it to all others', async () => {
    const answer = await post(service, { query: '{ pet { name } }' });
    expect(told(answer)).toEqual({ status: 200 });
    expect(answer.body).toBe('{"data":{"pet":{"name":"Rex"}}}');
  });
});
