import { Logger } from '@nestjs/common';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { countDeletions } from '../support/builders/ldap-mirror.js';
import { readStatus } from '../support/clients/mirror.js';
import { TestProxy } from '../support/servers/proxy.js';
import { TestService } from '../support/servers/service.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

const PEOPLE = Array.from({ length: 40 }, (_, index) => `person-${index + 10}`);

const LDIF = buildLdif(
  PEOPLE.map((id) => ({ id, name: 'Before' })),
  [{ id: 'club', members: PEOPLE }],
);

/** All data of users and groups. */
const EVERYTHING = `{
  users(first: 100) { totalCount nodes { id name email } }
  group(group: {id: "club"}) { name members(first: 100) { totalCount nodes { user { id } role { value } } } }
}`;

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

const logged = jest.spyOn(Logger.prototype, 'log');

/** A service that follows a server through a proxy. */
class Follower {
  private version = 0;

  private constructor(
    readonly slapd: TestSlapd,
    readonly target: { host: string; port: number },
    readonly proxy: TestProxy,
    readonly service: TestService,
    private readonly authorization: string,
  ) {}

  static async start(syncprov: boolean): Promise<Follower> {
    const slapd = await startSlapd({ ldif: LDIF, syncprov });
    const target = { host: '127.0.0.1', port: slapd.port };
    const proxy = await TestProxy.start(target);
    const service = await TestService.start({
      environment: { ...directorySettings(slapd), DIRECTORY_URL: `ldap://127.0.0.1:${proxy.port}` },
    });
    return new Follower(slapd, target, proxy, service, await service.serviceAccount('read', 'directory'));
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.proxy.stop();
    await this.slapd.remove();
  }

  read(): Promise<unknown> {
    return this.service.read(EVERYTHING, { authorization: this.authorization });
  }

  /** The state for clients and for balancers. */
  async states(): Promise<[number, string, unknown]> {
    const response = await fetch(`${this.service.url}/_readiness`);
    const { details } = (await response.json()) as { details: { mirror: { state: string } } };
    return [response.status, (await readStatus(this.service)).state, details.mirror.state];
  }

  async change(...records: string[]): Promise<void> {
    const { code, stderr } = await this.slapd.modify(records.join('\n'));
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  }

  /** Changes an entry, and waits until the change is visible and nothing was deleted. */
  async untilBack(): Promise<void> {
    this.version += 1;
    const name = `Version ${this.version}`;
    await this.change(rename('person-10', name));
    const nameOf = async () => {
      const { data } = await this.service.query<{ user: { name: string } }>(
        '{ user(user: {id: "person-10"}) { name } }',
        { authorization: this.authorization },
      );
      return data?.user.name;
    };
    await eventually(async () => [await nameOf(), await this.states()], [name, [200, 'IDLE', 'IDLE']]);
    expect(await countDeletions(this.service)).toEqual({ people: 0, memberships: 0 });
  }

  /** All data is unchanged, and the state is reported. */
  async expectUnmoved(before: unknown, state: string): Promise<void> {
    await eventually(() => this.states(), [200, state, state]);
    expect(await this.read()).toEqual(before);
    expect(await countDeletions(this.service)).toEqual({ people: 0, memberships: 0 });
  }

  /** Replaces the server behind the proxy. */
  moveTo(port: number): void {
    this.proxy.cut();
    this.target.port = port;
    this.proxy.restore();
  }
}

describe('a faulty directory server', () => {
  let notified: Follower;
  let polled: Follower;

  beforeAll(async () => {
    notified = await Follower.start(true);
    polled = await Follower.start(false);
  });

  afterAll(async () => {
    await Promise.all([notified.stop(), polled.stop()]);
  });

  /** A server that pushes changes, and one that is polled. */
  async function both(test: (follower: Follower) => Promise<void>): Promise<void> {
    await Promise.all([notified, polled].map(test));
  }

  async function survive(
    follower: Follower,
    fail: () => void | Promise<void>,
    restore: () => void | Promise<void>,
    state = 'FAILING',
  ): Promise<void> {
    const before = await follower.read();
    await fail();
    await follower.expectUnmoved(before, state);
    await restore();
    await follower.untilBack();
  }

  it('that sends invalid bytes is waited for, and no change is lost', async () => {
    await both((follower) =>
      survive(
        follower,
        () => follower.proxy.respondWith('HTTP/1.1 400 Bad Request\r\n\r\n'),
        () => follower.proxy.restore(),
      ),
    );
  });

  it('that hangs is detected, whether its process is paused or the network fails silently', async () => {
    await Promise.all([
      survive(
        notified,
        () => notified.slapd.freeze(),
        () => notified.slapd.unfreeze(),
      ),
      survive(
        polled,
        () => polled.proxy.freeze(),
        () => {
          // A restarted machine does not know earlier connections.
          polled.proxy.cut();
          polled.proxy.restore();
        },
      ),
    ]);
    expect(logged).toHaveBeenCalledWith(expect.stringMatching(/^Synchronization works again after \d+ s$/));
  });

  it('that was replaced by an empty one causes no deletion', async () => {
    const empty = await startSlapd({ syncprov: true });
    await both((follower) =>
      survive(
        follower,
        () => follower.moveTo(empty.port),
        () => follower.moveTo(follower.slapd.port),
        'BLOCKED',
      ),
    );
    await empty.remove();
  });
});
