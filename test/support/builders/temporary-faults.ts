import { Agent } from 'node:http';
import type { ExternalIssuerProcess } from '../servers/external-issuer.js';
import { type Listening, post } from '../clients/http.js';
import type { TestProxy } from '../servers/proxy.js';
import type { TestRedis } from '../servers/redis.js';

/** The dependencies of a service that a test can break. */
export interface FaultTargets {
  readonly service: Listening & { replaceDirectory(ldif: string): void };
  /** Authorization header with the scope `directory`. */
  readonly authorization: string;
  readonly proxy: TestProxy;
  readonly redis: TestRedis;
  readonly issuer: ExternalIssuerProcess;
  /** The expected content of the directory. */
  readonly directory: () => string;
}

/** A temporary fault. */
export interface TemporaryFault {
  readonly name: string;
  strike(): void | Promise<void>;
  restore(): void | Promise<void>;
}

/** Number of simultaneous requests. */
const BURST = 300;
const LISTS = '{ users(first: 100) { nodes { id groups(first: 10) { nodes { group { id } } } } } }';

/** All faults of the dependencies of a service, in the order in which they occur. */
export function temporaryFaults({
  service,
  authorization,
  proxy,
  redis,
  issuer,
  directory,
}: FaultTargets): TemporaryFault[] {
  const repair = () => {
    // Existing connections would stay unchanged.
    proxy.cut();
    proxy.restore();
  };
  return [
    {
      name: 'the database refuses connections',
      strike: () => {
        proxy.refuse();
      },
      restore: repair,
    },
    { name: 'Redis is killed', strike: () => redis.kill(), restore: () => redis.start() },
    { name: 'a burst', strike: () => burst(service, authorization), restore: () => undefined },
    {
      name: 'the database hangs',
      strike: () => {
        proxy.freeze();
      },
      restore: repair,
    },
    {
      name: 'the directory file is broken',
      strike: () => {
        service.replaceDirectory('version: 1\n\nThis is no entry\n');
      },
      restore: () => {
        service.replaceDirectory(directory());
      },
    },
    {
      name: 'Redis hangs',
      strike: () => {
        redis.hang();
      },
      restore: () => {
        redis.resume();
      },
    },
    {
      name: 'the identity provider is unavailable',
      strike: () => issuer.pause(),
      restore: () => issuer.resume(),
    },
    {
      name: 'the database resets connections',
      strike: () => {
        proxy.reset();
      },
      restore: repair,
    },
  ];
}

/** More requests than the service can handle, each on a connection of its own. Other clients check the responses. */
async function burst(service: Listening, authorization: string): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const sent = Array.from({ length: BURST }, (_, index) =>
    post(service, { query: `# ${index}\n${LISTS}` }, { authorization }, agent),
  );
  await Promise.all(sent);
  agent.destroy();
}
