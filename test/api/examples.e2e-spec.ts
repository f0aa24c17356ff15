import { readFileSync } from 'node:fs';
import {
  makeAskers,
  type Principals,
  REFERENCE_EXAMPLES,
  steady,
  writeAnswer,
} from '../support/builders/examples.js';
import { dataOf, post } from '../support/clients/http.js';
import { schema } from '../support/clients/scope-walk.js';
import { TestService } from '../support/servers/service.js';

const service = TestService.forSuite({
  ldif: readFileSync('sample/directory.ldif', 'utf8'),
  environment: { DIRECTORY_MODEL: 'sample/model.yaml', LIMIT_POINTS_PER_HOUR: '5000' },
  compared: false,
});

describe('an example of the reference', () => {
  let principals: Principals;

  beforeAll(async () => {
    principals = await makeAskers(service);
  });

  it('exists for every query and mutation', () => {
    const roots = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    );
    expect(REFERENCE_EXAMPLES.map(({ name }) => name).sort()).toEqual(roots.sort());
  });

  it.each(REFERENCE_EXAMPLES)('has the current response: $name', async (example) => {
    const { document, variables, as } = example;
    const body = { query: document, variables };
    const answer = dataOf(await post(service, body, as === null ? {} : principals[as]));
    if (process.env['WRITE_EXAMPLES'] === '1') writeAnswer(example, answer, service.config);
    else expect(steady(answer)).toEqual(steady(example.answer));
  });
});
