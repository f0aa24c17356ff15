import { bindCursor } from '../common/cursor.js';
import type { PageSource } from '../database/paging/page-source.js';
import { REVISION, statement } from '../database/statements/statement.js';
import { Values } from '../database/statements/values.js';
import { Group } from './group.model.js';

/** What a group is read from; the table has the alias `g`. */
export const GROUP_COLUMNS = [
  'g.key',
  'g.id',
  'g.name',
  'g.description',
  'g.website',
  'g.email',
  'g.created_at',
  'g.updated_at',
] as const;

export type GroupRow = [
  key: number,
  id: string,
  name: string,
  description: string | null,
  website: string | null,
  email: string | null,
  createdAt: Date,
  updatedAt: Date,
];

export function groupOf(row: GroupRow): Group {
  const group = new Group();
  [
    group.key,
    group.id,
    group.name,
    group.description,
    group.website,
    group.email,
    group.createdAt,
    group.updatedAt,
  ] = row;
  return group;
}

const COLUMNS = GROUP_COLUMNS.join(', ');

/** One row, also where no group has the id: then it has nothing but the revision in it. */
export const FIND_GROUP = statement(
  `select ${COLUMNS}, s.revision_uuid from mirror_state s left join groups g on g.id_folded = $1`,
  { tellsRevision: true, isShort: true },
);

/** Null for the row of FIND_GROUP that has no group in it. */
export function findGroupOf(row: GroupRow | undefined): Group | null {
  return row === undefined || (row[0] as number | null) === null ? null : groupOf(row);
}

export const LIST_GROUPS_BY_KEY = statement(
  `select ${COLUMNS}, ${REVISION} from groups g where g.key = any ($1::integer[])`,
  { tellsRevision: true },
);

/** The groups that contain a group, or that it contains, by name. */
export function nestedGroups(direction: 'parents' | 'subgroups'): PageSource {
  const [listed, parent] = direction === 'parents' ? ['outer_key', 'inner_key'] : ['inner_key', 'outer_key'];
  return {
    binding: bindCursor(direction, {}, {}),
    from: `nestings n join groups g on g.key = n.${listed}`,
    columns: GROUP_COLUMNS,
    instants: ['g.created_at', 'g.updated_at'],
    parent: `n.${parent}`,
    order: {
      columns: [
        { sql: 'g.sort_name', type: 'text' },
        { sql: 'g.key', type: 'integer' },
      ],
      direction: 'ASC',
    },
    conditions: [],
    values: new Values(),
  };
}
