import { createServer, type Server, type Socket } from 'node:net';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { BadUserInputError, ServiceError } from '../common/errors.js';
import { printable } from '../common/printable.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { AccountChanges, NewServiceAccount } from './account-operations.js';
import {
  listenForCommands,
  type AccountRequest,
  OPERATIONS,
  parseWithTimes,
  removeEndpoint,
  TIMEOUT_MS,
} from './local-endpoint.js';
import { ServiceAccountsService } from './service-accounts.service.js';

const MOST_BYTES = 65_536;

/**
 * Lets commands manage service accounts while this service holds the embedded database, which a second process cannot open: on a
 * Unix socket that only the user of the database directory can reach.
 */
@Injectable()
export class LocalAccountsServer implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('ServiceAccounts');
  private server: Server | null = null;

  constructor(
    private readonly accounts: ServiceAccountsService,
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
      this.logger.warn(
        `Commands can change service accounts only while the service is stopped: ${String(error)}`,
      );
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
    const { accounts } = this;
    const operations: Record<string, (...given: readonly unknown[]) => Promise<unknown>> = {
      create: (account) => accounts.create(account as NewServiceAccount),
      describeAll: () => accounts.describeAll(),
      revoke: (id) => accounts.revoke(id as string),
      rotate: (id, overlap) => accounts.rotate(id as string, overlap as number),
      update: (id, changes) => accounts.update(id as string, changes as AccountChanges),
    };
    const result = (await operations[operation]?.(...args)) ?? null;
    if (operation !== 'describeAll') {
      const [first] = args;
      const id = typeof first === 'string' ? first : (first as { id?: unknown } | null)?.id;
      this.logger.log(
        `Service account «${printable(String(id))}»: ${operation}, by a command on this machine`,
      );
    }
    return result;
  }
}

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

function parseRequest(text: string): AccountRequest {
  const { operation, args } = (parseWithTimes(text) ?? {}) as Partial<AccountRequest>;
  if (operation === undefined || !Array.isArray(args) || OPERATIONS[operation] !== args.length)
    throw new BadUserInputError('There is no such operation', 'operation');
  return { operation, args };
}
