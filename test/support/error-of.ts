/** Returns the error of a rejected promise, or throws if it is not rejected. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('Nothing went wrong'),
    (error: unknown) => error as Error,
  );
}
