import type { Config } from '../config/config.js';
import type { AccountOperations } from '../service-accounts/account-operations.js';

/**
 * Works on the service accounts: in the database, or through the running service that holds the embedded one.
 * @param creates whether an embedded database is created if there is none
 */
export async function withAccounts<Result>(
  config: Config,
  work: (accounts: AccountOperations) => Promise<Result>,
  creates = false,
): Promise<Result> {
  const [{ throughService }, { RemoteAccounts }] = await Promise.all([
    import('./local/execute-in-service.js'),
    import('./local/remote-accounts.js'),
  ]);
  return throughService(
    config,
    (directory) => work(new RemoteAccounts(directory)),
    () => inDatabase(config, work, creates),
  );
}

async function inDatabase<Result>(
  config: Config,
  work: (accounts: AccountOperations) => Promise<Result>,
  creates: boolean,
): Promise<Result> {
  const [{ withDatabase }, { ServiceAccountsService }, { ServiceAccountEntity }] = await Promise.all([
    import('./context.js'),
    import('../service-accounts/service-accounts.service.js'),
    import('../service-accounts/service-account.entity.js'),
  ]);
  return withDatabase(
    config,
    (dataSource) => work(new ServiceAccountsService(dataSource.getRepository(ServiceAccountEntity))),
    { creates },
  );
}
