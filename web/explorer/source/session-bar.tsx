import { useEffect, useState } from 'react';
import { SignIn, SignInForms } from './sign-in-forms.js';
import { endSession, problem, providerSignOutUrl, type Session, session, signOut } from './session.js';
import { signInObstacle } from './sign-in.js';
import { useStore } from './store.js';

/** The forms to sign in, or the session: its owner, scopes and remaining minutes. */
export function SessionBar() {
  const current = useStore(session);
  const message = useStore(problem);
  const signOutUrl = useStore(providerSignOutUrl);
  return (
    <section className="session" aria-label="Session">
      <h1>Explorer</h1>
      {current === null ? <SignInForms /> : <SignedIn session={current} />}
      {signOutUrl === null ? null : (
        <p role="status" className="signed-out">
          You are signed out of this page. The identity provider may still have a session:{' '}
          <a href={signOutUrl}>sign out there, too</a>.
        </p>
      )}
      {message === null ? null : (
        <p role="alert" className="alert">
          {message}
        </p>
      )}
    </section>
  );
}

function SignedIn({ session: { owner, scopes, expiresAt } }: { session: Session }) {
  const left = useMinutesLeft(expiresAt);
  return (
    <div className="signed-in">
      <p>
        <strong>{owner}</strong>
      </p>
      <ul className="scopes" aria-label="Scopes of the token">
        {scopes.map((scope) => (
          <li key={scope}>{scope}</li>
        ))}
      </ul>
      {signInObstacle() === null ? (
        <details className="other-scopes">
          <summary>Change scopes</summary>
          <SignIn scopes={scopes} />
        </details>
      ) : null}
      <p>{left === null ? 'does not end' : `${left.toString()} min left`}</p>
      <button type="button" className="quiet" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

/** Milliseconds between two updates of the remaining time. */
const TICK_MS = 1000;

/** Returns the minutes until a time (null: no expiry), and ends the session at that time. */
function useMinutesLeft(expiresAt: number | null): number | null {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
      if (expiresAt === null || expiresAt > Date.now()) return;
      endSession();
      problem.set('Your token has expired. Sign in again.');
    }, TICK_MS);
    return () => {
      clearInterval(timer);
    };
  }, [expiresAt]);
  return expiresAt === null ? null : Math.max(0, Math.ceil((expiresAt - now) / 60_000));
}
