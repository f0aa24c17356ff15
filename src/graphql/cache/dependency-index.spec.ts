import type { ChangedObjects } from '../../database/revisions/changed-objects.js';
import {
  ALL_GROUPS,
  ALL_MEMBERSHIPS,
  ALL_USERS,
  ANY_USER,
  EVERYTHING,
  MOST_KEYS,
  ReadDependencies,
} from '../../database/statements/dependencies.js';
import { DependencyIndex } from './dependency-index.js';

const NOTHING: ChangedObjects = {
  users: [],
  groups: [],
  members: [],
  memberOf: [],
  anyUser: false,
  anyGroup: false,
};

function readsOf(note: (reads: ReadDependencies) => void) {
  const reads = new ReadDependencies();
  note(reads);
  return reads.collect();
}

describe('the index of dependencies', () => {
  const index = new DependencyIndex();
  const responses = {
    user: readsOf((reads) => {
      reads.note('users', [1, null, 1]);
    }),
    members: readsOf((reads) => {
      reads.note('members', [1]);
      reads.note('users', [1, 2]);
    }),
    groups: readsOf((reads) => {
      reads.note('memberOf', [1]);
    }),
    search: readsOf((reads) => {
      reads.noteAny(ANY_USER);
    }),
    filtered: readsOf((reads) => {
      reads.noteAny(ALL_USERS);
    }),
    viewer: readsOf((reads) => {
      reads.noteAny(ALL_MEMBERSHIPS);
    }),
    undeclared: readsOf((reads) => {
      reads.noteAny(EVERYTHING);
    }),
  };
  for (const [name, reads] of Object.entries(responses)) index.add(name, reads);

  it.each<[Partial<ChangedObjects>, string[]]>([
    [{}, ['undeclared']],
    [{ users: [3] }, ['filtered', 'undeclared']],
    [{ users: [1] }, ['filtered', 'members', 'undeclared', 'user']],
    [{ groups: [1] }, ['undeclared']],
    [{ members: [1] }, ['members', 'undeclared', 'viewer']],
    [{ memberOf: [1] }, ['groups', 'undeclared', 'viewer']],
    [{ anyUser: true }, ['filtered', 'search', 'undeclared']],
    [{ anyGroup: true }, ['undeclared']],
  ])('finds what a revision changes: %j', (changed, expected) => {
    expect([...index.listChanged({ ...NOTHING, ...changed })].sort()).toEqual(expected);
  });

  it('forgets removed responses', () => {
    for (const [name, reads] of Object.entries(responses)) index.delete(name, reads);
    const all = { ...NOTHING, users: [1, 2], members: [1], memberOf: [1], anyUser: true };
    expect([...index.listChanged(all)]).toEqual([]);
  });

  it('has bounded dependencies: of many objects, a response depends on all', () => {
    const keys = Array.from({ length: MOST_KEYS + 1 }, (_, key) => key);
    const noted = readsOf((reads) => {
      reads.note('users', keys.slice(1));
      reads.note('groups', keys);
      reads.note('members', keys);
    });
    expect(noted.users).toHaveLength(MOST_KEYS);
    expect(noted).toMatchObject({ groups: [], members: [], bits: ALL_GROUPS | ALL_MEMBERSHIPS });
  });
});
