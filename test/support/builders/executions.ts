import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Executor } from '../../../src/graphql/execution/operations.js';

/** Counts how a service produces its responses. Cached responses are not executed. */
export class Executions {
  /** Number of executed operations. */
  count = 0;
  /** Of these, responses of compiled operations. */
  compiled = 0;

  constructor(app: NestFastifyApplication) {
    const executor = app.get(Executor);
    const execute = executor.execute.bind(executor);
    executor.execute = async (admitted, context) => {
      this.count++;
      const result = await execute(admitted, context);
      if (admitted.compiled !== null) this.compiled++;
      return result;
    };
  }
}
