import { useClient } from '@urql/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ClubDocument, type ClubQuery, type GroupRole } from './graphql/graphql';
import { Notice } from './notice';
import { Portrait } from './portrait';
import { type Trouble, troubleOf } from './service';
import type { Reason } from './welcome';

type Club = NonNullable<ClubQuery['group']>;
type Member = NonNullable<Club['members']>['nodes'][number];

const SECTIONS: { role: GroupRole; title: string }[] = [
  { role: 'OWNER', title: 'Owners' },
  { role: 'ADMIN', title: 'Admins' },
  { role: 'MEMBER', title: 'Members' },
];

interface Properties {
  readonly id: string;
  readonly onLeave: (reason: Reason) => void;
}

/** One club with its people, those with the highest roles first, a page at a time. */
export function ClubPeople({ id, onLeave }: Properties) {
  const { club, members, next, isBusy, trouble, load } = useMembers(id);

  useEffect(() => {
    if (trouble === 'signed-out') onLeave('ended');
    if (trouble === 'refused') onLeave('scope');
  }, [trouble]);

  return (
    <>
      <div class="title">
        <h1>{club?.name ?? 'Our clubs'}</h1>
        {club !== null && club.description !== null && <p>{club.description}</p>}
      </div>
      {SECTIONS.map(({ role, title }) => (
        <Section key={role} title={title} members={members.filter((member) => member.role.value === role)} />
      ))}
      {club !== null && members.length === 0 && <Notice text="Nobody is in this club yet." />}
      {trouble === 'missing' && <Notice text="There is no such club." />}
      {trouble === 'later' && <Notice text="The club cannot be read at the moment." onRetry={load} />}
      <p role="status" class="quiet">
        {isBusy
          ? 'Reading …'
          : club !== null && `${members.length} of ${club.members?.totalCount ?? 0} people`}
      </p>
      {next !== null && trouble === null && (
        <button type="button" class="more" disabled={isBusy} onClick={load}>
          Show more people
        </button>
      )}
    </>
  );
}

function Section({ title, members }: { title: string; members: readonly Member[] }) {
  if (members.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul class="people">
        {members.map(({ user }) => (
          <li key={user.id}>
            <Portrait name={user.name} photo={user.photo} />
            <span class="name">{user.name}</span>
            {user.schoolYear !== null && <span class="year">{user.schoolYear}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The pages of a club that have been read so far, and a way to read the next one. */
function useMembers(id: string) {
  const client = useClient();
  const [club, setClub] = useState<Club | null>(null);
  const [members, setMembers] = useState<Member[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(true);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const isHere = useRef(true);

  async function read(): Promise<void> {
    setBusy(true);
    setTrouble(null);
    // Photos come with an hour's permission: an answer from this page's memory could be older than that.
    const { data, error } = await client
      .query(ClubDocument, { id, after: next }, { requestPolicy: 'network-only' })
      .toPromise();
    if (!isHere.current) return;
    setBusy(false);
    if (error !== undefined) setTrouble(troubleOf(error));
    const page = data?.group?.members;
    if (data?.group == null || page == null) return;
    setClub(data.group);
    setMembers((known) => [...known, ...page.nodes]);
    setNext(page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null);
  }

  useEffect(() => {
    void read();
    return () => {
      isHere.current = false;
    };
  }, []);

  return { club, members, next, isBusy, trouble, load: () => void read() };
}
