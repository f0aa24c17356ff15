import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';
import { plainWords } from './tools/eslint/plain-words.mjs';

const noDefaultExport = {
  selector: 'ExportDefaultDeclaration',
  message: 'Named exports only: a name is searched for and found.',
};

export default tseslint.config(
  { ignores: ['**/dist/', 'coverage/', '.data/', '.tmp/', 'examples/club-page/src/graphql/'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Nest modules are classes with a decorator only.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // Models are classes because Nest describes types by classes. Resolvers return objects of the same shape.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Spreading text returns its characters, which is intended.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_' }],
      'no-restricted-syntax': [
        'error',
        noDefaultExport,
        {
          selector: "MethodDefinition[kind='constructor'] > FunctionExpression[params.length>6]",
          message: 'A constructor takes at most six parameters: divide the class.',
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts', 'tools/**/*.ts', 'ormconfig.ts'],
    // A describe callback contains all tests of a subject, so that test files have a limit of lines only.
    ignores: ['**/*.spec.ts'],
    rules: {
      complexity: ['error', 15],
      'max-lines': ['error', 400],
      'max-lines-per-function': ['error', 60],
    },
  },
  {
    files: ['src/**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      'max-lines': ['error', 400],
      // Tables of cases contain functions like `() => proxy.cut()`.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    // One service and one table of cases each.
    files: ['test/auth/nest.postgres-spec.ts', 'test/http/limits-shared.postgres-spec.ts'],
    rules: { 'max-lines': ['error', 600] },
  },
  {
    // A migration is a list of statements that never changes after its release.
    files: ['src/database/migrations/*.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        Blob: 'readonly',
        AbortSignal: 'readonly',
        fetch: 'readonly',
        WebAssembly: 'readonly',
      },
    },
  },
  {
    files: ['**/*.{ts,tsx,mjs}'],
    ignores: ['tools/eslint/**'],
    plugins: { local: { rules: { 'plain-words': plainWords } } },
    rules: { 'local/plain-words': 'error' },
  },
  {
    // Ids of users that do not exist, and fields of schools.
    files: [
      'src/**/*.spec.ts',
      'test/**',
      'sample/**',
      'web/explorer/source/examples.ts',
      'examples/**',
      'eslint.config.mjs',
    ],
    rules: {
      'local/plain-words': [
        'error',
        {
          sampleWords: ['everybody', 'houses', 'nobody', 'room', 'rooms', 'somebody', 'whatever', 'whoever'],
        },
      ],
    },
  },
);
