import { buildLdif, personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { runCommand } from '../support/clients/command.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { directorySettings, FollowedDirectory } from '../support/servers/ldap.js';

const MODEL = `
users:
  fields:
    phone: {attribute: telephoneNumber, type: String, description: The phone number.}
visibility:
  users: [{where: (telephoneNumber=0), to: groupAdmins}]
`;

describe('a mirror that a command has written with another model', () => {
  const directory = forSuite(() =>
    FollowedDirectory.start(
      {
        ldif: buildLdif([
          { id: 'anna', phone: '41' },
          { id: 'ben', phone: '0' },
        ]),
      },
      // Nothing else reads the directory during the test.
      { ...modelSetting(MODEL), DIRECTORY_SYNC_SECONDS: '86400' },
    ),
  );

  it('does not show whom the rules hide, also if the directory changes at once', async () => {
    const { service, slapd } = directory;
    const authorization = await service.serviceAccount('read', 'directory');
    const seen = new Set<string>();
    const read = async () => {
      const text = '{ users(first: 5) { nodes { id phone } } }';
      const { data, errors } = await service.query(text, { authorization });
      seen.add(JSON.stringify(data));
      return errors[0]?.extensions.code ?? data;
    };
    const settings = { ...directorySettings(slapd), DATABASE_URL: service.config.database.url };
    expect((await runCommand(['sync'], settings)).code).toBe(0);
    // What was read with the other model would stay after the first change.
    for (const phone of ['42', '43']) {
      await directory.change(
        `dn: ${personDn('anna')}\nchangetype: modify\nreplace: telephoneNumber\ntelephoneNumber: ${phone}\n`,
      );
      await eventually(read, { users: { nodes: [{ id: 'anna', phone }] } });
    }
    expect([...seen].filter((text) => text.includes('ben'))).toEqual([]);
  });
});
