import { patchGraphiql } from './patch-graphiql.mjs';

/** @type {import("vite").InlineConfig} */
/** The page itself is written by src/explorer/explorer-page.ts: the manifest tells it what was built. */
export const config = {
  configFile: false,
  root: import.meta.dirname,
  // Files find one another wherever the service is mounted.
  base: './',
  publicDir: false,
  logLevel: 'warn',
  plugins: [patchGraphiql()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    manifest: 'manifest.json',
    // The notices of what is bundled.
    license: { fileName: 'licenses.md' },
    target: 'es2022',
    modulePreload: { polyfill: false },
    // An editor is what it is.
    chunkSizeWarningLimit: 4000,
    reportCompressedSize: false,
    rolldownOptions: {
      input: 'source/main.tsx',
      // «use client» is for servers that render React.
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
  worker: { format: 'es' },
};
