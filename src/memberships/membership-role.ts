import type { ProjectedColumns } from '../database/fields/projection.js';
import type { SelectedFields } from '../common/page.js';
import { roleOf } from '../groups/group-role.js';
import { CurrentGroupMembershipInheritance } from './membership.model.js';

const COLUMNS = {
  value: 'm.role',
  direct: 'm.direct_role',
  inheritedFrom: 'm.inherited_from',
} as const;

type Property = keyof typeof COLUMNS;
const PROPERTIES = Object.keys(COLUMNS) as Property[];

/** What must be read of a role for the selected fields. */
export function selectRole(fields: SelectedFields): ProjectedColumns {
  return columnsOf(PROPERTIES.filter((property) => fields.has(property)));
}

/** A role with all of its properties. */
export const WHOLE_ROLE = columnsOf(PROPERTIES);

export function mapRole(
  row: readonly unknown[],
  { properties }: ProjectedColumns,
): CurrentGroupMembershipInheritance {
  const role = new CurrentGroupMembershipInheritance();
  properties.forEach((property, index) => {
    const value = row[index];
    if (property === 'value') role.value = roleOf(value as number);
    else if (property === 'direct') role.direct = value === null ? null : roleOf(value as number);
    else role.inheritedFromKeys = value as number[];
  });
  return role;
}

function columnsOf(properties: readonly Property[]): ProjectedColumns {
  return { properties, columns: properties.map((property) => COLUMNS[property]) };
}
