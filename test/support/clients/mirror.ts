import { MirrorFollowing } from '../../../src/mirror/following.js';
import { MirrorState } from '../../../src/mirror/status/mirror-state.js';
import type { TestService } from '../servers/service.js';

interface ReportedStatus {
  state: string;
  asOf: string | null;
  blockedReason: string | null;
}

/** Service accounts with the scope for details, created on first use. */
const observers = new WeakMap<TestService, Promise<string>>();

/** The state of the synchronization, as clients with the scope `directory` see it. */
export async function readStatus(service: TestService): Promise<ReportedStatus> {
  let observer = observers.get(service);
  if (observer === undefined) {
    observer = service.serviceAccount('directory');
    observers.set(service, observer);
  }
  const { data } = await service.query<{ directoryStatus: ReportedStatus }>(
    '{ directoryStatus { state asOf blockedReason } }',
    { authorization: await observer },
  );
  if (data?.directoryStatus === undefined) throw new Error('directoryStatus was not answered');
  return data.directoryStatus;
}

/** The number of the current revision, which every change increments and no client sees. */
export async function readRevision(service: Pick<TestService, 'app'>): Promise<number> {
  return (await service.app.get(MirrorState).get()).revision ?? 0;
}

/** Stops synchronization, so that only the test triggers it. */
export async function stopFollowing({ app }: TestService): Promise<void> {
  const mirror = app.get(MirrorFollowing);
  mirror.onModuleDestroy();
  await mirror.beforeApplicationShutdown();
}

/** Replaces the directory file, and waits until its content is visible. */
export async function takeOver(service: TestService, ldif: string): Promise<void> {
  const before = await readRevision(service);
  service.replaceDirectory(ldif);
  await service.until(async () => (await readRevision(service)) > before);
}

/** Replaces the directory file, and waits for a state of the synchronization. */
export async function replaceUntil(
  service: TestService,
  ldif: string,
  state: string,
): Promise<ReportedStatus> {
  service.replaceDirectory(ldif);
  await service.until(async () => (await readStatus(service)).state === state);
  return readStatus(service);
}
