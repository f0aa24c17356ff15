import { eventually } from '../eventually.js';
import { findFreePort } from './postgres.mjs';
import { TestProxy } from './proxy.js';
import { type SlapdOptions, startSlapd, type TestSlapd } from './slapd.mjs';

interface Role {
  /** Its server ID; consumers need none. */
  readonly serverId?: number;
  /** Accepts changes of clients. */
  readonly isProvider: boolean;
}

/** Servers of one directory: providers that replicate each other, and consumers of the first one. */
export class ReplicatedSlapd {
  private constructor(
    readonly servers: readonly TestSlapd[],
    /** The links through which each server receives changes of each other server: see hold. */
    private readonly links: readonly (readonly TestProxy[])[],
  ) {}

  /** @param options of every server; `ldif` is the initial content of the first one */
  static async start(roles: readonly Role[], options: SlapdOptions): Promise<ReplicatedSlapd> {
    const ports = await Promise.all(roles.map(() => findFreePort()));
    const links: TestProxy[][] = [];
    const servers: TestSlapd[] = [];
    for (const [index, { isProvider, ...role }] of roles.entries()) {
      const sources = ports.filter(
        (_, other) => other !== index && roles[other]?.isProvider === true && (isProvider || other === 0),
      );
      links.push(await Promise.all(sources.map((port) => TestProxy.start({ host: '127.0.0.1', port }))));
      servers.push(
        await startSlapd({
          ...options,
          ...role,
          ...(index === 0 ? {} : { empty: true }),
          port: ports[index] ?? 0,
          providers: links[index]?.map(({ port }) => `ldap://127.0.0.1:${port}`) ?? [],
          multiProvider: isProvider && (links[index]?.length ?? 0) > 0,
        }),
      );
    }
    const replicated = new ReplicatedSlapd(servers, links);
    await replicated.converge();
    return replicated;
  }

  /** A server by its index. */
  at(index: number): TestSlapd {
    const server = this.servers[index];
    if (server === undefined) throw new Error(`There is no server ${index}`);
    return server;
  }

  /** Applies change records on a server, all of which must succeed. */
  async change(index: number, ...records: string[]): Promise<void> {
    const { code, stderr } = await this.at(index).modify(records.join('\n'));
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  }

  /** Stops replication to the server. */
  hold(index: number): void {
    for (const link of this.links[index] ?? []) link.cut();
  }

  /** Resumes replication to the server. */
  release(index: number): void {
    for (const link of this.links[index] ?? []) link.restore();
  }

  /** Waits until these servers, or all, have the same changes. */
  async converge(indexes = [...this.servers.keys()]): Promise<void> {
    await eventually(
      async () => new Set(await Promise.all(indexes.map((index) => this.readState(index)))).size,
      1,
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.remove()));
    await Promise.all(this.links.flat().map((link) => link.stop()));
  }

  private async readState(index: number): Promise<string> {
    const dump = await this.at(index)
      .search({ scope: 'base', attributes: ['contextCSN'] })
      .catch(() => '');
    const csns = dump.split('\n').filter((line) => line.startsWith('contextCSN:'));
    return csns.length === 0 ? `nothing of ${index}` : csns.sort().join('\n');
  }
}
