import type { Principal } from '../auth/principal.js';
import type { Field } from '../common/field.js';
import { GroupRole } from '../groups/group.model.js';
import { changesOfFields, changesOfRoles, type FieldValues } from './records.js';

const CHANGE = { label: 'value', by: 'owner', isRemovable: true } as const;

function field(name: string, more: Partial<Field> = {}): Field {
  return {
    ...{
      name,
      type: 'String',
      description: '',
      attributes: [name],
      attribute: name,
      reader: 'line',
      column: null,
    },
    change: CHANGE,
    ...more,
  };
}

const FIELDS = [
  field('id', { reader: 'identity', change: undefined }),
  field('seats', { type: 'Int', reader: 'integer' }),
  field('isOpen', { type: 'Boolean', reader: 'boolean' }),
  field('endsAt', { type: 'DateTime', reader: 'time' }),
  field('phone', { scopes: ['contact'] }),
  field('secret', { visibleTo: 'groupAdmins' }),
  field('fixed', { change: undefined }),
];
const GROUP = {
  id: 'club',
  'seats:Int': 7,
  isOpen: false,
  endsAt: new Date('2026-03-01T08:15:30Z'),
  phone: '1',
  secret: 's',
  fixed: 'f',
};

function listed(scopes: string[], before: object | null, after: object | null) {
  const principal = { scopes: new Set(scopes) } as unknown as Principal;
  return changesOfFields('group', FIELDS, before as FieldValues, after as FieldValues, principal).map(
    (each) => `${each.path.join('.')}: ${each.before} > ${each.after}`,
  );
}

describe('the values that a change would replace', () => {
  it('are texts as in responses, of fields that previews can change', () => {
    expect(listed(['contact'], GROUP, null)).toEqual([
      'group.id: club > null',
      'group.seats: 7 > null',
      'group.isOpen: false > null',
      'group.endsAt: 2026-03-01T08:15:30.000Z > null',
      'group.phone: 1 > null',
    ]);
  });

  it('are not those of fields that the token cannot read', () => {
    expect(listed([], GROUP, { ...GROUP, phone: '2', secret: 't' })).toEqual([]);
    expect(listed(['contact'], GROUP, { ...GROUP, phone: '2', secret: 't' })).toEqual(['group.phone: 1 > 2']);
  });
});

describe('the roles that a change would replace', () => {
  const { MEMBER, OWNER } = GroupRole;

  it('are the direct one and the effective one, if they differ', () => {
    const nested = { direct: null, value: OWNER };
    expect(changesOfRoles(nested, { direct: MEMBER, value: OWNER })).toEqual([
      { path: ['membership', 'role', 'direct'], before: null, after: MEMBER },
    ]);
    expect(changesOfRoles(nested, nested)).toEqual([]);
    expect(changesOfRoles(null, { direct: MEMBER, value: MEMBER })).toHaveLength(2);
  });
});
