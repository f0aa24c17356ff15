import { useQuery } from '@urql/preact';
import { useEffect, useState } from 'preact/hooks';
import { ClubMembers } from './club-members';
import { MyClubsDocument } from './graphql/graphql';
import { Notice } from './notice';
import { Portrait } from './portrait';
import { problemOf } from './service';
import type { Reason } from './welcome';

/** The clubs of the user and the members of one of them, whose id is the hash of the address. */
export function Clubs({ onSessionEnd }: { onSessionEnd: (reason: Reason) => void }) {
  const [{ data, error, fetching }, refetch] = useQuery({ query: MyClubsDocument });
  const selectedId = useHash();
  const problem = error === undefined ? null : problemOf(error);
  const profile = data?.profile ?? null;

  useEffect(() => {
    if (problem === 'signed-out') onSessionEnd('expired');
    if (problem === 'forbidden') onSessionEnd('scope');
  }, [problem]);

  const clubs = profile?.groups.nodes.map(({ group }) => group) ?? [];
  const club = selectedId === '' ? clubs[0]?.id : selectedId;

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
              onSessionEnd('signed-out');
            }}
          >
            Sign out
          </button>
        </div>
      </header>
      <main class="club">
        {(profile === null || club === undefined) && <h1>Our clubs</h1>}
        {problem === 'unavailable' && (
          <Notice
            text="Your clubs cannot be read at the moment."
            onRetry={() => {
              refetch({ requestPolicy: 'network-only' });
            }}
          />
        )}
        {fetching && profile === null && <p role="status">Reading your clubs …</p>}
        {profile !== null && club === undefined && <Notice text="You are not a member of a club yet." />}
        {profile !== null && club !== undefined && (
          // The key resets the component for another club.
          <ClubMembers key={club} id={club} onSessionEnd={onSessionEnd} />
        )}
      </main>
    </>
  );
}

/** The decoded hash of the address. */
function useHash(): string {
  const [hash, setHash] = useState(readHash);
  useEffect(() => {
    const updateHash = () => {
      setHash(readHash());
    };
    window.addEventListener('hashchange', updateHash);
    return () => {
      window.removeEventListener('hashchange', updateHash);
    };
  }, []);
  return hash;
}

function readHash(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ''; // Not valid percent-encoding.
  }
}
