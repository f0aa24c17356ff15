// What `npm run compile` reads, and the digest of the inputs of the last successful build.
export const INPUTS = [
  'src',
  'scripts/bundle-service.mjs',
  'web/explorer/source',
  'web/explorer/tsconfig.json',
  'web/explorer/vite.config.mjs',
  'web/explorer/patch-graphiql.mjs',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.build.json',
  '.swcrc',
];
export const DIGEST_FILE = 'dist/inputs.sha256';
