import { MirrorState } from '../../src/mirror/status/mirror-state.js';
import { buildLdif, PICTURE, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { readRevision, replaceUntil, takeOver } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE: TestPerson[] = Array.from({ length: 40 }, (_, index) => ({
  id: `p${index + 10}`,
  givenName: 'Given',
  familyName: 'Family',
  email: `p${index + 10}@example.org`,
  schoolYear: '2030',
  photo: PICTURE,
  picture: PICTURE,
}));
const IDS = PEOPLE.map(({ id }) => id);
const GROUPS: TestGroup[] = Array.from({ length: 10 }, (_, index) => ({
  id: `g${index + 10}`,
  name: `Group ${index}`,
  description: 'A group',
  website: 'https://example.org/',
  email: `g${index}@example.org`,
  members: IDS,
  admins: IDS.slice(0, 1),
  owners: IDS.slice(1, 2),
}));

interface MissingAttribute {
  people?: number;
  groups?: number;
  attribute: string;
}

/** A directory in which the first entries of a type lack an attribute. */
function without({ people = 0, groups = 0, attribute }: MissingAttribute): string {
  const [version = '', ...records] = buildLdif(PEOPLE, GROUPS).split('\n\n');
  const isWithout = (index: number) =>
    index < people || (index >= PEOPLE.length && index < PEOPLE.length + groups);
  const lines = new RegExp(`^${attribute}::.*\n?`, 'gm');
  const kept = records.map((record, index) => (isWithout(index) ? record.replace(lines, '') : record));
  return [version, ...kept].join('\n\n');
}

describe('a directory that loses an attribute of existing entries', () => {
  let service: TestService;

  beforeEach(async () => {
    service = await TestService.start({ ldif: buildLdif(PEOPLE, GROUPS) });
  });

  afterEach(() => service.stop());

  it('is held for each attribute of users, and continues when the attribute is back', async () => {
    const revision = await readRevision(service);
    for (const attribute of ['givenName', 'sn', 'mail', 'schoolYear', 'jpegPhoto', 'profilePicture']) {
      service.replaceDirectory(without({ people: 40, attribute }));
      expect(await service.synchronize({ dryRun: true })).toMatchObject({
        kind: 'planned',
        reason: `It would take the attribute ${attribute} from 40 of 40 users. The guard permits 3 within ten minutes`,
      });
    }
    await replaceUntil(service, without({ people: 40, attribute: 'mail' }), 'BLOCKED');
    await replaceUntil(service, buildLdif(PEOPLE, GROUPS), 'IDLE');
    expect(await readRevision(service)).toBe(revision);
  });

  it('is held when entries lose it one after another, until exactly that plan is confirmed', async () => {
    await takeOver(service, without({ people: 2, attribute: 'mail' }));
    await takeOver(service, without({ people: 3, attribute: 'mail' }));
    const { blockedReason } = await replaceUntil(
      service,
      without({ people: 4, attribute: 'mail' }),
      'BLOCKED',
    );
    expect(blockedReason).toBe(
      'It would take the attribute mail from 1 of 37 users after 3 shortly before. The guard permits 3 within ten minutes',
    );
    const { blockedPlan } = await service.app.get(MirrorState).get();
    expect(await service.synchronize({ confirm: blockedPlan ?? '' })).toMatchObject({ kind: 'applied' });
    // Confirmed losses do not count; earlier ones still do.
    const next = await replaceUntil(service, without({ people: 5, attribute: 'mail' }), 'BLOCKED');
    expect(next.blockedReason).toMatch(
      /^It would take the attribute mail from 1 of 36 users after 3 shortly/,
    );
  });
});
