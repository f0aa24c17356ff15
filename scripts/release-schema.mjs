// Records schema.graphql as the released schema, with which later ones are compared (CONTRIBUTING.md).
import { readFileSync, writeFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
writeFileSync('released/schema.graphql', `# ${version}\n\n${readFileSync('schema.graphql', 'utf8')}`);
console.log(`released/schema.graphql is that of ${version}`);
