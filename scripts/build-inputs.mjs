// What `npm run compile` reads, and the digest of the inputs of the last successful build.
export const INPUTS = [
  'src',
  'tools/reference',
  'scripts/build-reference.mjs',
  'scripts/bundle-service.mjs',
  'web/explorer/source',
  'web/explorer/tsconfig.json',
  'web/explorer/vite.config.mjs',
  'web/explorer/patch-graphiql.mjs',
  'docs/http.md',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.build.json',
  '.swcrc',
];
export const DIGEST_FILE = 'dist/inputs.sha256';
