import { Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { SelectedFields } from '../common/page.js';
import { readWithParent } from '../database/paging/page.js';
import { type PageQuery, planPage } from '../database/paging/page-query.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { SelectedList, SelectedObject } from '../graphql/analysis/selection.js';
import { Group } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import type { MembershipArguments } from './membership.inputs.js';
import { membershipSource, shownFrom, type Side } from './membership.queries.js';
import { nameOfPage } from './memberships.service.js';
import { LISTED_GROUP, LISTED_USER, listedIn, listedOf, type Shown } from './shown.js';

type Selected = SelectedObject<MembershipArguments>;
type Sources = Pick<RequestContext, 'reader' | 'batches'>;

/** Whose memberships each side lists: where they are found by id. */
const PARENTS = {
  members: { side: LISTED_GROUP, table: 'groups', alias: 'g', total: 'g.member_count' },
  groups: { side: LISTED_USER, table: 'users', alias: 'u', total: 'u.group_count' },
} as const;

/**
 * Finds one person or one group by id, in one statement with the memberships that are selected of it: what is asked
 * for most.
 */
@Injectable()
export class LookupService {
  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {}

  async findGroup(id: string, selected: Selected, sources: Sources): Promise<Group | null> {
    const plan = planLookup('members', id, selected);
    return plan === null ? this.groups.find(id, sources.reader) : find(plan, new Group(), sources);
  }

  async findUser(id: string, selected: Selected, sources: Sources): Promise<User | null> {
    const plan = planLookup('groups', id, selected);
    return plan === null ? this.users.find(id, sources.reader) : find(plan, new User(), sources);
  }
}

interface Lookup {
  readonly query: PageQuery;
  readonly shown: Shown;
  /** What the page is known by where the list is resolved. */
  readonly pageName: string;
}

/** A lookup for anybody: the id is one of its values. */
interface LookupPlan extends Lookup {
  readonly placeOfId: number;
}

/** Pages of one list that plans are kept for: clients mostly ask for the first one. */
const MOST_PLANS = 10;

/** Plans are kept with the selection that they are for, which is kept with its document. */
const known = new WeakMap<SelectedFields, Map<string, LookupPlan>>();

/** Null where no list is selected, or none that can be: whoever resolves it says why. */
function planLookup(side: Side, id: string, { fields, list }: Selected): Lookup | null {
  if (list === null) return null;
  const pageName = nameOfPage(side, list.page, list.selection);
  let plans = known.get(fields);
  if (plans === undefined || plans.size === MOST_PLANS) {
    plans = new Map();
    known.set(fields, plans);
  }
  let plan = plans.get(pageName);
  if (plan === undefined) {
    const planned = tryToPlan(side, pageName, fields, list);
    if (planned === null) return null;
    plan = planned;
    plans.set(pageName, plan);
  }
  const { query, shown, placeOfId } = plan;
  return { query: { ...query, values: query.values.with(placeOfId, foldId(id)) }, shown, pageName };
}

function tryToPlan(...given: Parameters<typeof planWithList>): LookupPlan | null {
  try {
    return planWithList(...given);
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

function planWithList(
  side: Side,
  pageName: string,
  fields: SelectedFields,
  { page, selection }: SelectedList<MembershipArguments>,
): LookupPlan {
  const { side: parentSide, table, alias, total } = PARENTS[side];
  const shown = listedOf(parentSide, fields);
  const source = membershipSource(side, page, shownFrom(side, selection));
  const placeOfId = source.values.all.length;
  const sought = {
    from: `${table} ${alias}`,
    key: `${alias}.key`,
    condition: `${alias}.id_folded = ${source.values.add(null)}`,
    columns: shown.columns,
    total,
  };
  return { query: planPage(source, page, selection, sought), shown, pageName, placeOfId };
}

async function find<Model extends { key: number }>(
  { query, shown, pageName }: Lookup,
  model: Model,
  { reader, batches }: Sources,
): Promise<Model | null> {
  const found = await readWithParent(reader, query);
  if (found === null) return null;
  const parent = listedIn(found.parent, shown, model);
  batches.note(pageName, parent.key, found.page);
  return parent;
}
