import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Compiler, Executor } from '../../../src/graphql/execution/operations.js';

/** Counts how a service produces its responses. Cached responses are not executed. */
export class Executions {
  /** Number of executed operations. */
  count = 0;
  /** Of these, responses of compiled operations. */
  compiled = 0;
  /** Of these, cacheable responses. */
  rememberable = 0;

  constructor(app: NestFastifyApplication) {
    const executor = app.get(Executor);
    const execute = executor.execute.bind(executor);
    executor.execute = async (admitted, context) => {
      this.count++;
      const result = await execute(admitted, context);
      const { errors = [] } = result;
      // Responses with several errors are produced by graphql-js again.
      if (admitted.compiled !== null && errors.length < 2) this.compiled++;
      const { cacheDependencies } = admitted;
      // An operation that must read the mirror and has not read it has no revision.
      const isOfOne = context.revisions.size === (cacheDependencies?.has('mirror') === true ? 1 : 0);
      if (cacheDependencies !== null && isOfOne && errors.length === 0) this.rememberable++;
      return result;
    };
  }
}

/** Makes a service compile operations immediately, or never. */
export class CompilerSwitch {
  isOn = true;

  constructor(app: NestFastifyApplication) {
    const compiler = app.get(Compiler);
    compiler.worthwhileAfter = 0;
    const find = compiler.find.bind(compiler);
    compiler.find = (...operation) => (this.isOn ? find(...operation) : null);
  }
}
