import { Entry } from '../ldap/entry.js';
import { ChangeBuffer } from './change-buffer.js';

/** Each entry takes up more than half of this capacity. */
const CAPACITY = 1000;
const entryOf = (uuid: string) => new Entry(`uid=${uuid}`, [['description', [Buffer.alloc(200)]]]);

describe('a buffer of changes', () => {
  it('keeps the last state of each entry, and cookies', async () => {
    const buffer = new ChangeBuffer(CAPACITY);
    buffer.put('person', 'a', entryOf('a'));
    buffer.put('group', 'g', entryOf('g'));
    buffer.remove('person', 'a');
    buffer.keepCookie('person', Buffer.from('opaque'));
    expect(await buffer.wait(1000)).toBe(true);
    const { delta, unread } = buffer.take();
    expect([[...delta.people.keys()], [...delta.gonePeople], [...delta.groups.keys()]]).toEqual([
      [],
      ['a'],
      ['g'],
    ]);
    expect(unread.size).toBe(0);
    expect(buffer.cookies.get('person')?.toString()).toBe('opaque');
    expect(buffer.count).toBe(0);
  });

  it('keeps the identities of changes above its capacity', () => {
    const buffer = new ChangeBuffer(CAPACITY);
    for (const uuid of ['a', 'b', 'c', 'd', 'c']) buffer.put('person', uuid, entryOf(uuid));
    const { delta, unread } = buffer.take();
    expect([...delta.people.keys()]).toEqual(['a', 'b']);
    expect([...unread]).toEqual(['c', 'd']);
    buffer.put('person', 'c', entryOf('c'));
    expect([...buffer.take().delta.people.keys()]).toEqual(['c']);
  });

  it('is waited for until the timeout', async () => {
    const buffer = new ChangeBuffer(CAPACITY);
    expect(await buffer.wait(1)).toBe(false);
    const waiting = buffer.wait(60_000);
    buffer.note();
    expect(await waiting).toBe(true);
    expect(await buffer.wait(1, 1)).toBe(false);
  });

  it('returns changes before a later error', async () => {
    const buffer = new ChangeBuffer(CAPACITY);
    buffer.note();
    buffer.fail(new Error('the first'));
    buffer.fail(new Error('the second'));
    expect(await buffer.wait(60_000)).toBe(true);
    buffer.take();
    await expect(buffer.wait(60_000)).rejects.toThrow('the first');
  });
});
