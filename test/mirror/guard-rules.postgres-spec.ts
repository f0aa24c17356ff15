import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { buildLdif } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readRevision, replaceUntil, takeOver } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const IDS = Array.from({ length: 8 }, (_, index) => `p${index}`);
const PEOPLE = IDS.map((id) => ({ id }));
const GROUPS = Array.from({ length: 12 }, (_, index) => ({ id: `g${index + 10}`, members: IDS }));

/** A directory whose entries have the attributes of the rules, except the first ones that lack one of them. */
function directoryOf({ lacking = 0, attribute = '' } = {}): string {
  const [version = '', ...records] = buildLdif(PEOPLE, GROUPS).trimEnd().split('\n\n');
  const added = (values: readonly string[], index: number) =>
    values.filter((line) => index >= lacking || !line.startsWith(`${attribute}:`));
  const withRules = records.map((record, index) => {
    const group = index - PEOPLE.length;
    const lines =
      group < 0
        ? added(['employeeType: hidden', 'title: former'], index)
        : added(group < 6 ? ['businessCategory: secret'] : ['ou: private'], group % 6);
    return [record.trimEnd(), ...lines].join('\n');
  });
  return `${[version, ...withRules].join('\n\n')}\n`;
}

const RULES = `
  users: [{where: (uid=nemo), to: groupAdmins}, {where: (employeeType=hidden), to: self}]
  groups: [{where: (businessCategory=secret), to: admins}]
  members: [{where: (ou=private), to: members}]`;

const WIDER = RULES.replace('groupAdmins', 'self').replace('hidden), to: self', 'hidden), to: groupAdmins');

function modelOf(rules: string, disabled = '(title=former)') {
  return modelSetting(
    `users: {disabled: ${disabled}}\nscopes: {confidential: Everything.}\nvisibility:\n  bypass: confidential${rules}\n`,
  );
}

const USERS = '{ users(first: 20) { totalCount } }';
const ACTIVE = '{ users(first: 20, filter: {active: true}) { totalCount } }';

describe('a directory that loses an attribute of the rules of visibility', () => {
  let service: TestService;
  let stranger: string;
  let confidant: string;

  beforeEach(async () => {
    service = await TestService.start({ ldif: directoryOf(), environment: modelOf(RULES) });
    stranger = await service.serviceAccount('read', 'directory');
    confidant = await service.serviceAccount('read', 'directory', 'confidential');
  });

  afterEach(() => service.stop());

  const count = async (query: string, authorization: string) =>
    (await service.read<{ users: { totalCount: number } }>(query, { authorization })).users.totalCount;

  it('is held, and keeps hidden what they hide, until the attribute is back', async () => {
    const revision = await readRevision(service);
    const reasons: Record<string, string> = {
      employeeType: 'visibility.users (uid, employeeType) from 8 of 8 users',
      title: 'users.disabled (title) from 8 of 8 users',
      businessCategory: 'visibility.groups (businessCategory) from 6 of 6 groups',
      ou: 'visibility.members (ou) from 6 of 6 groups',
    };
    for (const [attribute, what] of Object.entries(reasons)) {
      service.replaceDirectory(directoryOf({ lacking: 8, attribute }));
      expect(await service.synchronize({ dryRun: true })).toMatchObject({
        kind: 'planned',
        reason: `It would take the effect of ${what}. The guard permits 3 within 10 minutes`,
      });
    }
    await replaceUntil(service, directoryOf({ lacking: 8, attribute: 'employeeType' }), 'BLOCKED');
    expect(await count(USERS, stranger)).toBe(0);
    service.replaceDirectory(directoryOf({ lacking: 8, attribute: 'title' }));
    const mirror = service.app.get(MirrorState);
    await service.until(async () => (await mirror.get()).reason?.includes('title') === true);
    expect(await count(ACTIVE, confidant)).toBe(0);
    await replaceUntil(service, directoryOf(), 'IDLE');
    expect(await readRevision(service)).toBe(revision);
  });

  it('is held if more than half of the users become active with another value of it', async () => {
    const activate = (count: number) => {
      const parts = directoryOf().split('title: former');
      return parts.map((part, index) =>
        index === 0 ? part : `title: ${index > count ? 'former' : 'back'}${part}`,
      );
    };
    await takeOver(service, activate(4).join(''));
    expect(await count(ACTIVE, confidant)).toBe(4);
    await replaceUntil(service, activate(5).join(''), 'BLOCKED');
    expect((await service.app.get(MirrorState).get()).reason).toBe(
      'It would take the effect of users.disabled (title) from 1 of 4 users after 4 shortly before. The guard permits 4 within 10 minutes',
    );
  });

  it.each([
    ['no rules', modelSetting('# The built-in model.\n'), 8],
    ['other rules', modelOf('\n  users: [{where: (uid=p7), to: self}]'), 7],
    ['wider audiences', modelOf(WIDER), 0],
    ['another filter of inactive users', modelOf(RULES, '(title=x)'), 0],
  ])('is not held after a start with %s', async (_, model, visible) => {
    const { database } = service.config;
    const before = await readRevision(service);
    await service.app.close();
    const next = await TestService.start({
      environment: { ...model, DATABASE_URL: database.url, DIRECTORY_URL: `file:${service.directoryFile}` },
    });
    try {
      const mirror = next.app.get(MirrorState);
      await next.until(async () => {
        const { revision, state } = await mirror.get();
        return (revision ?? 0) > before || state === SyncState.BLOCKED;
      });
      const { state, reason } = await mirror.get();
      expect({ state, reason }).toEqual({ state: 'IDLE', reason: null });
      const { users } = await next.read<{ users: { totalCount: number } }>(USERS, {
        authorization: stranger,
      });
      expect(users.totalCount).toBe(visible);
    } finally {
      await next.stop();
    }
  });
});
