/** @isolated The suite declares types and resolvers. */
import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import {
  BadRequestException,
  type CallHandler,
  type CanActivate,
  ConflictException,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  Get,
  HttpException,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  NotFoundException,
  Param,
  type PipeTransform,
  Scope,
  ServiceUnavailableException,
  UseFilters,
  UseGuards,
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
import {
  InheritAccess,
  Public,
  RequireScopes,
  RequireToken,
  CurrentPrincipal,
} from '../../src/auth/access.js';
import type { Principal, Scope as TokenScope } from '../../src/auth/principal.js';
import { ScopesGuard } from '../../src/auth/scopes.guard.js';
import { CachePolicy } from '../../src/graphql/cache/response-cache.js';
import { ConnectionArguments, connectionTypes } from '../../src/graphql/schema/connection.js';
import type { RequestContext } from '../../src/graphql/http/request-context.js';
import { ServiceAccountsService } from '../../src/service-accounts/service-accounts.service.js';
import { createAppWith } from '../support/servers/nest-application.js';
import { challengeOf } from '../support/clients/http.js';
import { readData, sendQuery } from '../support/clients/graphql.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

/** Accepts requests with the header `x-allowed`. */
@Injectable()
class HeaderGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request =
      context.getType<string>() === 'graphql'
        ? context.getArgByIndex<RequestContext>(2).request
        : context.switchToHttp().getRequest<RequestContext['request']>();
    return request.headers['x-allowed'] !== undefined;
  }
}

@ObjectType({ description: 'A pet.' })
class Pet {
  @InheritAccess()
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @InheritAccess()
  @Field(() => String, { name: 'title', description: 'Another name in the schema.' })
  heading!: string;

  @InheritAccess()
  @Field(() => String, { defaultValue: 'dog', description: 'A default.' })
  kind?: string;
}

const texts = { connection: 'Pets.', nodes: 'The pets.', edge: 'A pet in a list.', node: 'The pet.' };
const PetPage = connectionTypes('Pet', () => Pet, texts).ConnectionType;

const headersOf = (context: ExecutionContext) => context.getArgByIndex<RequestContext>(2).request.headers;
const Visitor = createParamDecorator((_, context) => headersOf(context)['x-visit']);

const TEXT = { nullable: true, description: 'A text.' };
const thrown: { error: unknown } = { error: null };

@ArgsType()
class RenamedArguments {
  @Field(() => Int, { name: 'size', description: 'A number.' })
  side!: number;
}

function fail(): string {
  throw thrown.error;
}

/** What ran around fields. */
const ran: string[] = [];
const note = <Value>(what: string, value: Value): Value => {
  ran.push(what);
  return value;
};
const interceptor = {
  intercept: (_: ExecutionContext, next: CallHandler) => note('interceptor', next.handle()),
};

@Resolver()
class PetQueries {
  @Public()
  @UseGuards(HeaderGuard)
  @CachePolicy()
  @Query(() => String, TEXT)
  guarded(): string {
    return 'guarded';
  }

  @Public()
  @CachePolicy()
  @Query(() => Pet, TEXT)
  pet(): object {
    return { name: 'Rex', heading: 'Rex I' };
  }

  @Public()
  @UseInterceptors(interceptor)
  @Query(() => PetPage, TEXT)
  pets(@Args() { first }: ConnectionArguments): object {
    return { nodes: [{ name: 'Rex' }].slice(0, first), totalCount: 1 };
  }

  @RequireScopes('directory')
  @Query(() => String, TEXT)
  scoped(): string {
    return 'scoped';
  }

  @RequireToken()
  @Query(() => String, TEXT)
  caller(@CurrentPrincipal() principal: Principal | null): string {
    return principal?.kind ?? '';
  }

  @Public()
  @Query(() => String, TEXT)
  failure(): string {
    return fail();
  }

  @Public()
  @Query(() => String, TEXT)
  everything(
    @Info() { fieldName }: GraphQLResolveInfo,
    @Context('req') req: RequestContext['request'],
    @Args('size', { type: () => Int }) size: number,
    @Context() context: RequestContext,
  ): string {
    return JSON.stringify([fieldName, req === context.request, size]);
  }

  @Public()
  @Query(() => String, TEXT)
  renamed(@Args() { side }: RenamedArguments): string {
    return String(side);
  }
}

const pipe = { transform: (value: unknown) => note('pipe', value) };
const filter = { catch: () => note('filter', new ConflictException('no')) };
const middleware: FieldMiddleware = (_, next) => note('middleware', next() as unknown);

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

@Resolver(() => Pet)
class AskedPetFields {
  @InheritAccess()
  @ResolveField(() => String, TEXT)
  asked(@Parent() { name }: Pet, @Visitor() visitor: string): string {
    return `${visitor} of ${name}`;
  }
}

@Resolver(() => Pet)
class PetFields {
  @InheritAccess()
  @UseGuards(HeaderGuard)
  @ResolveField(() => String, TEXT)
  owner(@Parent() { name }: Pet): string {
    return `of ${name}`;
  }
}

@UseGuards(HeaderGuard)
@Resolver(() => Pet)
class GuardedPetFields {
  @InheritAccess()
  @ResolveField(() => String, TEXT)
  chip(): string {
    return 'chip';
  }
}

@Controller('pets')
class PetsController {
  @Public()
  @UseGuards(HeaderGuard)
  @Get('guarded')
  guarded(): object {
    return {};
  }

  @Public()
  @Get('failure')
  failure(): string {
    return fail();
  }

  @RequireToken()
  @Get('caller/:name')
  caller(@CurrentPrincipal() principal: Principal | null, @Param('name') name: string): object {
    return { caller: principal?.serviceAccountId, name };
  }

  @RequireScopes('directory')
  @Get('scoped')
  scoped(): object {
    return {};
  }

  @Get('forgotten')
  forgotten(): object {
    return {};
  }

  @InheritAccess()
  @Get('inherited')
  inherited(): object {
    return {};
  }
}

@Module({
  controllers: [PetsController],
  providers: [PetQueries, PetFields, GuardedPetFields, Enhanced, Visit, VisitedPetFields, AskedPetFields],
})
class PetsModule {}

interface Outcome {
  status: number;
  code: string | undefined;
  message: string | undefined;
  headers: Headers;
  body: Record<string, unknown>;
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describe('an application with a module of another author', () => {
  let app: NestFastifyApplication;
  let reader: string;

  beforeAll(async () => {
    app = await createAppWith(PetsModule, database);
    reader = await authorizationWith('read');
  });
  afterAll(() => app.close());
  afterEach(() => jest.restoreAllMocks());

  async function authorizationWith(...scopes: TokenScope[]): Promise<string> {
    const id = `test-${scopes.join('-')}`;
    const account = { id, name: id, description: null, scopes, expiresAt: null };
    return `Basic ${(await app.get(ServiceAccountsService).create(account)).token}`;
  }

  async function get(path: string, headers: Record<string, string> = {}): Promise<Outcome> {
    const response = await fetch(`${await app.getUrl()}/${path}`, { headers });
    const body = (await response.json()) as Record<string, unknown>;
    const { code, detail } = body as { code?: string; detail?: string };
    return { status: response.status, code, message: detail, headers: response.headers, body };
  }

  async function sendRequest(query: string, headers: Record<string, string> = {}): Promise<Outcome> {
    const answer = await sendQuery(await app.getUrl(), query, { headers });
    const [error] = answer.errors;
    const body = answer.data ?? {};
    return { ...answer, code: error?.extensions.code, message: error?.message, body };
  }

  describe('runs @UseGuards', () => {
    it.each([
      ['on a root field', '{ guarded }'],
      ['on a nested field', '{ pet { owner } }'],
      ['on the class of a resolver', '{ pet { chip } }'],
    ])('%s', async (_where, query) => {
      expect(await sendRequest(query)).toMatchObject({ status: 200, code: 'FORBIDDEN' });
      const allowed = await sendRequest(query, { 'x-allowed': '1' });
      expect(allowed.code).toBeUndefined();
      expect(JSON.stringify(allowed.body)).not.toContain('null');
    });

    it('on a route', async () => {
      expect(await get('pets/guarded')).toMatchObject({ status: 403, code: 'FORBIDDEN' });
      expect(await get('pets/guarded', { 'x-allowed': '1' })).toMatchObject({ status: 200 });
    });
  });

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

  it('runs filters of nested fields, gives parameters in any order, and has providers for each request', async () => {
    expect(await sendRequest('{ pet { filtered } }')).toMatchObject({ code: 'CONFLICT', message: 'no' });
    const { body } = await sendRequest('{ everything(size: 5) renamed(size: 7) }');
    expect(body).toEqual({ everything: JSON.stringify(['everything', true, 5]), renamed: '7' });
    for (const visit of ['one', 'two'])
      for (const field of ['visitor', 'asked'])
        expect((await sendRequest(`{ pet { field: ${field} } }`, { 'x-visit': visit })).body).toEqual({
          pet: { field: `${visit} of Rex` },
        });
  });

  it('runs interceptors around a page, and reads fields with another name or a default', async () => {
    ran.length = 0;
    const { body } = await sendRequest('{ pet { title kind } pets(first: 5) { nodes { name } } }');
    const pets = { nodes: [{ name: 'Rex' }] };
    expect([body, ran]).toEqual([{ pet: { title: 'Rex I', kind: 'dog' }, pets }, ['interceptor']]);
  });

  describe('has guards on its routes', () => {
    it('OAuthGuard: without a token there is 401 with a challenge', async () => {
      const { status, code, headers, message } = await get('pets/caller/anna');
      expect([status, code, challengeOf(headers.get('www-authenticate'))]).toEqual([
        401,
        'UNAUTHENTICATED',
        'Bearer realm="directory"',
      ]);
      expect(message).toMatch(/^The route GET \/pets\/caller\/:name needs a token/);
    });

    it('ScopesGuard', async () => {
      const { status, code, headers, message } = await get('pets/scoped', { authorization: reader });
      expect([status, code, message, challengeOf(headers.get('www-authenticate'))]).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
        'The route GET /pets/scoped is not accessible with this token: it needs the scope directory.',
        'Bearer realm="directory", error="insufficient_scope", scope="directory"',
      ]);
      const authorization = await authorizationWith('directory');
      expect(await get('pets/scoped', { authorization })).toMatchObject({ status: 200 });
    });
  });

  it.each(['forgotten', 'inherited'])(
    'refuses a route without a declaration of its own: %s',
    async (route) => {
      const refused = { status: 403, code: 'FORBIDDEN' };
      expect(await get(`pets/${route}`)).toMatchObject(refused);
      expect(await get(`pets/${route}`, { authorization: reader })).toMatchObject(refused);
    },
  );

  it('has ScopesGuard on the root fields that Nest calls', async () => {
    const canActivate = jest.spyOn(ScopesGuard.prototype, 'canActivate');
    await sendRequest('{ caller }', { authorization: reader });
    expect(canActivate.mock.calls.map(([context]) => context.getHandler().name)).toEqual(['caller']);
    canActivate.mockReturnValue(false);
    expect(await sendRequest('{ caller pet { name } }', { authorization: reader })).toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  describe('maps its exceptions to codes:', () => {
    it.each([
      ['BAD_REQUEST', 400, new BadRequestException('no')],
      ['NOT_FOUND', 404, new NotFoundException('no')],
      ['CONFLICT', 409, new ConflictException('no')],
      ['BAD_REQUEST', 418, new HttpException('no', 418)],
      ['RATE_LIMITED', 429, new HttpException('no', 429)],
      ['SERVICE_UNAVAILABLE', 503, new ServiceUnavailableException('no')],
    ])('%s for the status %i', async (code, status, exception) => {
      thrown.error = exception;
      expect(await get('pets/failure')).toMatchObject({ status, code, message: 'no' });
      expect(await sendRequest('{ failure }')).toMatchObject({ code, message: 'no' });
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
      canActivate: (context: ExecutionContext) => headersOf(context)['x-allowed'] !== undefined,
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
      const sent = failing ? '{ failure }' : '{ everything(size: 2) }';
      const { errors, data } = await sendQuery(await app.getUrl(), sent);
      expect(counter.calls).toBeGreaterThan(0);
      if (!failing)
        expect([errors, data]).toEqual([[], { everything: expect.stringContaining('2') as string }]);
      else expect(errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
    } finally {
      await app.close();
    }
  });
});

describe('a plugin of Apollo', () => {
  it('sees every request and response, also cached ones, may add to them, and may reject an operation', async () => {
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
          willSendResponse: ({ response: { body } }) => {
            seen.push(JSON.stringify(body));
            if (body.kind === 'single') body.singleResult.extensions = { stamped: true };
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
        const parameters = new URLSearchParams({ query }).toString();
        expect(await (await fetch(`${url}/graphql/v1?${parameters}`)).json()).toEqual({
          data: { buildInfo: { __typename: 'BuildInfo' } },
          extensions: { stamped: true },
        });
        expect(seen).toEqual(expected);
      }
      const { status, errors } = await sendQuery(url, query, { headers: { 'x-rejected': '1' } });
      expect([status, errors]).toMatchObject([409, [{ message: 'no', extensions: { code: 'CONFLICT' } }]]);
    } finally {
      await app.close();
    }
  });
});

it('does not start with a root field without a declaration of access, and says its name', async () => {
  @Resolver()
  class ForgottenResolver {
    @Query(() => String, TEXT)
    forgotten(): string {
      return '';
    }
  }
  @Module({ providers: [ForgottenResolver] })
  class ForgottenModule {}
  await expect(createAppWith(ForgottenModule, database)).rejects.toThrow('Query.forgotten does not say');
});
