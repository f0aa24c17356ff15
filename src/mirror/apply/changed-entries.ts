import { arraysOf } from '../../common/chunks.js';
import { addressOf } from '../../database/fields/object-table.js';
import { MOST_CHANGED } from '../../database/revisions/changed-objects.js';
import type { Values } from '../../database/statements/statement.js';
import { unnest } from '../../database/statements/unnest.js';
import { HIDES_SOMETHING } from '../../database/visibility/visible-tables.js';
import type { Plan } from '../plan/plan.js';
import { foundBy, type Former } from './former-entries.js';

const USER = foundBy('u', addressOf('u'));
const GROUP = foundBy('g', 'g.members_visible_to');

/** SQL for the fingerprint of the model, with the mark of its rules: the end of that of a source (src/sources/source.ts). */
const ofModel = (fingerprint: string) => `substring(${fingerprint} from '.{11}(?:[.][0-9]+)?$')`;

const list = (select: string) =>
  `array(select each.key from (${select}) each (key) limit ${MOST_CHANGED + 1})`;

/**
 * SQL for what a plan that is not large has changed (docs/adr/0042), after its rows and the effective roles are written; null for
 * everything. An object that is found in another way has another place in every list that contains it.
 * @param former the users and groups that were written, as they were before
 * @param changes SQL for the changed roles
 * @param fingerprint that of the source, which contains that of the model
 */
export function selectChanged(
  values: Values,
  { createdPeople, deletedPeople, createdGroups, deletedGroups, memberships, nestings }: Plan,
  former: readonly Former[],
  changes: string,
  fingerprint: string,
): string {
  const uuids = (list: readonly string[]) => `${values.add(list)}::uuid[]`;
  const flag = (value: boolean) => `${values.add(value)}::boolean`;
  const before = unnest(
    values,
    ['boolean', 'integer', 'text'],
    [former.map(({ kind }) => kind === 'person'), ...arraysOf(former, 'key', 'found')],
  );
  const outer = uuids(nestings.map(({ group }) => group));
  const inner = uuids(nestings.map(({ subject }) => subject));
  const named = uuids(memberships.map(({ group }) => group));
  const lists = {
    users: 'select b.key from before b where b.is_user',
    groups: `
      select b.key from before b where not b.is_user
      union select g.key from groups g where g.entry_uuid = any (${named} || ${outer} || ${inner})
      union select c.group_key from ${changes} c`,
    members: `
      select c.group_key from ${changes} c
      union select g.key from groups g where g.entry_uuid = any (${outer})
      union select m.group_key from moved_users u join effective_memberships m on m.user_key = u.key`,
    memberOf: `
      select c.user_key from ${changes} c
      union select m.user_key from moved_groups g join effective_memberships m on m.group_key = g.key`,
  };
  const flags = {
    anyUser: `${flag(createdPeople.length + deletedPeople.length > 0)} or exists (select from moved_users)`,
    anyGroup: `${flag(createdGroups.length + deletedGroups.length > 0)} or exists (select from moved_groups)`,
  };
  return compose(before, lists, flags, `${values.add(fingerprint)}::text`);
}

/** @param before the users and groups that were written, as they were before */
function compose(
  before: string,
  lists: Readonly<Record<string, string>>,
  flags: Readonly<Record<string, string>>,
  fingerprint: string,
): string {
  const columns = [
    ...Object.entries(lists).map(([name, select]) => `${list(select)} as "${name}"`),
    ...Object.entries(flags).map(([name, sql]) => `${sql} as "${name}"`),
  ];
  const count = Object.keys(lists).map((name) => `cardinality(l."${name}")`);
  return `
  with before as (select * from ${before} b (is_user, key, found)),
  moved_users as (
    select b.key from before b left join users u on u.key = b.key
    where b.is_user and b.found is distinct from ${USER}),
  moved_groups as (
    select b.key from before b left join groups g on g.key = b.key
    where not b.is_user and b.found is distinct from ${GROUP}),
  lists as (select ${columns.join(', ')})
  select case
    when s.hides = ${HIDES_SOMETHING}
      and ${ofModel('s.source_fingerprint')} = ${ofModel(fingerprint)}
      and ${count.join(' + ')} <= ${MOST_CHANGED}
    then row_to_json(l)
    end as changed
  from mirror_state s, lists l`;
}
