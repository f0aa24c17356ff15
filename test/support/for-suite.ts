/**
 * Starts something before the tests of the calling block, and stops it after them.
 * @returns stands for what was started
 */
export function forSuite<Started extends { stop(): unknown }>(start: () => Promise<Started>): Started {
  let started: Started | null = null;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(() => started?.stop());
  const current = (): Started => {
    if (started === null) throw new Error('It starts before the tests');
    return started;
  };
  return new Proxy({} as Started, {
    get: (_, name) => {
      const value: unknown = Reflect.get(current(), name, current());
      return typeof value === 'function' ? (value.bind(current()) as unknown) : value;
    },
    set: (_, name, value) => Reflect.set(current(), name, value),
  });
}
