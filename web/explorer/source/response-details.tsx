import { lastResponse, type RateLimit } from './run-operation.js';
import { session } from './session.js';
import { DEFAULT_SCOPES } from './sign-in-forms.js';
import { signInObstacle, startSignIn } from './sign-in.js';
import { useStore } from './store.js';

/** The cost of the last operation, the remaining limits, what it lacks, and the pictures whose URLs are in the response. */
export function ResponseDetails() {
  const response = useStore(lastResponse);
  const signedIn = useStore(session) !== null;
  return (
    <div className={response === null ? 'response-details empty' : 'response-details'}>
      <div role="status">
        {response === null ? (
          <p className="advice">
            {signedIn ? 'Run an operation to see its response.' : 'Sign in, and run an operation.'}
          </p>
        ) : (
          <>
            {response.missingScopes === null ? null : <Advice missingScopes={response.missingScopes} />}
            <p className="cost">{describe(response.status, response.rateLimit)}</p>
          </>
        )}
      </div>
      {response === null || response.pictures.length === 0 ? null : (
        <ul className="pictures" aria-label="Pictures in the response" tabIndex={0}>
          {response.pictures.map(({ url, name }) => (
            <li key={url}>
              <img src={url} alt={name} title={name} />
              <span aria-hidden="true">{name}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Signing in again with the missing scopes keeps the tabs, which are in the storage of the session. */
function Advice({ missingScopes }: { missingScopes: readonly string[] }) {
  const granted = useStore(session)?.scopes ?? DEFAULT_SCOPES;
  const text = missingScopes.length === 0 ? 'Sign in' : `Sign in with ${missingScopes.join(' and ')}`;
  if (signInObstacle() !== null) return <p className="advice">{text}</p>;
  const signIn = () => void startSignIn([...new Set([...granted, ...missingScopes])]);
  return (
    <p className="advice">
      <button type="button" onClick={signIn}>
        {text}
      </button>
    </p>
  );
}

function describe(status: number, { cost, points, requests }: RateLimit): string {
  const parts = [
    cost === undefined ? null : `Cost: ${count(cost, 'point')}`,
    points === undefined ? null : `${count(points, 'point')} left this hour`,
    requests === undefined ? null : `${count(requests, 'request')} left this minute`,
    status === 200 ? null : `HTTP ${status.toString()}`,
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

function count(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
}
