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
    const [first, second] = [await TestDirectory389.start(), await TestDirectory389.start()];
    const replicated = new Replicated389([first, second]);
    try {
      await apply(first, content);
      await apply(first, replicaOf(1));
      await apply(second, replicaOf(2));
      await apply(first, `${agreementWith(second)}nsDS5BeginReplicaRefresh: start\n`);
      await eventually(async () => (await first.search({ base: AGREEMENT })).includes(FILLED), true);
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

  async remove(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.remove()));
  }
}

/** Of an agreement, after the other server got all content. */
const FILLED = 'Total update succeeded';

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
`;
}
