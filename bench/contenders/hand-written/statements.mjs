// One prepared statement per query, on ordinary tables or on the read model of the service.
import { SEARCH } from '../../data/ordinary-tables.mjs';

/** Columns of the parent, then of each row, or nulls. An additional row shows whether there is a next page. */
const ORDINARY = {
  members: (first) => `
    select g.name, counted.total, page.* from ordinary.groups g
    cross join lateral (
      select count(*)::integer as total from ordinary.memberships m where m.group_key = g.key
    ) counted
    left join lateral (
      select m.role, p.id, p.name, p.school_year, p.has_photo, p.sort_name, p.key
      from ordinary.memberships m join ordinary.people p on p.key = m.person_key
      where m.group_key = g.key order by p.sort_name, p.key limit ${first + 1}
    ) page on true
    where g.id = $1`,
  profile: `
    select p.id, p.name, p.school_year, p.has_photo, counted.total, page.* from ordinary.people p
    cross join lateral (
      select count(*)::integer as total from ordinary.memberships m where m.person_key = p.key
    ) counted
    left join lateral (
      select m.role, g.id, g.name, g.sort_name, g.key
      from ordinary.memberships m join ordinary.groups g on g.key = m.group_key
      where m.person_key = p.key order by g.sort_name desc, g.key desc limit 21
    ) page on true
    where p.id = $1`,
};

/** Pages in the order of an index, so that no group is sorted. */
const INDEX_ORDER = {
  ...ORDINARY,
  members: (first) => `
    select g.name, counted.total, page.* from ordinary.groups g
    cross join lateral (
      select count(*)::integer as total from ordinary.ordered_memberships m where m.group_key = g.key
    ) counted
    left join lateral (
      select m.role, p.id, p.name, p.school_year, p.has_photo, m.sort_name, m.person_key
      from ordinary.ordered_memberships m join ordinary.people p on p.key = m.person_key
      where m.group_key = g.key order by m.sort_name, m.person_key limit ${first + 1}
    ) page on true
    where g.id = $1`,
};

const READ_MODEL = {
  members: (first) => `
    select g.name, g.member_count, page.* from read_model.groups g
    left join lateral (
      select m.role, m.person_id, m.name, m.school_year, m.has_photo, m.sort_name, m.person_key
      from read_model.members m where m.group_key = g.key order by m.sort_name, m.person_key limit ${first + 1}
    ) page on true
    where g.id = $1`,
  profile: `
    select p.id, p.name, p.school_year, p.has_photo, p.group_count, page.* from read_model.people p
    left join lateral (
      select m.role, m.group_id, m.group_name, m.sort_name, m.group_key
      from read_model.groups_of_people m where m.person_key = p.key
      order by m.sort_name desc, m.group_key desc limit 21
    ) page on true
    where p.id = $1`,
};

const STATEMENTS = { ordinary: ORDINARY, 'index-order': INDEX_ORDER, 'read-model': READ_MODEL };

/** @param {keyof typeof STATEMENTS} tables */
export function statementsOn(tables) {
  const { members, profile } = STATEMENTS[tables];
  return {
    members: { name: 'members', text: members(50) },
    largestPage: { name: 'largest-page', text: members(100) },
    profile: { name: 'profile', text: profile },
    search: { name: 'search', text: `${SEARCH} limit 20` },
  };
}
