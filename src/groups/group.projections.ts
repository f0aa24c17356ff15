import type { Field } from '../common/field.js';
import { Projection } from '../database/fields/projection.js';
import { Group } from './group.model.js';

const MODEL = {
  create: () => new Group(),
  list: 'members',
  node: 'group',
  computed: { members: ['key'], parents: ['key'], subgroups: ['key'] },
};

/** Groups, read from their table `g`. */
export function groupProjection(fields: readonly Field[]): Projection<Group> {
  return new Projection(MODEL, fields, { alias: 'g' });
}

/** Groups in memberships `m`, whose carried columns save the join with `groups g`. */
export function joinedGroupProjection(fields: readonly Field[]): Projection<Group> {
  return new Projection(MODEL, fields, { alias: 'g', carriedAs: 'm.group_' });
}
