/** What a promise is rejected with; an error of its own when it is not. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('Nothing went wrong'),
    (error: unknown) => error as Error,
  );
}
