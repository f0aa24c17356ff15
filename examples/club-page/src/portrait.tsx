import { useClient } from '@urql/preact';
import { useState } from 'preact/hooks';
import { PhotoDocument } from './graphql/graphql';

interface Properties {
  readonly user: { readonly id: string; readonly name: string; readonly photo: string | null };
  /** Of the photo that the user has, in pixels. */
  readonly size: number;
}

/** A user's photo, or initials if there is none or it does not load. The name is shown beside it, so `alt` is empty. */
export function Portrait({ user: { id, name, photo }, size }: Properties) {
  const client = useClient();
  const [source, setSource] = useState(photo);

  /** Requests another URL if this one has expired, for example of a photo that is scrolled into view after an hour. */
  async function replace(failed: string): Promise<void> {
    if (!(await hasExpired(failed))) {
      setSource(null);
      return;
    }
    const { data } = await client
      .query(PhotoDocument, { id, size }, { requestPolicy: 'network-only' })
      .toPromise();
    setSource(data?.user?.photo ?? null);
  }

  return source === null ? (
    <span class="portrait" data-tint={tintOf(name)} aria-hidden="true">
      {initialsOf(name)}
    </span>
  ) : (
    <img
      class="portrait"
      src={source}
      alt=""
      loading="lazy"
      onError={() => {
        void replace(source);
      }}
    />
  );
}

/** An image does not say why it has failed; the problem document of the service does. */
async function hasExpired(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    const { code } = (await response.json()) as { code?: string };
    return response.status === 403 && code === 'URL_EXPIRED';
  } catch {
    return false;
  }
}

/** The first letters of the first and the last word, in any script. */
function initialsOf(name: string): string {
  const words = name.split(/[\s-]+/u).filter((word) => /^\p{L}/u.test(word));
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map(
    (word) => [...(word ?? '')][0] ?? '',
  );
  return letters.join('').toLocaleUpperCase();
}

/** The number of one of the six colors of the style sheet, always the same for a name. */
function tintOf(name: string): number {
  return [...name].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0) % 6;
}
