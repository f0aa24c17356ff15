// Jest runs the application as CommonJS: Nest 12 and others are ES modules, which Jest can require() only
// from Node 24 on, so they are transformed on Node 20. See docs/adr/0002.
const transform = {
  '^.+\\.(ts|js|mjs)$': [
    '@swc/jest',
    {
      swcrc: false,
      sourceMaps: 'inline',
      module: { type: 'commonjs' },
      jsc: {
        target: 'es2023',
        keepClassNames: true,
        parser: { syntax: 'typescript', decorators: true, dynamicImport: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
    },
  ],
};

const common = {
  testEnvironment: 'node',
  setupFiles: ['reflect-metadata'],
  moduleFileExtensions: ['js', 'mjs', 'cjs', 'json', 'ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform,
  // These are large and CommonJS already: not transforming them saves seconds on a cold cache.
  transformIgnorePatterns: [
    '/node_modules/(typeorm|rxjs|lodash[^/]*|graphql|@apollo/server|pg[^/]*|fastify|es-toolkit|ajv|sql-highlight|@img|sharp|zod|fast-check)/',
  ],
};

export default {
  projects: [
    { ...common, displayName: 'unit', rootDir: '.', testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/*.spec.ts'] },
  ],
};
