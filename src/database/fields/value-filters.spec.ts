import { resolveFields } from '../../common/field.js';
import { BadUserInputError } from '../../common/errors.js';
import { Values } from '../statements/statement.js';
import { valueConditions } from './value-filters.js';

const definition = { name: 'level', type: 'Float', description: 'The level.', attributes: ['level'] };
const fields = resolveFields([{ ...definition, reader: 'number', column: null, isFilterable: true }], {});

describe('the filter by a Float', () => {
  it.each([{ is: Infinity }, { in: [1, -Infinity] }, { min: Infinity }, { max: -Infinity }])(
    'rejects numbers that are not finite: %j',
    (level) => {
      expect(() => valueConditions(fields, { level }, new Values(), 'u')).toThrow(BadUserInputError);
    },
  );

  it('takes other numbers', () => {
    expect(valueConditions(fields, { level: { min: -1e308, max: null } }, new Values(), 'u')).toHaveLength(1);
  });
});
