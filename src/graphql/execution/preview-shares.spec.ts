import { ServiceUnavailableError } from '../../common/errors.js';
import { readConfig } from '../../config/config.js';
import { PreviewShares } from './operations.js';

/** Previews that end with `endAll`. */
class Previews {
  readonly begun: string[] = [];
  private readonly ends: (() => void)[] = [];

  readonly begin = (name: string) => () => {
    this.begun.push(name);
    return new Promise<string>((resolve) =>
      this.ends.push(() => {
        resolve(name);
      }),
    );
  };

  endAll(): void {
    for (const end of this.ends.splice(0)) end();
  }
}

const by = (countedAs: string) => ({
  principal: {
    ...{ kind: 'ACCESS_TOKEN' as const, countedAs, scopes: new Set<never>(), clientId: null },
    ...{ subject: null, serviceAccountId: null, expiresAt: null },
  },
});

const sharesOf = (settings: Readonly<Record<string, string>>) =>
  new PreviewShares(readConfig({ DATABASE_URL: 'postgres://localhost/directory', ...settings }));

describe('the shares of previews', () => {
  let previews: Previews;

  beforeEach(() => {
    previews = new Previews();
  });

  it('leave half of the connections to other principals', async () => {
    const shares = sharesOf({ LIMIT_PREVIEWS: '4', WORKERS: '1' });
    const own = [1, 2, 3].map((number) => shares.run(by('ada'), previews.begin(`ada ${number}`)));
    const other = shares.run(by('ben'), previews.begin('ben'));
    await new Promise(setImmediate);
    expect(previews.begun.sort()).toEqual(['ada 1', 'ada 2', 'ben']);
    previews.endAll();
    expect(await Promise.all([own[0], own[1], other])).toEqual(['ada 1', 'ada 2', 'ben']);
    await new Promise(setImmediate);
    expect(previews.begun).toContain('ada 3');
    previews.endAll();
    expect(await own[2]).toBe('ada 3');
  });

  it('do not begin what has waited for too long', async () => {
    const shares = sharesOf({ LIMIT_PREVIEWS: '2', WORKERS: '1', DATABASE_TIMEOUT_SECONDS: '1' });
    const first = shares.run(by('ada'), previews.begin('first'));
    await expect(shares.run(by('ada'), previews.begin('second'))).rejects.toThrow(ServiceUnavailableError);
    previews.endAll();
    await first;
    await new Promise(setImmediate);
    expect(previews.begun).toEqual(['first']);
  });

  it('pass on the error of a preview, and begin the next one', async () => {
    const shares = sharesOf({ LIMIT_PREVIEWS: '2', WORKERS: '1' });
    await expect(shares.run(by('ada'), () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    const next = shares.run(by('ada'), previews.begin('next'));
    await new Promise(setImmediate);
    previews.endAll();
    expect(await next).toBe('next');
  });
});
