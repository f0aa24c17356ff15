import { BadUserInputError } from '../common/errors.js';
import { GROUP_FIELDS } from '../groups/group.fields.js';
import { USER_FIELDS } from '../users/user.fields.js';
import { validateChange, validateNewGroup } from './values.js';

const group = { id: 'chess-club' };

/** Returns the rejected argument. Null: no argument is rejected. */
function refusedBy(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    if (!(error instanceof BadUserInputError)) throw error;
    return error.details.argument ?? '';
  }
}

describe('the change of a user', () => {
  it('has the given values, without leading and trailing white space', () => {
    expect(
      validateChange(
        {
          name: ' Ada Martin\n',
          givenName: 'Ada',
          familyName: '\u00a0Martin',
          email: 'ada@example.org ',
          schoolYear: '3B',
        },
        USER_FIELDS,
      ),
    ).toEqual({
      name: 'Ada Martin',
      givenName: 'Ada',
      familyName: 'Martin',
      email: 'ada@example.org',
      schoolYear: '3B',
    });
  });

  it('distinguishes removed from unchanged values', () => {
    const change = validateChange({ givenName: null, email: ' ' }, USER_FIELDS);
    expect(change).toEqual({ givenName: null, email: null });
    expect(change.schoolYear).toBeUndefined();
  });

  it.each([
    ['input', {}],
    ['name', { name: '' }],
    ['name', { name: null }],
    ['name', { name: ' \t' }],
    ['familyName', { familyName: null }],
    ['familyName', { familyName: '' }],
    ['name', { name: 'x'.repeat(513) }],
    ['givenName', { givenName: 'a\nb' }],
    ['givenName', { givenName: 'a\0b' }],
    ['givenName', { givenName: 'a\u0085b' }],
    ['givenName', { givenName: '\ud800' }],
    ['schoolYear', { schoolYear: 'x'.repeat(65) }],
  ])('is rejected for its %s: %j', (argument, input) => {
    expect(refusedBy(() => validateChange(input, USER_FIELDS))).toBe(argument);
  });

  it.each([
    'a@b',
    "o'hara+chess@example.org",
    'x@xn--bcher-kva.example',
    `${'x'.repeat(64)}@example.org`,
    `${'x'.repeat(64)}@${'y'.repeat(63)}.${'y'.repeat(63)}.${'y'.repeat(61)}`,
  ])('accepts the address %s', (email) => {
    expect(validateChange({ email }, USER_FIELDS)).toEqual({ email });
  });

  it.each([
    'ada',
    '@example.org',
    'ada@',
    'ada@example.org, bob@example.org',
    'Ada <ada@example.org>',
    'ada@exam ple.org',
    'ädä@example.org',
    'ada@bücher.example',
    'ada@-example.org',
    `${'x'.repeat(65)}@example.org`,
    `${'x'.repeat(64)}@${'y'.repeat(63)}.${'y'.repeat(63)}.${'y'.repeat(62)}`,
  ])('rejects the address %s', (email) => {
    expect(refusedBy(() => validateChange({ email }, USER_FIELDS))).toBe('email');
  });
});

describe('the change of a group', () => {
  it('may have line feeds and tabs in the description only', () => {
    expect(validateChange({ group, description: 'one\n\ttwo' }, GROUP_FIELDS)).toEqual({
      description: 'one\n\ttwo',
    });
    expect(refusedBy(() => validateChange({ group, description: 'one\rtwo' }, GROUP_FIELDS))).toBe(
      'description',
    );
    expect(refusedBy(() => validateChange({ group, name: 'one\ttwo' }, GROUP_FIELDS))).toBe('name');
  });

  it.each(['http://example.org', 'https://example.org/a?b#c', 'https://bücher.example/é'])(
    'accepts the website %s',
    (website) => {
      expect(validateChange({ group, website }, GROUP_FIELDS)).toEqual({ website });
    },
  );

  it.each([
    'example.org',
    'ftp://example.org',
    'javascript:alert(1)',
    'https://',
    'https://example.org chess',
    'https://user:secret@example.org',
    'https://example.org/<b>',
    'https://example.org/"x',
  ])('rejects the website %s', (website) => {
    expect(refusedBy(() => validateChange({ group, website }, GROUP_FIELDS))).toBe('website');
  });

  it.each([
    ['input', {}],
    ['name', { name: '' }],
    ['description', { description: 'x'.repeat(10_001) }],
    ['website', { website: `https://example.org/${'x'.repeat(10_000)}` }],
    ['email', { email: 'chess' }],
  ])('is rejected for its %s: %#', (argument, input) => {
    expect(refusedBy(() => validateChange({ group, ...input }, GROUP_FIELDS))).toBe(argument);
  });
});

/** Builds combining marks of descending class, on which normalization takes quadratic time. */
function marks(count: number): string {
  const classes = ['\u0345', '\u0301', '\u05b0', '\u0327', '\u0334'];
  return classes.map((mark) => mark.repeat(count / classes.length)).join('');
}

describe('a text of many combining marks', () => {
  const MANY = marks(32_000);

  it.each([
    ['name', { name: `a${marks(40)}` }],
    ['description', { description: `a${marks(9000)}` }],
    ['website', { website: `http://a${marks(40)}/` }],
    ['website', { website: `http://example.org/${marks(40)}` }],
  ])('is rejected for its %s', (argument, input) => {
    expect(refusedBy(() => validateChange({ group, ...input }, GROUP_FIELDS))).toBe(argument);
  });

  it('is accepted with as many as writing systems need', () => {
    const name = `e${'\u0301\u0323'.repeat(15)}x`;
    expect(validateChange({ group, name }, GROUP_FIELDS)).toEqual({ name });
  });

  it('is neither normalized nor parsed, which takes time quadratic in the marks', () => {
    const spies = [jest.spyOn(String.prototype, 'normalize'), jest.spyOn(URL, 'canParse')];
    const website = `http://a${MANY}/`;
    expect(refusedBy(() => validateChange({ group, website }, GROUP_FIELDS))).toBe('website');
    expect(refusedBy(() => validateChange({ group, name: MANY }, GROUP_FIELDS))).toBe('name');
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    jest.restoreAllMocks();
  });
});

describe('a new group', () => {
  it('has no value for omitted fields', () => {
    expect(validateNewGroup({ id: 'go', name: 'Go', email: '' }, GROUP_FIELDS)).toEqual({
      id: 'go',
      name: 'Go',
      email: null,
    });
  });

  it.each(['a', '3B', 'chess-club_2.0', 'x'.repeat(256)])('may have the id %s', (id) => {
    expect(validateNewGroup({ id, name: 'Go' }, GROUP_FIELDS).id).toBe(id);
  });

  it.each(['', ' go', 'go club', '-go', '.', 'a/b', 'a,b', 'é', 'go\n', 'x'.repeat(257)])(
    'may not have the id %j',
    (id) => {
      expect(refusedBy(() => validateNewGroup({ id, name: 'Go' }, GROUP_FIELDS))).toBe('id');
    },
  );

  it('requires a name', () => {
    expect(refusedBy(() => validateNewGroup({ id: 'go', name: ' ' }, GROUP_FIELDS))).toBe('name');
  });
});

describe('the change of a number', () => {
  const change = { label: 'level', by: 'administrator', isRemovable: true } as const;
  const rest = { description: 'The level.', attributes: ['level'], column: null, change };
  const float = { ...rest, name: 'level', type: 'Float', reader: 'number' } as const;
  const int = { ...rest, name: 'level', type: 'Int', reader: 'integer' } as const;

  it('is a value that the mirror shows', () => {
    expect(validateChange({ level: 1e21 }, [float])).toEqual({ level: '1e+21' });
    expect(validateChange({ level: -7 }, [int])).toEqual({ level: '-7' });
    expect(refusedBy(() => validateChange({ level: Infinity }, [float]))).toBe('level');
    expect(refusedBy(() => validateChange({ level: 1.5 }, [int]))).toBe('level');
  });
});
