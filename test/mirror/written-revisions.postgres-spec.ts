import fc from 'fast-check';
import type { QueryRunner } from 'typeorm';
import { Initial1763683200100 } from '../../src/database/migrations/0001-initial.js';
import { Entry } from '../../src/ldap/entry.js';
import { uuidOfDn } from '../../src/ldap/naming/identifiers.js';
import {
  type RevisionOutcome,
  type RevisionRequest,
  writeRevision,
} from '../../src/mirror/revision/revision.js';
import { EntryStager, type StagedEntry } from '../../src/mirror/revision/staged-entry.js';
import type { Staging } from '../../src/mirror/revision/staging.js';
import { Session } from '../../src/mirror/leadership.js';
import type { EntryKind } from '../../src/sources/source.js';
import { builtInConfig } from '../support/builders/built-in-config.js';
import { repetitions } from '../support/repetitions.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

interface Given {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly dn: string;
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

const IDS = ['a', 'b', 'c', 'd', 'B'];
const DNS = {
  person: (name: string) => `uid=${name},ou=people,dc=example,dc=org`,
  group: (name: string) => `cn=${name},ou=groups,dc=example,dc=org`,
};
const anId = fc.constantFrom(...IDS);
const aDn = fc
  .tuple(fc.constantFrom('person' as const, 'group' as const), anId)
  .map(([kind, id]) => DNS[kind](id));
const aPerson = fc
  .record({ at: anId, uid: fc.option(anId), cn: fc.constantFrom('Anna', 'Ben', 'anna') })
  .map(({ at, uid, cn }) => ({
    kind: 'person' as const,
    dn: DNS.person(at),
    attributes: { objectClass: ['inetOrgPerson'], uid: uid === null ? [] : [uid], cn: [cn] },
  }));
const someDns = fc.uniqueArray(aDn, { maxLength: 4 });
const aGroup = fc
  .record({ at: anId, cn: anId, member: someDns, owner: someDns, groupAdmin: someDns })
  .map(({ at, cn, ...named }) => ({
    kind: 'group' as const,
    dn: DNS.group(at),
    attributes: { objectClass: ['groupOfNames'], cn: [cn], ...named },
  }));
/** The new content of an entry with a number; null: it is deleted. */
const anEdit = fc.record({
  number: fc.integer({ min: 0, max: 11 }),
  content: fc.option(fc.oneof(aPerson, aGroup), { freq: 5 }),
});
/** Several revisions, each with several edits. The first one fills the directory. */
const revisions = fc.tuple(
  fc.array(anEdit, { minLength: 8, maxLength: 16 }),
  fc.array(fc.array(anEdit, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
);

const { directory } = builtInConfig();
const config = { ...directory, guard: { percent: 100, windowSeconds: 600 } };

/** A mirror with nothing but its tables. */
class Mirror {
  private constructor(
    private readonly database: TestDatabase,
    readonly session: Session,
  ) {}

  static async create(): Promise<Mirror> {
    const database = await createDatabase('template0');
    const mirror = new Mirror(database, await Session.open(database.url));
    await mirror.reset();
    return mirror;
  }

  async reset(): Promise<void> {
    await this.session.query('drop schema public cascade; create schema public');
    await new Initial1763683200100().up(this.session as unknown as QueryRunner);
  }

  /** Writes what has changed of the entries. */
  revise(
    entries: ReadonlyMap<string, Given>,
    changed: readonly string[],
    options: Partial<Pick<RevisionRequest, 'confirm' | 'dryRun' | 'leader'>> = {},
    guard = config.guard,
  ): Promise<RevisionOutcome> {
    const read = async (staging: Staging, uuids: readonly string[], isForced: boolean) => {
      await staging.add(await stage(uuids.flatMap((uuid) => entries.get(uuid) ?? [])), isForced);
      await staging.remove(uuids.filter((uuid) => !entries.has(uuid)));
    };
    return writeRevision(this.session, {
      config: { ...config, guard },
      leader: null,
      asOf: new Date(),
      stage: (staging) => read(staging, changed, false),
      stageAgain: (staging, identities, isForced) =>
        read(
          staging,
          identities.map(({ uuid }) => uuid),
          isForced,
        ),
      ...options,
    });
  }

  /** Everything that viewers see, and from which it is derived. */
  async read(): Promise<unknown[]> {
    const statements = [
      'select kind, uuid, dn, id_folded, attributes, digest, reason, notes from entries order by uuid',
      'select n.name, e.uuid from names n join entries e using (key) order by 1',
      'select e.uuid, r.field, r.target, r.named_as, r.from_sort_name from "references" r join entries e on e.key = r.from_key order by 1, 2, 3',
      'select entry_uuid, id, id_folded, name, sort_name, search_text, group_count, is_active from users order by 1',
      'select entry_uuid, id, name, sort_name, member_count from groups order by 1',
      `select o.entry_uuid as outside, i.entry_uuid as inside, n.role
       from nestings n join groups o on o.key = outer_key join groups i on i.key = inner_key order by 1, 2`,
      `select g.entry_uuid as "group", u.entry_uuid as "user", m.role, m.direct_role, m.user_sort_name, m.group_sort_name,
         array(select i.entry_uuid from groups i where i.key = any (m.inherited_from) order by 1) as "from"
       from effective_memberships m join groups g on g.key = group_key join users u on u.key = user_key order by 1, 2`,
      'select user_count, group_count from mirror_state',
    ];
    const tables: unknown[] = [];
    for (const statement of statements) tables.push(await this.session.query(statement));
    return tables;
  }

  async remove(): Promise<void> {
    await this.session.close();
    await this.database.drop();
  }
}

async function stage(entries: readonly Given[]): Promise<StagedEntry[]> {
  const pictures = { put: () => Promise.reject(new Error('There are none')), flush: () => Promise.resolve() };
  const stager = new EntryStager(config.mapping, pictures);
  return Promise.all(
    entries.map(({ kind, uuid, dn, attributes }) => {
      const values = Object.entries({ ...attributes, entryUUID: [uuid] });
      const entry = new Entry(
        dn,
        values.map(([name, texts]) => [name, texts.map((text) => Buffer.from(text))] as const),
      );
      return stager.stage(kind, uuid, entry, JSON.stringify([dn, attributes]));
    }),
  );
}

describe('a revision', () => {
  let mirror: Mirror;
  let fresh: Mirror;

  beforeAll(async () => {
    mirror = await Mirror.create();
    fresh = await Mirror.create();
  });

  afterAll(async () => {
    await mirror.remove();
    await fresh.remove();
  });

  it('leads to the same mirror as a first one', async () => {
    await fc.assert(
      fc.asyncProperty(revisions, async ([first, others]) => {
        await mirror.reset();
        const entries = new Map<string, Given>();
        for (const edits of [first, ...others]) {
          const changed = [...new Set(edits.map((edit) => apply(entries, edit)))];
          const outcome = await mirror.revise(entries, changed);
          // The guard holds a first revision without users.
          if (outcome.kind === 'blocked') return;
          await fresh.reset();
          await fresh.revise(entries, [...entries.keys()]);
          expect(await mirror.read()).toEqual(await fresh.read());
        }
      }),
      { numRuns: repetitions({ usually: 15, long: 500 }) },
    );
  });

  describe('that deletes too much', () => {
    const people = IDS.slice(0, 4).map((id): Given => ({
      ...{ kind: 'person', uuid: uuidOfDn(`cn=${id}`) ?? '', dn: DNS.person(id) },
      attributes: { objectClass: ['inetOrgPerson'], uid: [id], cn: [id] },
    }));
    const all = new Map(people.map((each) => [each.uuid, each]));
    const guard = { percent: 10, windowSeconds: 600 };
    const uuids = [...all.keys()];

    it('is blocked, held, and written when it is confirmed by its hash', async () => {
      await mirror.reset();
      await mirror.revise(all, uuids);
      const blocked = await mirror.revise(new Map(), uuids, {}, guard);
      if (blocked.kind !== 'blocked') throw new Error(blocked.kind);
      const planned = await mirror.revise(new Map(), uuids, { dryRun: true }, guard);
      expect(planned).toMatchObject({ kind: 'planned', hash: blocked.hash });
      // A command is given the reason again.
      expect((await mirror.revise(new Map(), uuids, {}, guard)).kind).toBe('blocked');
      expect((await mirror.revise(new Map(), uuids, { leader: 0 }, guard)).kind).toBe('held');
      expect((await mirror.revise(new Map(), uuids, { confirm: '0'.repeat(64) }, guard)).kind).toBe(
        'refused',
      );
      expect((await mirror.revise(new Map(), uuids, { confirm: blocked.hash }, guard)).kind).toBe('applied');
      expect(await mirror.session.query('select from users')).toEqual([]);
    });
  });
});

/** No two entries have one DN at the same time. @returns the UUID of the entry */
function apply(
  entries: Map<string, Given>,
  { number, content }: { number: number; content: Omit<Given, 'uuid'> | null },
) {
  const uuid = uuidOfDn(`cn=${number}`) ?? '';
  const isTaken = [...entries.values()].some((each) => each.uuid !== uuid && each.dn === content?.dn);
  if (content === null) entries.delete(uuid);
  else if (!isTaken) entries.set(uuid, { uuid, ...content });
  return uuid;
}
