import { availableParallelism, freemem } from 'node:os';

// Jest runs tests as CommonJS: Nest 12 and others are ES modules, which Jest can require() only from Node 24 on, so they are
// transformed on Node 20. See docs/adr/0002. What transform.mjs adds lets the suites of a worker share the application.
const transform = {
  '^.+\\.(ts|js|mjs|cjs)$': [
    '<rootDir>/test/support/transform.mjs',
    {
      // These are large and CommonJS already: not transforming them saves seconds on a cold cache.
      isCommonJs:
        '\\.cjs$|/node_modules/(typeorm|rxjs|lodash[^/]*|graphql|@apollo/server|pg[^/]*|fastify|es-toolkit|ajv|sql-highlight|@img|sharp|zod|fast-check|kubernetes-models|@kubernetes-models|yaml|playwright-core|axe-core|pino|prom-client|@opentelemetry)/',
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
  // One for all projects: then they share one cache of transformed modules.
  id: 'directory-service',
  rootDir: '.',
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  setupFiles: ['reflect-metadata'],
  moduleFileExtensions: ['js', 'mjs', 'cjs', 'json', 'ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform,
  transformIgnorePatterns: [],
};

/** Tests that share one PostgreSQL server. */
const withServers = (displayName, ...testMatch) => ({
  ...common,
  displayName,
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  testMatch,
});

export default {
  // Ends tests that hang. It is several times as long as the longest test, because other processes may share the cores.
  testTimeout: 420_000,
  // Twice the cores, because many suites wait for other processes or for time to pass. A worker takes a gigabyte of memory,
  // and the PostgreSQL server of the tests has connections for eight.
  maxWorkers: Math.max(2, Math.min(8, 2 * availableParallelism(), Math.floor(freemem() / 2 ** 30) - 1)),
  testSequencer: '<rootDir>/test/support/slowest-first.mjs',
  reporters: ['default', '<rootDir>/test/support/totals-reporter.mjs'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      globalSetup: '<rootDir>/test/support/work-directory.mjs',
      globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
      testMatch: [
        '<rootDir>/src/**/*.spec.ts',
        '<rootDir>/tools/**/*.spec.ts',
        '<rootDir>/test/**/*.spec.ts',
      ],
    },
    withServers('processes', '<rootDir>/test/**/*.process-spec.ts'),
    withServers('postgres', '<rootDir>/test/**/*.e2e-spec.ts', '<rootDir>/test/**/*.postgres-spec.ts'),
    // For npm run test:servers: they need servers that npm test does not install.
    withServers('servers', '<rootDir>/test/**/*.servers-spec.ts'),
  ],
};
