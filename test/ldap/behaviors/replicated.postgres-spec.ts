import { modelSetting } from '../../support/builders/model-file.js';
import { MIRROR_DN, MIRROR_PASSWORD, SUFFIX } from '../../support/servers/slapd.mjs';
import { describeBehaviors } from './behaviors.js';
import { DISABLING_MODEL, openldapVocabulary } from './openldap-vocabulary.js';
import type { Ended, LdapQuery } from '../../support/servers/ldap-tools.mjs';
import { ReplicatedSlapd } from '../../support/servers/replicated-slapd.js';
import { TestProxy } from '../../support/servers/proxy.js';
import type { BehaviorServer, Swap } from './behavior-directory.js';

/** Two OpenLDAP servers behind a balancer: providers that are changed in turn, or a provider and its consumer. */
class ReplicatedServer implements BehaviorServer {
  private turn = 0;
  private isHeld = false;

  private constructor(
    private readonly slapd: ReplicatedSlapd,
    readonly balancer: TestProxy,
    /** The servers that accept changes. */
    private readonly providers: readonly number[],
    /** The servers that the service reaches. */
    private readonly reached: readonly number[],
  ) {
    this.reach(...reached);
  }

  static async start(second: 'provider' | 'consumer'): Promise<ReplicatedServer> {
    const isProvider = second === 'provider';
    const roles = [
      { serverId: 1, isProvider: true },
      { isProvider, ...(isProvider && { serverId: 2 }) },
    ];
    const slapd = await ReplicatedSlapd.start(roles, {});
    const providers = isProvider ? [0, 1] : [0];
    return new ReplicatedServer(slapd, await TestProxy.start(), providers, isProvider ? [0, 1] : [1]);
  }

  async modify(ldif: string): Promise<Ended> {
    const index = this.isHeld ? 0 : (this.providers[this.turn++ % this.providers.length] ?? 0);
    const ended = await this.slapd.at(index).modify(ldif);
    if (!this.isHeld) await this.slapd.converge();
    return ended;
  }

  search(query?: Partial<LdapQuery>): Promise<string> {
    return this.slapd.at(0).search(query);
  }

  /** After a crash, the contextCSN of both is equal only after the next change. */
  async start(): Promise<void> {
    await Promise.all(this.slapd.servers.map((server) => server.start()));
  }

  async stop(signal?: NodeJS.Signals): Promise<void> {
    await Promise.all(this.slapd.servers.map((server) => server.stop(signal)));
  }

  async remove(): Promise<void> {
    await this.balancer.stop();
    await this.slapd.stop();
  }

  /** From now on the second server receives no changes. The first swap leads the service to it, and the second one ends the lag. */
  lag(): Promise<Swap> {
    this.reach(0);
    this.slapd.hold(1);
    this.isHeld = true;
    const swap = async () => {
      if (this.isHeld) {
        this.isHeld = false;
        this.reach(1);
        return;
      }
      this.slapd.release(1);
      await this.slapd.converge();
      this.reach(...this.reached);
    };
    return Promise.resolve({ swap, remove: () => undefined });
  }

  private reach(...indexes: readonly number[]): void {
    this.balancer.use(...indexes.map((index) => this.slapd.at(index).port));
  }
}

describe.each([
  ['Two OpenLDAP providers behind a TCP balancer', 'provider'],
  ['An OpenLDAP consumer, whose provider is changed', 'consumer'],
] as const)('%s', (_, second) => {
  describeBehaviors(async () => {
    const server = await ReplicatedServer.start(second);
    return {
      server,
      vocabulary: openldapVocabulary,
      showsLag: true,
      lag: { of: 'running', prepare: () => server.lag() },
      settings: {
        DIRECTORY_URL: server.balancer.url,
        DIRECTORY_BASE_DN: SUFFIX,
        DIRECTORY_BIND_DN: MIRROR_DN,
        DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
        ...modelSetting(DISABLING_MODEL),
      },
    };
  });
});
