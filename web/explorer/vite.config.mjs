import { patchGraphiql } from './patch-graphiql.mjs';

/** @type {import("vite").InlineConfig} */
/** src/explorer/explorer.controller.ts writes the HTML page; it reads the names of the built files in the manifest. */
export const config = {
  configFile: false,
  root: import.meta.dirname,
  // Relative URLs, because the service can be mounted below a path.
  base: './',
  publicDir: false,
  logLevel: 'warn',
  plugins: [patchGraphiql()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    manifest: 'manifest.json',
    // The license notices of the bundled packages.
    license: { fileName: 'licenses.md' },
    target: 'es2022',
    modulePreload: { polyfill: false },
    // The editor is large.
    chunkSizeWarningLimit: 4000,
    reportCompressedSize: false,
    rolldownOptions: {
      input: 'source/main.tsx',
      // «use client» only matters for server-side rendering.
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
  worker: { format: 'es' },
};
