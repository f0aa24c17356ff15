import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { changesInOneGo } from '../support/builders/random-changes.js';
import { repetitions } from '../support/repetitions.js';
import { PARTS, PROXIES, World } from '../support/servers/failing-world.js';

/** A seed of the environment, to search for further failures. */
const SEED = Number(process.env['TEST_SEED'] ?? 20_261_121);

interface Step {
  readonly what: string;
  /** Milliseconds before it. */
  readonly pause: number;
  run(world: World): Promise<void> | void;
}

type Action = Omit<Step, 'pause'>;

const part = fc.constantFrom(...PARTS);
const killed = fc.constantFrom(...PARTS, 'service' as const);
const pause = fc.oneof(
  { weight: 5, arbitrary: fc.nat(150) },
  { weight: 3, arbitrary: fc.integer({ min: 150, max: 1000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1000, max: 3000 }) },
);

const change: fc.Arbitrary<Action> = fc
  .tuple(changesInOneGo(), fc.constantFrom('in turn' as const, 'at once' as const))
  .map(([changes, how]) => ({ what: `change ${how}`, run: (world) => world.change(changes, how) }));
const kill: fc.Arbitrary<Action> = fc.tuple(killed, fc.boolean()).map(([name, isBack]) => ({
  what: `kill ${name}${isBack ? ', start it again' : ''}`,
  run: async (world) => {
    await world.parts[name].kill();
    if (isBack) await world.parts[name].recover();
    await world.expectWholeRevision();
  },
}));
const freeze: fc.Arbitrary<Action> = part.map((name) => ({
  what: `freeze ${name}`,
  run: (world) => world.parts[name].freeze(),
}));
const start: fc.Arbitrary<Action> = part.map((name) => ({
  what: `start or continue ${name}`,
  run: (world) => world.parts[name].recover(),
}));
const cut: fc.Arbitrary<Action> = fc
  .tuple(
    fc.constantFrom(...PROXIES, 'directory' as const),
    fc.constantFrom('cut' as const, 'cut' as const, 'reset' as const, 'freeze' as const),
    fc.boolean(),
  )
  .map(([name, how, isRestored]) => ({
    what: `${how} connections to the ${name}${isRestored ? '' : ' until it recovers'}`,
    run: (world) => world.cut(name, how, isRestored),
  }));
const others: fc.Arbitrary<Action> = fc.constantFrom<Action[]>(
  { what: 'change the crowd', run: (world) => world.changeCrowd() },
  { what: 'change the crowd', run: (world) => world.changeCrowd() },
  { what: 'backup', run: (world) => world.keepBackup() },
  { what: 'restore', run: (world) => world.restoreBackup() },
  { what: 'restore', run: (world) => world.restoreBackup() },
  { what: 'recover', run: (world) => world.recover() },
);
const SEQUENCE = fc.record({
  initial: changesInOneGo(4, 12),
  steps: fc.array(
    fc
      .tuple(
        pause,
        fc.oneof(
          { weight: 6, arbitrary: change },
          { weight: 5, arbitrary: kill },
          { weight: 1, arbitrary: freeze },
          { weight: 3, arbitrary: start },
          { weight: 3, arbitrary: cut },
          { weight: 5, arbitrary: others },
        ),
      )
      .map(([milliseconds, action]): Step => ({ ...action, pause: milliseconds })),
    { minLength: 5, maxLength: 15 },
  ),
});

describe.each([
  { way: 'pushes them', syncprov: true, refint: false, first: 0, usually: 7, long: 400 },
  {
    way: 'pushes them, and rewrites groups',
    syncprov: true,
    refint: true,
    first: 1000,
    usually: 7,
    long: 400,
  },
  { way: 'is polled', syncprov: false, refint: true, first: 2000, usually: 6, long: 200 },
])('changes of a server that $way, and faults', ({ first, usually, long, ...options }) => {
  let world: World;

  beforeAll(async () => {
    world = await World.start(options);
    await world.expectConvergence();
  });

  afterAll(() => world.stop());

  it.each(Array.from({ length: repetitions({ usually, long }) }, (_, run) => SEED + first + run))(
    'lead to the content of the directory (seed %i)',
    async (seed) => {
      const [sequence] = fc.sample(SEQUENCE, { numRuns: 1, seed });
      try {
        await world.recover();
        await world.reset(sequence?.initial ?? []);
        for (const step of sequence?.steps ?? []) {
          await sleep(step.pause);
          world.note(step.what);
          await step.run(world);
        }
        await world.expectConvergence();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`${reason}\nSteps:\n${world.journal.join('\n')}\n${world.output}`, { cause: error });
      }
    },
  );
});
