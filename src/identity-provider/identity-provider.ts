import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import { Inject, Injectable, Logger, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js';
import { DataSource } from 'typeorm';
import { AuthModule } from '../auth/auth.module.js';
import { EmbeddedIssuer } from '../auth/tokens/issuer.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { EMBEDDED_REFUSAL, mayUseEmbedded } from '../config/settings/service.js';
import { Database } from '../database/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { statement } from '../database/statements/statement.js';
import { RejectionError } from '../http/rejection.js';
import { contentSecurityPolicy } from '../pages/policy.js';
import { type Client, registeredClients } from './clients.js';
import { buildProvider, createKeys, type ProviderKeys, type ProviderPerson, publicKeys } from './provider.js';

const PATHS = [
  '/oauth2/*',
  '/interaction/*',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
];

/** Starts the embedded OpenID provider with the service, on the same origin. */
@Injectable()
class IdentityProvider implements OnModuleInit {
  private readonly logger = new Logger(IdentityProvider.name);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    private readonly embeddedIssuer: EmbeddedIssuer,
    private readonly database: Database,
  ) {}

  /** @throws ConfigError when the clients file cannot be used */
  async onModuleInit(): Promise<void> {
    // The command line loads the modules too, but has no HTTP server.
    const adapter = this.host.httpAdapter as FastifyAdapter | null;
    if (!(adapter instanceof FastifyAdapter)) return;
    const clients = registeredClients(this.config);
    // Requests are answered only when the database is open.
    let handle: RequestListener = () => undefined;
    const mounted = (...given: Parameters<RequestListener>) => {
      handle(...given);
    };
    await mount(adapter, mounted, this.config);
    await this.dataSource.whenOpen(async () => {
      const keys = await this.dataSource.findOrCreateKey<ProviderKeys>('identity-provider', createKeys);
      this.embeddedIssuer.publish(publicKeys(keys));
      handle = this.build(clients, keys);
    });
  }

  private build(clients: readonly Client[], keys: ProviderKeys): RequestListener {
    const findPerson = (id: string) => this.findPerson(id);
    const provider = buildProvider({ config: this.config, clients, keys, findPerson });
    const log = (error: unknown) => {
      if (error instanceof OIDCProviderError && error.cause instanceof ServiceError) {
        this.logger.warn(error.cause.message);
      } else this.logger.error(error);
    };
    provider.on('server_error', (_context, error) => {
      log(error);
    });
    // Errors outside of the provider's own routes. Without a listener, they would go to the console.
    (provider as EventEmitter).on('error', log);
    const handle = provider.callback();
    return (request, response) => void handle(request, response);
  }

  /** An unavailable database is not an error of the provider, and the client may retry. */
  private async findPerson(id: string): Promise<ProviderPerson | null> {
    try {
      const rows = await this.database.read<PersonRow>(PERSON_BY_ID, [foldId(id)]);
      const [[sub, name, givenName = null, familyName = null, email = null] = [null, '']] = rows;
      if (sub === null) return null;
      const claims = { sub, name, given_name: givenName, family_name: familyName, email };
      // A claim without a value is left out (OpenID Connect Core §5.3.2).
      const known = Object.entries(claims).filter((claim): claim is [string, string] => claim[1] !== null);
      return { ...Object.fromEntries(known), sub };
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause;
      throw new OIDCProviderError(503, 'temporarily_unavailable', { cause });
    }
  }
}

/** For development and the demonstration: only without an external issuer. */
@Module({ imports: [AuthModule], providers: [IdentityProvider] })
export class IdentityProviderModule {}

type PersonRow = [id: string | null, name: string, ...others: (string | null)[]];

/** Returns one row even if no user has the id. */
const PERSON_BY_ID = statement(
  `select u.id, u.name, u.given_name, u.family_name, u.email, s.revision_uuid from mirror_state s left join users u on u.id_folded = $1`,
  { returnsRevision: true },
);

/** Routes these paths to the provider before Fastify parses the body, which the provider reads itself. */
async function mount(adapter: FastifyAdapter, handle: RequestListener, config: Config): Promise<void> {
  await adapter.getInstance().register((fastify, _options, done) => {
    for (const path of PATHS) {
      fastify.all(path, {
        // Fastify stops processing the request, because the hook does not call `done`.
        onRequest: (request, reply, refuse) => {
          if (!mayUseEmbedded(config, request.raw.headers.host)) {
            refuse(new RejectionError(403, 'FORBIDDEN', EMBEDDED_REFUSAL));
            return;
          }
          if (request.url.split('&').length > MOST_PARAMETERS) {
            const message = `The URL has more than ${MOST_PARAMETERS} parameters`;
            refuse(new RejectionError(400, 'BAD_REQUEST', message));
            return;
          }
          handOver(reply);
          handle(request.raw, reply.raw);
        },
        handler: () => undefined,
      });
    }
    done();
  });
}

/** Maximum number of parameters of a URL. OAuth needs fewer, and Koa parses them in quadratic time. */
const MOST_PARAMETERS = 100;

/** Headers of the API that do not apply to the provider, which sets its own for its clients. */
const NOT_HANDED_OVER = /^(content-security-policy|vary|access-control-.*)$/;

/**
 * The pages of oidc-provider have their style inside, and load nothing. It adds the hash of the script that submits a form.
 * There is no `form-action`, because browsers apply it to every redirect after the post, and the last redirect leads to the
 * application.
 */
const PAGE_POLICY = contentSecurityPolicy({ 'style-src': [`'unsafe-inline'`], 'script-src': [] });

/** Copies the headers to the raw response, because hijacking drops the headers that are already set. */
function handOver(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined && !NOT_HANDED_OVER.test(name)) reply.raw.setHeader(name, value);
  }
  reply.raw.setHeader('content-security-policy', PAGE_POLICY);
  reply.raw.setHeader('x-content-type-options', 'nosniff');
  reply.raw.setHeader('referrer-policy', 'no-referrer');
  reply.hijack();
}
