import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Compiler } from '../../../src/graphql/execution/compiler.js';
import { Executor } from '../../../src/graphql/execution/operations.js';

/** How a service comes to its answers: what is remembered is not executed. */
export class Executions {
  /** Operations that were executed. */
  count = 0;
  /** Of these, answers that a compiled operation gave. */
  compiled = 0;
  /** Of these, answers that may be remembered. */
  rememberable = 0;

  constructor(app: NestFastifyApplication) {
    const executor = app.get(Executor);
    const execute = executor.execute.bind(executor);
    executor.execute = async (admitted, context) => {
      this.count++;
      const result = await execute(admitted, context);
      const { errors = [] } = result;
      // With several, it was made again by graphql-js.
      if (admitted.compiled !== null && errors.length < 2) this.compiled++;
      const { cacheDependencies } = admitted;
      // What should have read the mirror and has not is of no revision.
      const isOfOne = context.revisions.size === (cacheDependencies?.has('mirror') === true ? 1 : 0);
      if (cacheDependencies !== null && isOfOne && errors.length === 0) this.rememberable++;
      return result;
    };
  }
}

/** Lets a service compile operations at once, or not at all. */
export class CompilerSwitch {
  isOn = true;

  constructor(app: NestFastifyApplication) {
    const compiler = app.get(Compiler);
    compiler.worthwhileAfter = 0;
    const find = compiler.find.bind(compiler);
    compiler.find = (...operation) => (this.isOn ? find(...operation) : null);
  }
}
