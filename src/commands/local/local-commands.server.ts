import { createServer, type Server, type Socket } from 'node:net';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import { printable } from '../../common/printable.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { DirectoryDataSource } from '../../database/connections/data-source.js';
import type { AccountChanges, NewServiceAccount } from '../../service-accounts/account-operations.js';
import { ServiceAccountsService } from '../../service-accounts/service-accounts.service.js';
import {
  listenForCommands,
  type LocalRequest,
  type LocalOperation,
  OPERATIONS,
  parseWithTimes,
  removeEndpoint,
  TIMEOUT_MS,
} from './local-endpoint.js';

const MOST_BYTES = 65_536;

/**
 * Executes commands while this service holds the embedded database, which a second process cannot open: on a Unix socket that
 * only the user of the database directory can reach.
 */
@Injectable()
export class LocalCommandsServer implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Commands');
  private server: Server | null = null;

  constructor(
    private readonly accounts: ServiceAccountsService,
    @InjectDataSource() private readonly dataSource: DirectoryDataSource,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { database } = this.config;
    if (database.kind !== 'pglite') return;
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      void this.answer(socket);
    }).unref();
    try {
      await listenForCommands(database.directory, server);
      this.server = server;
    } catch (error) {
      server.close();
      this.logger.warn(`Commands can use the database only while the service is stopped: ${String(error)}`);
    }
  }

  onModuleDestroy(): void {
    const { database } = this.config;
    if (this.server === null || database.kind !== 'pglite') return;
    removeEndpoint(database.directory);
    this.server.close();
    this.server = null;
  }

  private async answer(socket: Socket): Promise<void> {
    // The command may end at any time.
    socket.on('error', () => socket.destroy()).setTimeout(TIMEOUT_MS, () => socket.destroy());
    const answer = await this.execute(socket).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: this.describe(error) }),
    );
    socket.resume().end(JSON.stringify(answer));
  }

  private describe(error: unknown): Pick<ServiceError, 'code' | 'message'> {
    if (error instanceof ServiceError) return { code: error.code, message: error.message };
    this.logger.error(error);
    return { code: 'INTERNAL_SERVER_ERROR', message: 'The service has failed: its log has the cause' };
  }

  private async execute(socket: Socket): Promise<unknown> {
    const { operation, args } = parseRequest(await readRequest(socket));
    const result = (await this.operations()[operation](...args)) ?? null;
    const change = CHANGES[operation];
    if (change !== undefined) {
      const [first] = args;
      const id = typeof first === 'string' ? first : (first as { id?: unknown } | null)?.id;
      const [what, done] = change;
      this.logger.log(`${what} «${printable(String(id))}»: ${done}, by a command on this machine`);
    }
    return result;
  }

  private operations(): Record<LocalOperation, (...given: readonly unknown[]) => Promise<unknown>> {
    const { accounts, config, dataSource } = this;
    return {
      check: async () => (await import('../check-database.js')).checkOpenDatabase(config, dataSource),
      create: (account) => accounts.create(account as NewServiceAccount),
      describeAll: () => accounts.describeAll(),
      enableWebhook: async (id, fromNow) =>
        (await import('../../webhooks/enable-webhook.js')).enableWebhook(
          config,
          dataSource,
          String(id),
          fromNow === true,
        ),
      revoke: (id) => accounts.revoke(id as string),
      rotate: (id, overlap) => accounts.rotate(id as string, overlap as number),
      update: (id, changes) => accounts.update(id as string, changes as AccountChanges),
    };
  }
}

/** What the log says of the operations that change something. */
const CHANGES: Partial<Record<LocalOperation, [what: string, done: string]>> = {
  create: ['Service account', 'created'],
  enableWebhook: ['Webhook', 'enabled'],
  revoke: ['Service account', 'revoked'],
  rotate: ['Service account', 'rotated'],
  update: ['Service account', 'updated'],
};

/** Reads until the command has ended its side. */
async function readRequest(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) throw new ServiceError('PAYLOAD_TOO_LARGE', 'The request is too long');
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('BAD_REQUEST', 'The request is not complete', {}, { cause: error });
  }
  return Buffer.concat(chunks).toString();
}

function parseRequest(text: string): LocalRequest {
  const { operation, args } = (parseWithTimes(text) ?? {}) as Partial<LocalRequest>;
  if (operation === undefined || !Array.isArray(args) || OPERATIONS[operation] !== args.length)
    throw new BadUserInputError('There is no such operation', 'operation');
  return { operation, args };
}
