import type { Config } from '../config/config.js';
import type { AccountOperations } from '../service-accounts/account-operations.js';

/** Works on the service accounts: in the database, or through the running service that holds the embedded one. */
export async function withAccounts<Result>(
  config: Config,
  work: (accounts: AccountOperations) => Promise<Result>,
): Promise<Result> {
  const { database } = config;
  if (database.kind === 'pglite') {
    const { NoServiceError, RemoteAccounts } = await import('../service-accounts/remote-accounts.js');
    try {
      return await work(new RemoteAccounts(database.directory));
    } catch (error) {
      // The lock of the database then decides whether this process may open it.
      if (!(error instanceof NoServiceError)) throw error;
    }
  }
  const [{ withDatabase }, { ServiceAccountsService }, { ServiceAccountEntity }] = await Promise.all([
    import('./context.js'),
    import('../service-accounts/service-accounts.service.js'),
    import('../service-accounts/service-account.entity.js'),
  ]);
  return withDatabase(config, (dataSource) =>
    work(new ServiceAccountsService(dataSource.getRepository(ServiceAccountEntity))),
  );
}
