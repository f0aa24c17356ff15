import type { GroupFieldsFragment, UserFieldsFragment } from './graphql/graphql';

/** Where the club meets. */
export function GroupFields({ room }: GroupFieldsFragment) {
  return room === null ? null : <p>Meets here: {room}</p>;
}

/** What is known of a member besides the name. */
export function UserFields({ jobTitle, phone }: UserFieldsFragment) {
  return (
    <>
      {jobTitle !== null && <span class="detail">{jobTitle}</span>}
      {phone !== null && (
        <a class="detail" href={`tel:${phone.replaceAll(' ', '')}`}>
          {phone}
        </a>
      )}
    </>
  );
}
