import { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import { ChangeNotification } from '../../src/sources/ldap/change-notification.js';
import { eventually, LONGEST_WAIT } from '../support/eventually.js';
import { answerWith, entry, FakeLdapServer, result } from '../support/servers/fake-ldap-server.js';

const NOTIFICATION = '1.2.840.113556.1.4.528';
const UNAVAILABLE_CRITICAL_EXTENSION = 12;

describe('notifications of changes', () => {
  let server: FakeLdapServer;
  let notification: ChangeNotification;
  const refused = new Set<string>();
  const { signal } = new AbortController();

  async function listen(...answer: Buffer[]): Promise<void> {
    server = await FakeLdapServer.start(answerWith(...answer));
    const connection = await LdapConnection.connect({ host: '127.0.0.1', port: server.port, tls: 'none' });
    notification = new ChangeNotification(connection, ['dc=a'], NOTIFICATION, refused);
  }

  beforeEach(() => {
    refused.clear();
  });

  afterEach(async () => {
    notification.close();
    await server.stop();
  });

  it('end a wait early', async () => {
    await listen(entry(1, 'cn=changed,dc=a'));
    const longer = 2 * LONGEST_WAIT;
    await notification.wait(longer, signal);
    expect([...refused]).toEqual([]);
  });

  it('that the server refuses are noted, and a wait takes its time', async () => {
    await listen(result(1, UNAVAILABLE_CRITICAL_EXTENSION));
    await eventually(
      () => Promise.resolve([...refused]),
      ['The directory server refuses to notify of changes: it is asked for the latest number every second'],
    );
    await notification.wait(1, signal);
  });
});
