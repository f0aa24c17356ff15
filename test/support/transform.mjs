import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import swc from '@swc/jest';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const isShared = (path) =>
  path.includes('/node_modules/') || (path.startsWith(SOURCES) && !path.endsWith('.spec.ts'));

/** A suite gets such a module from the worker (shared-modules.mjs), and evaluates this code only without it. */
const FROM_WORKER =
  '"use strict";if(globalThis.sharedModules!==undefined){module.exports=globalThis.sharedModules.load(__filename);return}';

const OWN = readFileSync(fileURLToPath(import.meta.url));

/** Transforms modules to CommonJS, and lets the suites of a worker share those of the application and its dependencies. */
export default {
  createTransformer({ isCommonJs, ...options }) {
    const transformer = swc.createTransformer(options);
    const plain = new RegExp(isCommonJs);
    return {
      process(text, path, jestOptions) {
        const result = plain.test(path) ? { code: text } : transformer.process(text, path, jestOptions);
        if (!isShared(path)) return result;
        const prefix = /^\s*["']use strict["']/.test(result.code) ? FROM_WORKER : FROM_WORKER.slice(13);
        return { ...result, code: prefix + result.code };
      },
      getCacheKey: (...of) =>
        createHash('sha1')
          .update(transformer.getCacheKey(...of))
          .update(OWN)
          .digest('hex'),
    };
  },
};
