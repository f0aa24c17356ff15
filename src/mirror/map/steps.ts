import { pause } from '../../common/pause.js';

/** Long work as a generator, between whose steps other work of the process can run. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

export async function inSteps<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await pause();
  }
}
