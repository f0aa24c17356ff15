import { type GroupRole, roleOf } from '../groups/group.model.js';
import { counted } from '../common/counted.js';
import type { ListedChanges, ListedEntry, ListedMembership } from '../mirror/revision/listed-changes.js';
import { printable } from '../common/printable.js';

const SIGNS = { created: '+', updated: '~', deleted: '-' } as const;
const CHANGES = ['created', 'updated', 'deleted'] as const;

/** What is done, and to what. */
type Line = readonly [sign: '+' | '~' | '-' | '!', text: string];

/** The changes of a dry run, and what the mirror leaves out, with at most `limit` of each sign. The others are only counted. */
export function describeChanges(changes: ListedChanges, limit: number) {
  const { entries, memberships, quarantined, dangling } = changes;
  const ofKind = (kind: ListedEntry['kind']) =>
    entries.filter((each) => each.kind === kind).map(describeEntry);
  const emptied = entries.filter(({ kind, change }) => kind === 'group' && change === 'deleted');
  const gone = new Set(emptied.map(({ id }) => id));
  const left = [
    ...quarantined.map(
      ({ dn, attribute, reason }) => `${[attribute ?? [], dn].flat().join(' of ')} ${reason}`,
    ),
    ...dangling.map(({ names, dn }) => `${counted(names, 'member')} of ${dn} without an entry`),
  ];
  const sections: Readonly<Record<string, readonly Line[]>> = {
    Users: ofKind('person'),
    Groups: ofKind('group'),
    // The members of a deleted group would hide all other changes.
    Members: memberships.filter(({ group }) => !gone.has(group)).map(describeMembership),
    'Left out': left.map((text) => ['!', text] as const),
  };
  return Object.entries(sections)
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => ({ title, lines: shorten(lines, limit) }));
}

function shorten(lines: readonly Line[], limit: number): Line[] {
  return (['+', '~', '-', '!'] as const).flatMap((sign) => {
    const texts = lines.filter(([own]) => own === sign).map(([, text]) => printable(text));
    const rest = texts.length > limit ? [`… and ${texts.length - limit} more`] : [];
    return [...texts.slice(0, limit), ...rest].map((text) => [sign, text] as const);
  });
}

function describeEntry({ change, id, name, formerId, dn, fields }: ListedEntry): Line {
  const former = formerId === null ? '' : ` (was ${formerId})`;
  const differing = change === 'updated' ? `: ${fields.join(', ') || 'no visible attribute'}` : '';
  return [SIGNS[change], `${id}  ${name}  ${dn}${former}${differing}`];
}

function describeMembership({ group, member, isGroup, before, after }: ListedMembership): Line {
  const text = `${group}: ${isGroup ? '@' : ''}${member}`;
  const roles = [before, after].map(roleIn).filter((role) => role !== null);
  return [before === null ? '+' : after === null ? '-' : '~', `${text} ${roles.join(' → ')}`];
}

function roleIn(rank: number | null): GroupRole | null {
  return rank === null ? null : roleOf(rank);
}

/** The changes of a dry run by kind, for programs. A role is null where there is none. */
export function groupedChanges({ entries, memberships, quarantined, dangling }: ListedChanges): object {
  const ofKind = (wanted: ListedEntry['kind']) => {
    const found = entries.filter(({ kind }) => kind === wanted);
    const ofChange = (change: ListedEntry['change']) =>
      found
        .filter((each) => each.change === change)
        .map(({ kind: _kind, change: _change, ...entry }) => entry);
    return Object.fromEntries(CHANGES.map((change) => [change, ofChange(change)]));
  };
  const rolesOf = (isNested: boolean) =>
    memberships
      .filter(({ isGroup }) => isGroup === isNested)
      .map(({ group, member, before, after }) => ({
        ...{ group, [isNested ? 'subgroup' : 'user']: member },
        ...{ before: roleIn(before), after: roleIn(after) },
      }));
  return {
    ...{ users: ofKind('person'), groups: ofKind('group') },
    ...{ memberships: rolesOf(false), nestings: rolesOf(true) },
    quarantined: quarantined.map((each) => ({ ...each, kind: each.kind === 'group' ? 'group' : 'user' })),
    dangling,
  };
}
