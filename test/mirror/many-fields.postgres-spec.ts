import { buildLdif, type TestGroup } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { replaceUntil, stopFollowing, takeOver } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** As many as a model may have: see docs/model.md. */
const FIELDS = 100;

const fields = Array.from(
  { length: FIELDS },
  (_, index) => `    f${index}: {attribute: x-f${index}, type: String, description: A field.}\n`,
).join('');
const MODEL = `users:\n  fields:\n${fields}groups:\n  fields:\n${fields}`;

const PEOPLE = Array.from({ length: 10 }, (_, index) => ({ id: `p${index}` }));
const GROUPS: TestGroup[] = PEOPLE.map(({ id }) => ({ id: `g-${id}`, members: [id] }));

/** A directory whose users and groups have the first own fields, and a text in the first of all. */
function directory({ first = 'a', held = FIELDS }): string {
  const values = Array.from({ length: held }, (_, index) => `x-f${index}: ${index === 0 ? first : 'a'}`);
  const [version, ...records] = buildLdif(PEOPLE, GROUPS).split('\n\n');
  return [version, ...records.map((record) => [record.trimEnd(), ...values].join('\n'))]
    .join('\n\n')
    .concat('\n');
}

describe('a model with the most fields of its own', () => {
  const service = TestService.forSuite(() => ({
    ldif: directory({}),
    environment: modelSetting(MODEL),
  }));

  const read = async () => {
    const authorization = await service.serviceAccount('read');
    const last = `f0 f${FIELDS - 1}`;
    return service.read(`{ user(user: {id: "p9"}) { ${last} } group(group: {id: "g-p9"}) { ${last} } }`, {
      authorization,
    });
  };
  const both = (values: object) => ({ user: values, group: values });

  it('takes changes, and holds one that takes the last field from all', async () => {
    expect(await read()).toEqual(both({ f0: 'a', f99: 'a' }));
    await takeOver(service, directory({ first: 'b' }));
    expect(await read()).toEqual(both({ f0: 'b', f99: 'a' }));
    const { blockedReason } = await replaceUntil(service, directory({ first: 'b', held: 99 }), 'BLOCKED');
    expect(blockedReason).toContain('the attribute x-f99 from 10 of 10 people');
    await replaceUntil(service, directory({ first: 'b' }), 'IDLE');
  });

  it('takes changes in bulk, and holds one that takes the last field from all', async () => {
    await stopFollowing(service);
    service.replaceDirectory(directory({ first: 'c' }));
    expect(await service.synchronize({ bulkLimit: 0 })).toMatchObject({ kind: 'applied' });
    expect(await read()).toEqual(both({ f0: 'c', f99: 'a' }));
    service.replaceDirectory(directory({ first: 'c', held: 99 }));
    const blocked = await service.synchronize({ bulkLimit: 0 });
    if (blocked.kind !== 'blocked') throw new Error(`The run is ${blocked.kind}`);
    expect(blocked.reason).toContain('the attribute x-f99 from 10 of 10 people');
    const confirmed = await service.synchronize({ bulkLimit: 0, confirm: blocked.hash ?? '' });
    expect(confirmed).toMatchObject({ kind: 'applied' });
    expect(await read()).toEqual(both({ f0: 'c', f99: null }));
  });
});
