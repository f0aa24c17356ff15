import { Agent } from 'node:http';
import type { ExternalIssuerProcess } from '../servers/external-issuer.js';
import { type Listening, post } from '../clients/http.js';
import type { TestProxy } from '../servers/proxy.js';
import type { TestRedis } from '../servers/redis.js';

/** What a service depends on, and can be broken. */
export interface FaultTargets {
  readonly service: Listening & { replaceDirectory(ldif: string): void };
  /** Of somebody who may list everybody. */
  readonly authorization: string;
  readonly proxy: TestProxy;
  readonly redis: TestRedis;
  readonly issuer: ExternalIssuerProcess;
  /** The directory as it is to be. */
  readonly directory: () => string;
}

/** A fault that comes and goes. */
export interface PassingFault {
  readonly name: string;
  strike(): void | Promise<void>;
  restore(): void | Promise<void>;
}

/** Requests that come at once. */
const BURST = 300;
const LISTS = '{ users(first: 100) { nodes { id groups(first: 10) { nodes { group { id } } } } } }';

/** Each fault that the surroundings of a service can have, in the order in which they come. */
export function passingFaults({
  service,
  authorization,
  proxy,
  redis,
  issuer,
  directory,
}: FaultTargets): PassingFault[] {
  const repair = () => {
    // Connections of before would be as they were left.
    proxy.cut();
    proxy.mend();
  };
  return [
    {
      name: 'the database refuses',
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
        redis.goOn();
      },
    },
    { name: 'the identity provider is away', strike: () => issuer.pause(), restore: () => issuer.resume() },
    {
      name: 'the database resets',
      strike: () => {
        proxy.reset();
      },
      restore: repair,
    },
  ];
}

/** More than can be answered, each on a connection of its own; what becomes of it is told by those who ask otherwise. */
async function burst(service: Listening, authorization: string): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const sent = Array.from({ length: BURST }, (_, index) =>
    post(service, { query: `# ${index}\n${LISTS}` }, { authorization }, agent),
  );
  await Promise.all(sent);
  agent.destroy();
}
