// Takes schema.graphql over as the one that is released: what comes after is held against it (docs/evolution.md).
import { readFileSync, writeFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
writeFileSync('released/schema.graphql', `# ${version}\n\n${readFileSync('schema.graphql', 'utf8')}`);
console.log(`released/schema.graphql is that of ${version}`);
