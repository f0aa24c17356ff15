/** @isolated The suite declares types and resolvers. */
import {
  BadRequestException,
  type CanActivate,
  ConflictException,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  HttpException,
  Injectable,
  Module,
  NotFoundException,
  Param,
  PayloadTooLargeException,
  ServiceUnavailableException,
  type Type,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { Field, ObjectType, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
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
import type { RequestContext } from '../../src/graphql/http/request-context.js';
import { ServiceAccountsService } from '../../src/service-accounts/service-accounts.service.js';
import { createAppWith } from '../support/servers/nest-application.js';
import { challengeOf } from '../support/clients/http.js';
import { sendQuery } from '../support/clients/graphql.js';
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

  @Public()
  @Query(() => Pet, TEXT)
  pet(): object {
    return { name: 'Rex' };
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

@Module({ controllers: [PetsController], providers: [PetQueries, PetFields, GuardedPetFields] })
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
        'Bearer error="insufficient_scope", scope="directory"',
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
    });
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
});
