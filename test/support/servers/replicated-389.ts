import { eventually } from '../eventually.js';
import { TestDirectory389 } from './directory-389.js';
import { SUFFIX } from './slapd.mjs';

const REPLICA = `cn=replica,cn="${SUFFIX}",cn=mapping tree,cn=config`;
/** Sends the changes of a server to the other one. */
const AGREEMENT = `cn=other,${REPLICA}`;
const SUPPLIER = { dn: 'cn=supplier,cn=config', password: 'supplier-secret' };

/** Two suppliers of 389 Directory Server with the content of the first one, which send each other their changes. */
export class Replicated389 {
  private constructor(readonly servers: readonly [TestDirectory389, TestDirectory389]) {}

  static async start(content: string): Promise<Replicated389> {
    const [first, second] = await Promise.all([TestDirectory389.start(), TestDirectory389.start()]);
    const replicated = new Replicated389([first, second]);
    try {
      await apply(first, content);
      await apply(first, replicaOf(1));
      await apply(second, replicaOf(2));
      await apply(first, `${agreementWith(second)}nsDS5BeginReplicaRefresh: start\n`);
      await eventually(async () => isFilled(await first.search({ base: AGREEMENT })), true);
      await apply(second, agreementWith(first));
      return replicated;
    } catch (error) {
      await replicated.remove();
      throw error;
    }
  }

  /** Whether the first one sends its changes. */
  async send(isOn: boolean): Promise<void> {
    const value = isOn ? 'on' : 'off';
    const [first] = this.servers;
    await apply(
      first,
      `dn: ${AGREEMENT}\nchangetype: modify\nreplace: nsds5ReplicaEnabled\nnsds5ReplicaEnabled: ${value}\n`,
    );
  }

  /** Waits until both include the same changes. It reads no entries, so that it does not compete with their replication. */
  async converge(): Promise<void> {
    const isEqual = async () => {
      const [one, other] = await Promise.all(
        this.servers.map(async (server) =>
          vectorIn(await server.search({ base: REPLICA, scope: 'base', attributes: ['nsds50ruv'] })),
        ),
      );
      return one === other;
    };
    await eventually(isEqual, true);
  }

  async remove(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.remove()));
  }
}

/** Whether the other server of an agreement has got all content. It would get it again while the request is there. */
function isFilled(agreement: string): boolean {
  return agreement.includes('Total update succeeded') && !/^nsds5BeginReplicaRefresh:/im.test(agreement);
}

/** The newest change of each replica, of an LDIF record with nsds50ruv. */
function vectorIn(record: string): string {
  const newest = [...record.matchAll(/^nsds50ruv: \{replica (\d+) .*\} \w+ (\w+)/gm)];
  return newest
    .map(([, replica = '', csn = '']) => `${replica}:${csn}`)
    .sort()
    .join();
}

async function apply(server: TestDirectory389, ldif: string): Promise<void> {
  const { code, stderr } = await server.modify(ldif);
  if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
}

function replicaOf(id: number): string {
  return `dn: ${SUPPLIER.dn}
changetype: add
objectClass: applicationProcess
objectClass: simpleSecurityObject
userPassword: ${SUPPLIER.password}

dn: ${REPLICA}
changetype: add
objectClass: nsDS5Replica
objectClass: extensibleObject
nsDS5ReplicaRoot: ${SUFFIX}
nsDS5ReplicaType: 3
nsDS5ReplicaId: ${id}
nsDS5Flags: 1
nsds5ReplicaBackoffMin: 1
nsds5ReplicaBackoffMax: 1
nsDS5ReplicaBindDN: ${SUPPLIER.dn}
`;
}

function agreementWith({ port }: TestDirectory389): string {
  return `dn: ${AGREEMENT}
changetype: add
objectClass: nsDS5ReplicationAgreement
nsDS5ReplicaRoot: ${SUFFIX}
nsDS5ReplicaHost: 127.0.0.1
nsDS5ReplicaPort: ${port}
nsDS5ReplicaBindDN: ${SUPPLIER.dn}
nsDS5ReplicaCredentials: ${SUPPLIER.password}
nsDS5ReplicaBindMethod: SIMPLE
nsDS5ReplicaTransportInfo: LDAP
nsDS5ReplicaBusyWaitTime: 1
nsDS5ReplicaSessionPauseTime: 2
`;
}
