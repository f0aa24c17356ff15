/** @isolated The suite declares types and resolvers. */
import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import {
  type CallHandler,
  ConflictException,
  type ExecutionContext,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  type PipeTransform,
  Scope,
  UseFilters,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import {
  Args,
  ArgsType,
  CONTEXT,
  Context,
  Field,
  type FieldMiddleware,
  Info,
  Int,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { GraphQLResolveInfo } from 'graphql';
import { InheritAccess, Public } from '../../src/auth/access.js';
import type { RequestContext } from '../../src/graphql/http/request-context.js';
import { readData, sendQuery } from '../support/clients/graphql.js';
import { createAppWith } from '../support/servers/nest-application.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

@ObjectType({ description: 'A pet.' })
class Pet {
  @InheritAccess()
  @Field(() => String, { description: 'Its name.' })
  name!: string;
}

const TEXT = { nullable: true, description: 'A text.' };

@ArgsType()
class RenamedArguments {
  @Field(() => Int, { name: 'size', description: 'A number.' })
  side!: number;
}

@Resolver()
class PetQueries {
  @Public()
  @Query(() => Pet, TEXT)
  pet(): object {
    return { name: 'Rex' };
  }

  @Public()
  @Query(() => String, TEXT)
  failure(): string {
    throw new Error('secret');
  }

  @Public()
  @Query(() => String, TEXT)
  sized(@Args('size', { type: () => Int }) size: number): string {
    return String(size);
  }

  @Public()
  @Query(() => String, TEXT)
  renamed(@Args() { side }: RenamedArguments): string {
    return String(side);
  }

  @Public()
  @Query(() => String, TEXT)
  everything(
    @Info() { fieldName }: GraphQLResolveInfo,
    @Context('requestId') requestId: string,
    @Args('size', { type: () => Int }) size: number,
    @Context() context: RequestContext,
  ): string {
    return JSON.stringify([fieldName, requestId === context.requestId, size]);
  }
}

/** What ran around the fields of `Enhanced`. */
const ran: string[] = [];

const interceptor = {
  intercept: (_context: ExecutionContext, next: CallHandler) => {
    ran.push('interceptor');
    return next.handle();
  },
};
const pipe = {
  transform: (value: unknown) => {
    ran.push('pipe');
    return value;
  },
};
const filter = {
  catch: () => {
    ran.push('filter');
    return new ConflictException('no');
  },
};
const middleware: FieldMiddleware = (_context, next) => {
  ran.push('middleware');
  return next() as unknown;
};

/** Each method has what Nest documents, without any of which it would be called directly. */
@Resolver(() => Pet)
class Enhanced {
  @InheritAccess()
  @UseInterceptors(interceptor)
  @ResolveField(() => String, TEXT)
  intercepted(): string {
    return 'intercepted';
  }

  @InheritAccess()
  @UsePipes(pipe)
  @ResolveField(() => String, TEXT)
  piped(@Parent() _pet: Pet): string {
    return 'piped';
  }

  @InheritAccess()
  @ResolveField(() => String, TEXT)
  pipedParameter(@Args('size', { type: () => Int }, pipe) size: number): string {
    return String(size);
  }

  @InheritAccess()
  @UseFilters(filter)
  @ResolveField(() => String, TEXT)
  filtered(): string {
    throw new Error('secret');
  }

  @InheritAccess()
  @ResolveField(() => String, { ...TEXT, middleware: [middleware] })
  wrapped(): string {
    return 'wrapped';
  }
}

/** One for each request. */
@Injectable({ scope: Scope.REQUEST })
class Visit {
  readonly header: string | undefined;

  constructor(@Inject(CONTEXT) { request }: RequestContext) {
    this.header = request.headers['x-visit'] as string | undefined;
  }
}

@Resolver(() => Pet)
class VisitedPetFields {
  constructor(private readonly visit: Visit) {}

  @InheritAccess()
  @ResolveField(() => String, TEXT)
  visitor(@Parent() { name }: Pet): string {
    return `${this.visit.header} of ${name}`;
  }
}

@Module({ providers: [PetQueries, Enhanced, Visit, VisitedPetFields] })
class PetsModule {}

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describe('a resolver of another author', () => {
  let app: NestFastifyApplication;

  beforeAll(async () => {
    app = await createAppWith(PetsModule, database);
  });
  afterAll(() => app.close());

  async function sendRequest(query: string, headers: Record<string, string> = {}) {
    const answer = await sendQuery(await app.getUrl(), query, { headers });
    const [error] = answer.errors;
    return { code: error?.extensions.code, message: error?.message, body: answer.data ?? {} };
  }

  it.each([
    ['intercepted', 'interceptor', 'intercepted'],
    ['piped', 'pipe', 'piped'],
    ['pipedParameter(size: 3)', 'pipe', '3'],
    ['wrapped', 'middleware', 'wrapped'],
  ])('runs what is declared on the nested field %s', async (field, what, value) => {
    ran.length = 0;
    const { body } = await sendRequest(`{ pet { field: ${field} } }`);
    expect([body, [...new Set(ran)]]).toEqual([{ pet: { field: value } }, [what]]);
  });

  it('runs filters of nested fields', async () =>
    expect(await sendRequest('{ pet { filtered } }')).toMatchObject({ code: 'CONFLICT', message: 'no' }));

  it('gets its parameters in any order, by name and with the names of its classes', async () => {
    const { body } = await sendRequest('{ everything(size: 5) renamed(size: 7) }');
    expect(body).toEqual({ everything: JSON.stringify(['everything', true, 5]), renamed: '7' });
  });

  it('may have providers for each request', async () => {
    for (const visit of ['one', 'two'])
      expect((await sendRequest('{ pet { visitor } }', { 'x-visit': visit })).body).toEqual({
        pet: { visitor: `${visit} of Rex` },
      });
  });
});

/** Counts its calls, and lets everything pass. */
class Counter implements NestInterceptor, PipeTransform {
  calls = 0;

  intercept(_context: ExecutionContext, next: CallHandler) {
    this.calls++;
    return next.handle();
  }

  transform(value: unknown): unknown {
    this.calls++;
    return value;
  }
}

describe('an element for all resolvers', () => {
  const query = '{ buildInfo { version } }';

  it('runs for root fields and cached responses if a module provides it', async () => {
    const interceptor = new Counter();
    const guard = {
      canActivate: (context: ExecutionContext) =>
        context.getArgByIndex<RequestContext>(2).request.headers['x-allowed'] !== undefined,
    };
    @Module({
      providers: [
        { provide: APP_GUARD, useValue: guard },
        { provide: APP_INTERCEPTOR, useValue: interceptor },
      ],
    })
    class GlobalsModule {}
    const app = await createAppWith(GlobalsModule, database);
    try {
      const url = await app.getUrl();
      for (let time = 0; time < 3; time++) {
        const data = await readData(url, query, { headers: { 'x-allowed': '1' } });
        expect(data).toEqual({ buildInfo: { version: expect.any(String) as string } });
      }
      expect(interceptor.calls).toBe(3);
      const { errors } = await sendQuery(url, query);
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    } finally {
      await app.close();
    }
  });

  it.each<[string, (app: NestFastifyApplication, counter: Counter) => unknown]>([
    ['useGlobalInterceptors()', (app, counter) => app.useGlobalInterceptors(counter)],
    ['useGlobalPipes()', (app, counter) => app.useGlobalPipes(counter)],
    ['useGlobalGuards()', (app, counter) => app.useGlobalGuards({ canActivate: () => counter.calls++ >= 0 })],
    [
      'useGlobalFilters()',
      (app, counter) =>
        app.useGlobalFilters({
          catch: () => {
            counter.calls++;
            return new ConflictException('no');
          },
        }),
    ],
  ])('runs after %s', async (method, register) => {
    const counter = new Counter();
    const app = await createAppWith(PetsModule, database, (created) => register(created, counter));
    try {
      const failing = method === 'useGlobalFilters()';
      const sent = failing ? '{ failure }' : '{ sized(size: 2) }';
      const { errors, data } = await sendQuery(await app.getUrl(), sent);
      expect(counter.calls).toBeGreaterThan(0);
      if (!failing) expect([errors, data]).toEqual([[], { sized: '2' }]);
      else expect(errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
    } finally {
      await app.close();
    }
  });
});

describe('a plugin of Apollo', () => {
  it('sees every request and every response, and may reject an operation', async () => {
    const seen: string[] = [];
    @Plugin()
    class Audit implements ApolloServerPlugin<RequestContext> {
      requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
        return Promise.resolve({
          didResolveOperation: ({ contextValue, operationName }) => {
            if (contextValue.request.headers['x-rejected'] !== undefined) throw new ConflictException('no');
            seen.push(operationName ?? '');
            return Promise.resolve();
          },
          willSendResponse: ({ response }) => {
            seen.push(JSON.stringify(response.body));
            return Promise.resolve();
          },
        });
      }
    }
    @Module({ providers: [Audit] })
    class AuditModule {}
    const app = await createAppWith(AuditModule, database);
    try {
      const url = await app.getUrl();
      const query = 'query Build { buildInfo { __typename } }';
      const expected = ['Build', expect.stringContaining('{"buildInfo":{"__typename":"BuildInfo"}}')];
      for (let time = 0; time < 3; time++) {
        seen.length = 0;
        expect(await readData(url, query)).toEqual({ buildInfo: { __typename: 'BuildInfo' } });
        expect(seen).toEqual(expected);
      }
      const { status, errors } = await sendQuery(url, query, { headers: { 'x-rejected': '1' } });
      expect([status, errors]).toMatchObject([409, [{ message: 'no', extensions: { code: 'CONFLICT' } }]]);
    } finally {
      await app.close();
    }
  });

  it('may add to every response, also to a cached one', async () => {
    @Plugin()
    class Stamp implements ApolloServerPlugin<RequestContext> {
      requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
        return Promise.resolve({
          willSendResponse: ({ response: { body } }) => {
            if (body.kind === 'single') body.singleResult.extensions = { stamped: true };
            return Promise.resolve();
          },
        });
      }
    }
    @Module({ providers: [Stamp] })
    class StampModule {}
    const app = await createAppWith(StampModule, database);
    try {
      const url = `${await app.getUrl()}/graphql/v1?query={buildInfo{__typename}}`;
      for (let time = 0; time < 3; time++)
        expect(await (await fetch(url)).json()).toEqual({
          data: { buildInfo: { __typename: 'BuildInfo' } },
          extensions: { stamped: true },
        });
    } finally {
      await app.close();
    }
  });
});
