/** @isolated The suite declares types and resolvers. */
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

describe('a response to a request with deprecated elements', () => {
  let service: TestService;
  let executions: Executions;

  beforeAll(async () => {
    const forRoot = AppModule.forRoot.bind(AppModule);
    AppModule.forRoot = (...given) => {
      const { imports = [], ...dynamicModule } = forRoot(...given);
      return { ...dynamicModule, imports: [...imports, PetsModule] };
    };
    const environment = { CORS_ORIGINS: 'https://pages.example.org' };
    service = await TestService.start({ compared: false, environment });
    executions = new Executions(service.app);
  });

  afterAll(() => service.stop());

  const deprecationsOf = ({ status, headers: { deprecation, sunset }, body }: HttpAnswer) => ({
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

  it('names the elements, the reasons and the dates', async () => {
    expect(deprecationsOf(await get(service, { query: '{ pet { nick } }' }))).toEqual(OF_NICK);
  });

  it('has the earliest dates in its headers', async () => {
    expect(deprecationsOf(await post(service, { query: '{ pet(length: 1) { name nick } }' }))).toEqual({
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

  it('is the same from the cache', async () => {
    const query = '{ pet { name nick } }';
    const sendRequest = () => post(service, { query });
    const first = await sendRequest();
    expect(deprecationsOf(first)).toEqual(OF_NICK);
    await sendRequest();
    const { count } = executions;
    const remembered = await sendRequest();
    expect(executions.count).toBe(count);
    expect(remembered.body).toBe(first.body);
    expect(deprecationsOf(remembered)).toEqual(OF_NICK);
  });

  it('names them also beside errors and a cost', async () => {
    const withError = await post(service, { query: '{ pet { nick } user(user: {id: "nobody"}) { id } }' });
    expect(withError.status).toBe(401);
    const reader = await service.serviceAccount('read');
    const query = '{ pet { nick } user(user: {id: "nobody"}) { id } }';
    expect(deprecationsOf(await post(service, { query }, { authorization: reader }))).toEqual(OF_NICK);
    const priced = '{ rateLimit(dryRun: true) { cost } pet { nick } }';
    expect(deprecationsOf(await post(service, { query: priced }))).toEqual(OF_NICK);
  });

  it('exposes the headers to allowed origins', async () => {
    const { headers } = await post(
      service,
      { query: '{ pet { nick } }' },
      { origin: 'https://pages.example.org' },
    );
    expect(headers['access-control-expose-headers']).toMatch(/\bdeprecation\b.*\bsunset\b/);
  });

  it('does not name deprecated elements to other requests', async () => {
    const answer = await post(service, { query: '{ pet { name } }' });
    expect(deprecationsOf(answer)).toEqual({ status: 200 });
    expect(answer.body).toBe('{"data":{"pet":{"name":"Rex"}}}');
  });
});
