// Writes the reference pages beside the compiled code: from the schema, its examples and the page of errors.
import { writeReference } from '../dist/reference/build/write-reference.js';
import { buildServedSchema } from '../dist/schema.js';

await writeReference(
  await buildServedSchema(),
  {
    examples: 'src/reference/examples',
    errors: 'docs/errors.md',
    introduction: 'src/reference/introduction.md',
  },
  'dist/reference-pages',
);
