/** @isolated The suite declares types and resolvers. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BadRequestException,
  type CallHandler,
  type CanActivate,
  ConflictException,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  HttpException,
  Injectable,
  InternalServerErrorException,
  Module,
  type NestInterceptor,
  NotFoundException,
  Param,
  PayloadTooLargeException,
  ServiceUnavailableException,
  type Type,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import {
  Args,
  Context,
  Field,
  Info,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../../src/app.module.js';
import {
  InheritAccess,
  Public,
  RequireScopes,
  RequireToken,
  CurrentPrincipal,
  ScopesGuard,
} from '../../src/auth/access.js';
import type { Principal, Scope } from '../../src/auth/principal.js';
import { readConfig } from '../../src/config/config.js';
import { CachePolicy } from '../../src/graphql/cache/cache-policy.decorator.js';
import type { RequestContext } from '../../src/graphql/http/request-context.js';
import { Direct } from '../../src/graphql/schema/resolver-methods.js';
import { MirrorFollowing } from '../../src/mirror/following.js';
import { HttpAdapter } from '../../src/http/http-adapter.js';
import { createApp, REJECTION_FORMS } from '../../src/create-app.js';
import { RethrowFilter } from '../../src/http/rejection.js';
import { ServiceAccountsService } from '../../src/service-accounts/service-accounts.service.js';
import { challengeOf } from '../support/clients/http.js';
import { buildLdif } from '../support/builders/directory.js';
import { readData, sendQuery } from '../support/clients/graphql.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

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

@Injectable()
class Shout implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle();
  }
}

@ObjectType({ description: 'A pet.' })
class Pet {
  @InheritAccess()
  @Field(() => String, { description: 'Its name.' })
  name!: string;
}

const TEXT = { nullable: true, description: 'A text.' };
const thrown: { error: unknown } = { error: null };

function fail(): string {
  throw thrown.error;
}

@Resolver()
class PetQueries {
  @Public()
  @UseGuards(HeaderGuard)
  @CachePolicy()
  @Query(() => String, TEXT)
  guarded(): string {
    return 'guarded';
  }

  @Direct()
  @Public()
  @UseGuards(HeaderGuard)
  @CachePolicy()
  @Query(() => String, TEXT)
  guardedDirectly(): string {
    return 'guarded';
  }

  @Public()
  @Query(() => Pet, TEXT)
  pet(): object {
    return { name: 'Rex' };
  }

  @Direct()
  @RequireScopes('directory')
  @Query(() => String, TEXT)
  scopedDirectly(): string {
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

  @Direct()
  @Public()
  @Query(() => String, TEXT)
  failureDirectly(): string {
    return fail();
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

  @Direct()
  @InheritAccess()
  @UseGuards(HeaderGuard)
  @ResolveField(() => String, TEXT)
  ownerDirectly(@Parent() { name }: Pet): string {
    return `of ${name}`;
  }
}

@UseGuards(HeaderGuard)
@Resolver(() => Pet)
class GuardedPetFields {
  @Direct()
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
}

@Module({ controllers: [PetsController], providers: [PetQueries, PetFields, GuardedPetFields] })
class PetsModule {}

/** The application with another module. */
async function createAppWith(module: Type, database: TestDatabase): Promise<NestFastifyApplication> {
  const port = await findFreePort();
  const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'nest-')), 'directory.ldif');
  writeFileSync(file, buildLdif([{ id: 'anna' }]));
  const config = readConfig({
    PORT: String(port),
    DATABASE_URL: database.url,
    DIRECTORY_URL: `file:${file}`,
    LOG_LEVEL: 'fatal',
  });
  @Module({})
  class Root {}
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: Root, imports: [AppModule.forRoot(config), module] },
    new HttpAdapter(config, REJECTION_FORMS),
    { logger: false, abortOnError: false },
  );
  app.useGlobalFilters(new RethrowFilter());
  await app.listen(port, '127.0.0.1').catch(async (error: unknown) => {
    await app.close().catch(() => undefined);
    throw error;
  });
  // Without a revision of the mirror nothing is cached.
  await app.get(MirrorFollowing).start();
  return app;
}

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

  async function authorizationWith(...scopes: Scope[]): Promise<string> {
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
      ['on a root field that is @Direct', '{ guardedDirectly }'],
      ['on a nested field', '{ pet { owner } }'],
      ['on a nested field that is @Direct', '{ pet { ownerDirectly } }'],
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

    it.each(['{ guarded }', '{ guardedDirectly }'])('also for a cached response: %s', async (query) => {
      for (let time = 0; time < 3; time++)
        await sendRequest(query, { authorization: reader, 'x-allowed': '1' });
      expect(await sendRequest(query, { authorization: reader })).toMatchObject({ code: 'FORBIDDEN' });
    });
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

    it('OAuthGuard: a wrong token is rejected', async () => {
      expect(await get('pets/caller/anna', { authorization: 'Bearer nonsense' })).toMatchObject({
        status: 401,
        code: 'UNAUTHENTICATED',
      });
    });

    it('OAuthGuard: the principal is available to the method', async () => {
      const { status, body } = await get('pets/caller/anna', { authorization: reader });
      expect([status, body]).toEqual([200, { caller: 'test-read', name: 'anna' }]);
    });

    it('OAuthGuard: a public route reads no token', async () => {
      expect(await get('pets/guarded', { authorization: 'Bearer nonsense', 'x-allowed': '1' })).toMatchObject(
        { status: 200 },
      );
    });

    it('ScopesGuard', async () => {
      const { status, code, headers, message } = await get('pets/scoped', { authorization: reader });
      expect([status, code, message, challengeOf(headers.get('www-authenticate'))]).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
        'The route GET /pets/scoped is not accessible with this token: it needs the scope directory.',
        'Bearer error="insufficient_scope", scope="directory"',
      ]);
      const authorization = await authorizationWith('directory');
      expect(await get('pets/scoped', { authorization })).toMatchObject({ status: 200 });
    });
  });

  describe('has guards on its root fields', () => {
    it.each([
      ['caller', 'caller'],
      ['failureDirectly', 'failureDirectly'],
      ['buildInfo', 'buildInfo { version }'],
    ])('ScopesGuard: %s', async (name, selection) => {
      const canActivate = jest.spyOn(ScopesGuard.prototype, 'canActivate');
      await sendRequest(`{ ${selection} }`, { authorization: reader });
      expect(canActivate.mock.calls.map(([context]) => context.getHandler().name)).toEqual([name]);
      canActivate.mockReturnValue(false);
      expect(await sendRequest(`{ ${selection} pet { name } }`, { authorization: reader })).toMatchObject({
        code: 'FORBIDDEN',
      });
    });

    it('the principal is available to them', async () => {
      expect((await sendRequest('{ caller }', { authorization: reader })).body).toEqual({
        caller: 'SERVICE_ACCOUNT_TOKEN',
      });
      expect(await sendRequest('{ caller }')).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
      expect(await sendRequest('{ scopedDirectly }', { authorization: reader })).toMatchObject({
        status: 403,
        code: 'INSUFFICIENT_SCOPE',
      });
    });
  });

  describe('maps its exceptions to codes:', () => {
    it.each([
      ['BAD_REQUEST', 400, new BadRequestException('no')],
      ['UNAUTHENTICATED', 401, new UnauthorizedException('no')],
      ['FORBIDDEN', 403, new ForbiddenException('no')],
      ['NOT_FOUND', 404, new NotFoundException('no')],
      ['CONFLICT', 409, new ConflictException('no')],
      ['PAYLOAD_TOO_LARGE', 413, new PayloadTooLargeException('no')],
      ['BAD_REQUEST', 418, new HttpException('no', 418)],
      ['RATE_LIMITED', 429, new HttpException('no', 429)],
      ['SERVICE_UNAVAILABLE', 503, new ServiceUnavailableException('no')],
    ])('%s for the status %i', async (code, status, exception) => {
      thrown.error = exception;
      expect(await get('pets/failure')).toMatchObject({ status, code, message: 'no' });
      expect(await sendRequest('{ failure }')).toMatchObject({ code, message: 'no' });
      expect(await sendRequest('{ failureDirectly }')).toMatchObject({ code, message: 'no' });
    });

    it.each([
      ['an Error', new Error('secret')],
      ['an InternalServerErrorException', new InternalServerErrorException('secret')],
      [
        'the cause of an exception',
        new ForbiddenException({ message: 'no', internal: 'secret' }, { cause: new Error('secret') }),
      ],
    ])('%s shows no internals', async (_what, exception) => {
      thrown.error = exception;
      const outcomes = [
        await get('pets/failure'),
        await sendRequest('{ failure }'),
        await sendRequest('{ failureDirectly }'),
      ];
      expect(JSON.stringify(outcomes)).not.toContain('secret');
      const code = exception instanceof ForbiddenException ? 'FORBIDDEN' : 'INTERNAL_SERVER_ERROR';
      expect(outcomes.map((outcome) => outcome.code)).toEqual([code, code, code]);
    });

    it('a route that requires a login sends a challenge', async () => {
      thrown.error = new UnauthorizedException();
      expect(challengeOf((await get('pets/failure')).headers.get('www-authenticate'))).toBe(
        'Bearer realm="directory"',
      );
    });
  });
});

describe('a global element', () => {
  @Module({
    providers: [
      PetQueries,
      PetFields,
      GuardedPetFields,
      { provide: APP_GUARD, useClass: HeaderGuard },
      { provide: APP_INTERCEPTOR, useClass: Shout },
    ],
  })
  class GlobalsModule {}

  it('runs on @Direct root fields, and for cached responses', async () => {
    const intercept = jest.spyOn(Shout.prototype, 'intercept');
    const app = await createAppWith(GlobalsModule, database);
    try {
      const query = '{ buildInfo { version } }';
      const url = await app.getUrl();
      for (let time = 0; time < 3; time++) {
        const data = await readData(url, query, { headers: { 'x-allowed': '1' } });
        expect(data).toEqual({ buildInfo: { version: expect.any(String) as string } });
      }
      expect(intercept).toHaveBeenCalledTimes(3);
      const { errors } = await sendQuery(url, query);
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    } finally {
      await app.close();
    }
  });
});

describe('methods that register a global element', () => {
  it('fail, because a @Direct field would skip it', async () => {
    const app = await createApp(readConfig({ DATABASE_URL: database.url, LOG_LEVEL: 'fatal' }));
    try {
      const add = () => app.useGlobalGuards(new HeaderGuard());
      expect(add).toThrow('useGlobalGuards() would not affect every field: provide APP_GUARD in a module');
    } finally {
      await app.close();
    }
  });
});

describe('the start fails', () => {
  async function startFailure(module: Type): Promise<string> {
    const app = createAppWith(module, database);
    const error: unknown = await app.then(
      (started) => started.close(),
      (failure: unknown) => failure,
    );
    return error instanceof Error ? error.message : 'it started';
  }

  it('for a route without a declaration of access, with its name', async () => {
    @Controller()
    class ForgottenController {
      @Get('forgotten')
      forgotten(): string {
        return '';
      }

      @InheritAccess()
      @Get('inherited')
      inherited(): string {
        return '';
      }
    }
    @Module({ controllers: [ForgottenController] })
    class ForgottenModule {}
    expect((await startFailure(ForgottenModule)).split('\n').slice(1)).toEqual([
      expect.stringContaining('ForgottenController.forgotten does not declare its access'),
      expect.stringContaining('ForgottenController.inherited does not declare its access'),
    ]);
  });

  it('for a root field without a declaration of access, with its name', async () => {
    @Resolver()
    class ForgottenResolver {
      @Query(() => String, TEXT)
      forgotten(): string {
        return '';
      }
    }
    @Module({ providers: [ForgottenResolver] })
    class ForgottenModule {}
    expect(await startFailure(ForgottenModule)).toContain('Query.forgotten does not say');
  });

  it('for @Direct methods with elements that would not run, with their names', async () => {
    const pipe = { transform: (value: unknown) => value };
    @Resolver()
    class Wrong {
      @Direct()
      @Public()
      @UseInterceptors(Shout)
      @Query(() => String, TEXT)
      intercepted(): string {
        return '';
      }

      @Direct()
      @Public()
      @UsePipes(pipe)
      @Query(() => String, TEXT)
      piped(): string {
        return '';
      }

      @Direct()
      @Public()
      @UseFilters(new RethrowFilter())
      @Query(() => String, TEXT)
      filtered(): string {
        return '';
      }

      @Direct()
      @Public()
      @Query(() => String, TEXT)
      exchanged(@Context() _context: unknown, @Info() _info: unknown): string {
        return '';
      }

      @Direct()
      @Public()
      @Query(() => String, TEXT)
      named(_root: unknown, @Args('name', { type: () => String }) _name: string): string {
        return '';
      }

      @Direct()
      @Public()
      @Query(() => String, TEXT)
      pipedParameter(
        @Parent() _root: unknown,
        @Args('name', { type: () => String }, pipe) _name: string,
      ): string {
        return '';
      }

      @Direct()
      @Public()
      @Query(() => String, TEXT)
      custom(@CurrentPrincipal() _principal: unknown): string {
        return '';
      }
    }
    @UseInterceptors(Shout)
    @Resolver()
    class WrongClass {
      @Direct()
      @Public()
      @Query(() => String, TEXT)
      inherited(): string {
        return '';
      }
    }
    @Module({ providers: [Wrong, WrongClass] })
    class WrongModule {}
    const order =
      'must take @Parent(), @Args(), @Context() and @Info() in this order, without names or pipes';
    expect((await startFailure(WrongModule)).split('\n').slice(1).sort()).toEqual([
      `Wrong.custom ${order}`,
      `Wrong.exchanged ${order}`,
      'Wrong.filtered has filters, which would not run',
      'Wrong.intercepted has interceptors, which would not run',
      `Wrong.named ${order}`,
      'Wrong.piped has pipes, which would not run',
      `Wrong.pipedParameter ${order}`,
      'WrongClass.inherited has interceptors, which would not run',
    ]);
  });
});
