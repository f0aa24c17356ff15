import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../src/database/migrations/migrations.js';
import { statement } from '../../src/database/statements/statement.js';
import { forViewer } from '../../src/database/visibility/visible-statement.js';
import { OUTSIDER } from '../../src/database/visibility/viewer.js';

/** Files that read the database itself, and why no viewer restricts what they read. */
const UNRESTRICTED: Readonly<Record<string, string>> = {
  'src/health/indicators.ts': 'reads whether the database accepts writes',
  'src/identity-provider/identity-provider.ts': 'reads who signs in',
  'src/media/picture.queries.ts': 'a signed URL was given to a viewer, and is valid until it expires',
  'src/mirror/status/mirror-state.ts': 'reads the state of the synchronization',
  'src/monitoring/metrics/mirror-metrics.ts': 'counts for operators',
  'src/service-accounts/database-service-account-verifier.ts': 'reads the accounts of programs',
};

/** Tables that no relation replaces, and the files outside of the mirror that read them. */
const WITHOUT_RELATION: Readonly<Record<string, readonly string[]>> = {
  // Both sides are joined with relations. Previews read them after they have found the group and the user for the viewer.
  entries: ['src/previews/previewed-mirror.ts'],
  references: ['src/field-references/field-references.queries.ts', 'src/previews/previewed-mirror.ts'],
  names: ['src/field-references/field-references.queries.ts', 'src/previews/previewed-mirror.ts'],
  pictures: ['src/media/picture.queries.ts', 'src/previews/previewed-mirror.ts'],
  revisions: ['src/changes/change.queries.ts'],
  // Of the service itself, without data of the directory.
  access_log: [],
  database_complete: [],
  embedded_keys: [],
  service_account_secrets: [],
  service_accounts: [],
  webhooks: [],
};

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
  .map((file) => join('src', file));
const textOf = (file: string) => readFileSync(file, 'utf8');

/** The tables and views of the migrations, from the SQL that they run. */
async function createdTables(): Promise<string[]> {
  const texts: string[] = [];
  // Its tables have no rows.
  const runner = { query: (text: string) => Promise.resolve(texts.push(text) && []) };
  for (const Migration of MIGRATIONS) await new Migration().up(runner as unknown as QueryRunner);
  const created = texts.flatMap((text) => [
    ...text.matchAll(/create (?:unlogged )?(?:table|(?:materialized )?view)(?: if not exists)? "?(\w+)/gi),
  ]);
  return [...new Set(created.map(([, name]) => name ?? ''))];
}

describe('visibility', () => {
  it('restricts every statement but those of the files that are listed with a reason', () => {
    const readers = sources.filter((file) => /\bdatabase\.read[<(]/.test(textOf(file)));
    expect(readers.sort()).toEqual(Object.keys(UNRESTRICTED).sort());
  });

  it('has a relation for every table but those that are listed', async () => {
    const created = await createdTables();
    const viewer = { ...OUTSIDER, limitedTo: [] };
    const [{ text }] = forViewer(statement(created.join(' ')), [], viewer, { hides: true });
    const relations = [...text.matchAll(/^(\w+) as not/gm)].map(([, name]) => name ?? '');
    const missing = created.filter((name) => !relations.includes(name) && !(name in WITHOUT_RELATION));
    expect(missing).toEqual([]);
    expect(created).toEqual(expect.arrayContaining(Object.keys(WITHOUT_RELATION)));
    expect(relations).toEqual(
      expect.arrayContaining(['users', 'groups', 'effective_memberships', 'changes']),
    );
  });

  it('lets only listed files read the tables that have no relation', () => {
    const isReading = (file: string) => !/src\/(mirror|database|commands|monitoring)\//.test(file);
    for (const [table, allowed] of Object.entries(WITHOUT_RELATION)) {
      if (table.startsWith('service_account') || table === 'access_log') continue;
      const found = sources.filter(
        (file) => isReading(file) && new RegExp(`\\b(?:from|join) "?${table}\\b`).test(textOf(file)),
      );
      expect({ table, found: found.filter((file) => !allowed.includes(file)) }).toEqual({ table, found: [] });
    }
  });

  it('cannot be avoided by the name of a schema', () => {
    const names =
      /\b(?:public|pg_catalog)\.(?:users|groups|effective_memberships|nestings|changes|mirror_state)\b/;
    expect(sources.filter((file) => names.test(textOf(file)))).toEqual([]);
  });

  it('rejects a statement with relations of its own, which its relations would not precede', () => {
    expect(() =>
      forViewer(statement('with a as (select 1) select * from a'), [], OUTSIDER, { hides: true }),
    ).toThrow('begins with no relations');
  });
});
