import { useEffect, useState } from 'react';
import { Entrance } from './entrance.js';
import { farewell, forget, problem, type Session, session, signOut } from './session.js';
import { settings } from './settings.js';
import { useStore } from './store.js';

/** Who asks: the way in, or who is in and for how long. */
export function Bar() {
  const current = useStore(session);
  const wrong = useStore(problem);
  const signOutUrl = useStore(farewell);
  return (
    <header>
      <nav aria-label="Pages">
        <h1>Explorer</h1>
        <a href={settings.startPage}>Start</a>
        {settings.reference === null ? null : <a href={settings.reference}>Reference</a>}
      </nav>
      {current === null ? <Entrance /> : <Present session={current} />}
      {signOutUrl === null ? null : (
        <p role="status" className="farewell">
          This page has forgotten you. The identity provider may not have:{' '}
          <a href={signOutUrl}>sign out there, too</a>.
        </p>
      )}
      {wrong === null ? null : (
        <p role="alert" className="alert">
          {wrong}
        </p>
      )}
    </header>
  );
}

function Present({ session: { holder, scopes, expiresAt } }: { session: Session }) {
  const left = useMinutesLeft(expiresAt);
  return (
    <div className="present">
      <p>
        <strong>{holder}</strong>
      </p>
      <ul className="scopes" aria-label="Scopes of the token">
        {scopes.map((scope) => (
          <li key={scope}>{scope}</li>
        ))}
      </ul>
      <p>{left === null ? 'does not end' : `${left.toString()} min left`}</p>
      <button type="button" className="quiet" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

/** Milliseconds between two looks at the clock. */
const PAUSE = 1000;

/** Minutes until then, and the end of the session when it comes; null: there is no end. */
function useMinutesLeft(expiresAt: number | null): number | null {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
      if (expiresAt === null || expiresAt > Date.now()) return;
      forget();
      problem.set('Your token has expired. Sign in again.');
    }, PAUSE);
    return () => {
      clearInterval(timer);
    };
  }, [expiresAt]);
  return expiresAt === null ? null : Math.max(0, Math.ceil((expiresAt - now) / 60_000));
}
