import { useQuery } from '@urql/preact';
import { useEffect, useState } from 'preact/hooks';
import { ClubPeople } from './club-people';
import { MyClubsDocument } from './graphql/graphql';
import { Notice } from './notice';
import { Portrait } from './portrait';
import { troubleOf } from './service';
import type { Reason } from './welcome';

/** The person's clubs, one of which is shown: the address says which. */
export function Clubs({ onLeave }: { onLeave: (reason: Reason) => void }) {
  const [{ data, error, fetching }, again] = useQuery({ query: MyClubsDocument });
  const chosen = useHash();
  const trouble = error === undefined ? null : troubleOf(error);
  const profile = data?.profile ?? null;

  useEffect(() => {
    if (trouble === 'signed-out') onLeave('ended');
    if (trouble === 'refused') onLeave('scope');
  }, [trouble]);

  const clubs = profile?.groups.nodes.map(({ group }) => group) ?? [];
  const club = chosen === '' ? clubs[0]?.id : chosen;

  return (
    <>
      <header class="bar">
        <nav aria-label="Clubs">
          <label for="club">Club</label>
          <select
            id="club"
            disabled={clubs.length === 0}
            onChange={({ currentTarget }) => (location.hash = encodeURIComponent(currentTarget.value))}
          >
            {clubs.map(({ id, name }) => (
              <option key={id} value={id} selected={id === club}>
                {name}
              </option>
            ))}
          </select>
        </nav>
        <div class="me">
          {profile !== null && (
            <>
              <Portrait name={profile.name} photo={profile.photo} />
              <span class="name">{profile.name}</span>
            </>
          )}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              onLeave('left');
            }}
          >
            Sign out
          </button>
        </div>
      </header>
      <main class="club">
        {(profile === null || club === undefined) && <h1>Our clubs</h1>}
        {trouble === 'later' && (
          <Notice
            text="Your clubs cannot be read at the moment."
            onRetry={() => {
              again({ requestPolicy: 'network-only' });
            }}
          />
        )}
        {fetching && profile === null && <p role="status">Looking for your clubs …</p>}
        {profile !== null && club === undefined && <Notice text="You are in no club yet." />}
        {profile !== null && club !== undefined && (
          // Another club begins anew, on its first page.
          <ClubPeople key={club} id={club} onLeave={onLeave} />
        )}
      </main>
    </>
  );
}

/** What stands behind # in the address. */
function useHash(): string {
  const [hash, setHash] = useState(readHash);
  useEffect(() => {
    const read = () => {
      setHash(readHash());
    };
    window.addEventListener('hashchange', read);
    return () => {
      window.removeEventListener('hashchange', read);
    };
  }, []);
  return hash;
}

function readHash(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ''; // It was typed, and badly.
  }
}
