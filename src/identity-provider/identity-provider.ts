import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js';
import type { Provider } from 'oidc-provider';
import { EmbeddedIssuer } from '../auth/tokens/issuer-keys.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import { EMBEDDED_REFUSAL, mayUseEmbedded } from '../config/settings/embedded.js';
import { Database } from '../database/database.js';
import { EmbeddedKeys } from '../database/embedded/embedded-keys.js';
import { FailedLogins, WrongCodes } from '../limits/failed-logins.js';
import { explorerClient, registeredClients } from './clients.js';
import { RejectionError } from '../http/rejection.js';
import { DeviceCodes } from './pages/flow-pages.js';
import { createKeys, type ProviderKeys, publicKeys } from './keys.js';
import { ProviderLogins } from './logins.js';
import { findPerson, type ProviderPerson, SAMPLE_PEOPLE } from './people.js';
import { buildProvider } from './provider.js';

const PATHS = [
  '/oauth2/*',
  '/interaction/*',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
];

/** Starts the embedded OpenID provider with the service, on the same origin. */
@Injectable()
export class IdentityProvider implements OnModuleInit {
  private readonly logger = new Logger(IdentityProvider.name);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
    private readonly embeddedKeys: EmbeddedKeys,
    private readonly embeddedIssuer: EmbeddedIssuer,
    private readonly database: Database,
    private readonly failedLogins: FailedLogins,
    private readonly wrongCodes: WrongCodes,
  ) {}

  /** @throws ConfigError when the clients file cannot be used */
  async onModuleInit(): Promise<void> {
    // The command line loads the modules too, but has no HTTP server.
    const adapter = this.host.httpAdapter as FastifyAdapter | null;
    if (!(adapter instanceof FastifyAdapter)) return;
    const registered = registeredClients(this.config);
    const explorer = explorerClient(this.config, registered);
    const clients = explorer === null ? registered : [...registered, explorer];
    const logins = new ProviderLogins(this.failedLogins);
    // Requests are answered only when the database is open.
    let handle: RequestListener = () => undefined;
    const mounted = (...given: Parameters<RequestListener>) => {
      handle(...given);
    };
    await mount(adapter, mounted, logins, this.config);
    await this.embeddedKeys.whenOpen(async () => {
      const keys = await this.embeddedKeys.findOrCreate<ProviderKeys>('identity-provider', createKeys);
      this.embeddedIssuer.publish(publicKeys(keys));
      handle = this.build(clients, keys, logins);
    });
  }

  private build(
    clients: ReturnType<typeof registeredClients>,
    keys: ProviderKeys,
    logins: ProviderLogins,
  ): RequestListener {
    const provider = buildProvider({
      issuer: this.config.baseUrl,
      audience: this.config.auth.audiences[0],
      clients,
      scopes: this.config.scopes,
      corsOrigins: this.config.corsOrigins,
      keys,
      findPerson: (id) => this.findPerson(id),
      people: isSampleDirectory(this.config.directory) ? SAMPLE_PEOPLE : [],
      logins,
      codes: new DeviceCodes(this.wrongCodes, logins),
    });
    this.logErrors(provider);
    const handle = provider.callback();
    return (request, response) => void handle(request, response);
  }

  /** An unavailable database is not an error of the provider, and the client may retry. */
  private async findPerson(id: string): Promise<ProviderPerson | null> {
    try {
      return await findPerson(this.database, id);
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause;
      throw new OIDCProviderError(503, 'temporarily_unavailable', { cause });
    }
  }

  private logErrors(provider: Provider): void {
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
  }
}

/** Routes these paths to the provider before Fastify parses the body, which the provider reads itself. */
async function mount(
  adapter: FastifyAdapter,
  handle: RequestListener,
  logins: ProviderLogins,
  config: Config,
): Promise<void> {
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
            refuse(
              new RejectionError(400, 'BAD_REQUEST', `The URL has more than ${MOST_PARAMETERS} parameters`),
            );
            return;
          }
          handOver(reply);
          logins.noteAddress(request.raw, request.ip);
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

/** Headers of the API that do not apply to the provider, which sets its own for its pages and its clients. */
const NOT_HANDED_OVER = /^(content-security-policy|vary|access-control-.*)$/;

/** Copies the headers to the raw response, because hijacking drops the headers that are already set. */
function handOver(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined && !NOT_HANDED_OVER.test(name)) reply.raw.setHeader(name, value);
  }
  reply.hijack();
}
